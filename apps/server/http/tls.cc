#include "server/http/tls.h"

#include <dlfcn.h>

#include <filesystem>

namespace tenon::server {

// Beside the program, and nowhere else: what may write there may write the program.
Result<std::unique_ptr<TlsContext>> open_tls(const std::string& certificate, const std::string& key) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (program.parent_path().parent_path() / "lib/tenon/server/tls.so").string();
  void* const library = error ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status(Code::kUnavailable, "TLS needs lib/tenon/server/tls.so, which a build makes where libssl-dev is installed: " +
                                          std::string(error ? error.message() : ::dlerror()));
  const auto version = reinterpret_cast<tenon_tls_version_fn*>(::dlsym(library, "tenon_tls_version"));
  const auto make = reinterpret_cast<tenon_tls_new_fn*>(::dlsym(library, "tenon_tls_new"));
  if (!version || !make || version() != kTlsVersion)
    return Status(Code::kUnavailable, path + " is of another version of Tenon");
  std::string why;
  std::unique_ptr<TlsContext> context(make(certificate.c_str(), key.c_str(), &why));
  if (!context) return Status(Code::kInvalid, why);
  return context;
}

}  // namespace tenon::server
