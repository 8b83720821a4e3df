#include "backend/bring_up.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

#include "backend/abi.h"
#include "backend/load/dependencies.h"
#include "backend/load/table_check.h"
#include "backend/process_state.h"
#include "base/strings.h"
#include "tenon/plugin/validation.h"

namespace tenon {
namespace {

// A plugin's text may be of any length; the stage in which it went wrong comes first.
Status in_init(const Status& status) {
  return status.ok() ? status : Status(status.code(), cat("tenon_backend_init: ", one_line(status.message())));
}

tenon_status call_init(decltype(&tenon_backend_init) init, const tenon_host& host, const std::string& name,
                       bool validate, tenon_backend* out) {
  try {
    return validate ? plugin::validate_init(init, host, name.c_str(), out) : init(&host, out);
  } catch (...) {
    return {TENON_ABI, 0, "threw an exception"};
  }
}

// In the linker's words, where the copy has the file's name.
Status linker_error(const CheckedLibrary& library) {
  const char* said = ::dlerror();
  std::string text = said ? said : "";
  const std::string& place = library.copy.place();
  if (const size_t at = text.find(place); at != std::string::npos) text.replace(at, place.size(), library.copy.path());
  return Status(Code::kUnavailable, cat("cannot be loaded: ", one_line(printable(text))));
}

// Where one of that name is loaded already, the linker will take that one.
bool is_loaded(const std::string& path) {
  void* handle = ::dlopen(name_of(path).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle) ::dlclose(handle);
  return handle != nullptr;
}

// The handle of the library, whose constructors have then run.
Result<void*> open_library(const CheckedLibrary& library) {
  try {
    for (const std::string& path : library.beside)
      if (!is_loaded(path) && !::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return linker_error(library);
    if (void* handle = ::dlopen(library.copy.place().c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  } catch (...) {
    return Status(Code::kAbi, "threw an exception in its constructors (dlopen)");
  }
  return linker_error(library);
}

// By this name dladdr, backtraces and debuggers know the library from now on. The linker frees it with the library.
void set_path(void* handle, const std::string& path) {
  link_map* map = nullptr;
  char* name = ::strdup(path.c_str());
  if (name && ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) map->l_name = name;
}

}  // namespace

Result<CheckedLibrary> check_library(const std::string& path) {
  {
    TENON_ASSIGN(const File original, File::open(path));
    TENON_TRY(check_elf(original).status());  // spares copying what is none
  }
  TENON_ASSIGN(SealedCopy copy, SealedCopy::make(path));
  TENON_ASSIGN(const File file, File::open(copy.place()));
  TENON_ASSIGN(LibraryFacts facts, check_elf(file));
  TENON_ASSIGN(std::vector<std::string> beside, check_dependencies(facts, directory_of(path)));
  return CheckedLibrary{std::move(copy), std::move(facts), std::move(beside)};
}

Status bring_up(const CheckedLibrary& library, const std::string& name, const tenon_host& host, bool validate,
                const ProbeStage& stage, tenon_backend* out, void** handle) {
  const ProcessState restored_at_return;
  stage("its constructors (dlopen)");
  TENON_ASSIGN(*handle, open_library(library));
  set_path(*handle, library.copy.path());
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(::dlsym(*handle, "tenon_backend_init"));
  if (!init) return Status(Code::kAbi, "exports no tenon_backend_init");
  stage("tenon_backend_init");
  *out = {};
  out->struct_size = sizeof *out;
  TENON_TRY(in_init(from_abi(call_init(init, host, name, validate, out), name, "tenon_backend_init")));
  return check_table(*out, name, library.facts.version);
}

void forget_path(void* handle, const CheckedLibrary& library) { set_path(handle, library.copy.place()); }

}  // namespace tenon
