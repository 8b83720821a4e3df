#include "exchange/transport_library.h"

#include <dlfcn.h>

#include "backend/load/search_path.h"
#include "backend/load/trust.h"
#include "base/strings.h"

namespace tenon {
namespace {

Result<std::string> find_transport(const std::string& name) {
  const SearchPath search = search_path();
  std::string untrusted;
  for (const std::string& directory : search.directories) {
    const std::string path = find_candidate({{cat(directory, "/transport")}, {}}, name);
    if (path.empty()) continue;
    Result<std::string> real = trusted_file(path);
    if (real.ok()) return real;
    append(untrusted, cat("; ", path, ": ", real.status().message()));
  }
  return Status(Code::kUnavailable, cat("no transport/", name, ".so in ", join(search.directories), untrusted));
}

Status broke_transport(const std::string& path, const std::string& what) {
  return Status(Code::kAbi, cat(path, ": ", what));
}

Status check_table(const std::string& path, const tenon_transport& t) {
  if (!TENON_HAS(&t, tenon_transport, close) || !t.name || !t.host || !t.send || !t.receive || !t.poll || !t.abort ||
      !t.close)
    return broke_transport(path, "lacks entries of a transport");
  if (t.version != TENON_TRANSPORT_VERSION)
    return broke_transport(path, cat("is a transport of version ", t.version, ", expected ", TENON_TRANSPORT_VERSION));
  if (t.count < 1 || t.rank >= t.count)
    return broke_transport(path, cat("says rank ", t.rank, " of ", t.count, " processes"));
  return {};
}

}  // namespace

// A job is joined once, by the one process that the launcher knows: no child can try it first.
Result<tenon_transport> load_transport(const std::string& name) {
  TENON_ASSIGN(const std::string path, find_transport(name));
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Status(Code::kUnavailable, cat(path, ": ", ::dlerror()));
  const auto init = reinterpret_cast<decltype(&tenon_transport_init)>(::dlsym(library, "tenon_transport_init"));
  if (!init) return broke_transport(path, "has no tenon_transport_init");
  tenon_transport out{};
  out.struct_size = sizeof out;
  const tenon_status status = init(&out);
  if (status.code != TENON_OK)
    return Status(static_cast<Code>(status.code), cat(path, ": ", status.message ? status.message : "cannot join"));
  TENON_TRY(check_table(path, out));
  return out;
}

}  // namespace tenon
