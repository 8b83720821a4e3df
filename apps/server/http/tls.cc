#include "server/http/tls.h"

#include "tenon/part.h"

namespace tenon::server {

Result<std::unique_ptr<TlsContext>> open_tls(const std::string& certificate, const std::string& key) {
  TENON_ASSIGN(const Part part, Part::open({"server/tls", "TLS", "tenon-server", "libssl-dev"}));
  const auto version = part.function<tenon_tls_version_fn>("tenon_tls_version");
  const auto make = part.function<tenon_tls_new_fn>("tenon_tls_new");
  if (!version || !make || version() != kTlsVersion) return part.other_version();
  std::string why;
  std::unique_ptr<TlsContext> context(make(certificate.c_str(), key.c_str(), &why));
  if (!context) return Status(Code::kInvalid, why);
  return context;
}

}  // namespace tenon::server
