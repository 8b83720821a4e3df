#include "tenon/part.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/process/installed.h"
#include "base/strings.h"

namespace tenon {
namespace {

Status no_part(const PartName& name, std::string_view why) {
  return Status(Code::kUnavailable, cat(name.what, std::string_view(name.what).ends_with('s') ? " need " : " needs ",
                                        "lib/tenon/", name.file, ".so, which the package ", name.package,
                                        " brings, and a build makes where ", name.headers, " is installed: ", why));
}

}  // namespace

Result<std::string> Part::find(const PartName& name) {
  std::string first;
  for (const std::string& directory : installed_directories()) {
    std::string path = cat(directory, "/", name.file, ".so");
    if (::access(path.c_str(), F_OK) == 0) return path;
    if (first.empty()) first = std::move(path);
  }
  return no_part(name, first.empty() ? "no place is known" : cat(first, " is not there"));
}

Result<Part> Part::open(const PartName& name) {
  TENON_ASSIGN(std::string path, find(name));
  if (void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return Part(std::move(path), library);
  return no_part(name, ::dlerror());
}

Status Part::other_version() const { return Status(Code::kUnavailable, path_ + " is of another version of Tenon"); }

void* Part::symbol(const char* name) const { return ::dlsym(library_, name); }

}  // namespace tenon
