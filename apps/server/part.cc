#include "server/part.h"

#include <dlfcn.h>

#include <filesystem>

namespace tenon::server {

Result<Part> Part::open(const std::string& name, const char* what, const char* package) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string part = "lib/tenon/server/" + name + ".so",
                    path = (program.parent_path().parent_path() / part).string();
  void* const library = error ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return Part(path, library);
  return Status(Code::kUnavailable, std::string(what) + " needs " + part + ", which a build makes where " + package +
                                        " is installed: " + (error ? error.message() : ::dlerror()));
}

Status Part::other_version() const { return Status(Code::kUnavailable, path_ + " is of another version of Tenon"); }

void* Part::symbol(const char* name) const { return ::dlsym(library_, name); }

}  // namespace tenon::server
