#include "backend/load/table_check.h"

#include <algorithm>
#include <cstring>

#include "backend/abi.h"
#include "base/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxString = 256;

template <class... Parts>
Status refuse_table(const Parts&... parts) {
  return Status(Code::kAbi, cat("tenon_backend_init ", parts...));
}

// The name of the first mandatory entry that is missing, or nullptr.
const char* missing_entry(const tenon_backend& t) {
  const struct {
    const char* name;
    bool there;
  } entries[] = {{"enumerate", t.enumerate != nullptr},
                 {"device_open", t.device_open != nullptr},
                 {"device_close", t.device_close != nullptr},
                 {"supports", t.supports != nullptr},
                 {"compile", t.compile != nullptr},
                 {"program_destroy", t.program_destroy != nullptr},
                 {"buffer_alloc", t.buffer_alloc != nullptr},
                 {"buffer_free", t.buffer_free != nullptr},
                 {"queue_create", t.queue_create != nullptr},
                 {"queue_destroy", t.queue_destroy != nullptr},
                 {"copy", t.copy != nullptr},
                 {"run", t.run != nullptr},
                 {"wait", t.wait != nullptr}};
  static_assert(sizeof entries / sizeof entries[0] == 13);
  for (const auto& e : entries)
    if (!e.there) return e.name;
  return nullptr;
}

Status check_string(const char* text, const char* what) {
  if (!text) return refuse_table("left ", what, " empty");
  if (::strnlen(text, kMaxString) == kMaxString) return refuse_table("set a ", what, " without an end");
  if (one_line(text) != text) return refuse_table("set a ", what, " that cannot be printed: '", one_line(text), "'");
  return {};
}

}  // namespace

Status check_table(const tenon_backend& t, const std::string& name, const AbiVersion& version) {
  constexpr uint64_t kLeast = TENON_SIZE(tenon_backend, wait);
  if (t.struct_size < kLeast || t.struct_size > sizeof t)
    return refuse_table("filled ", t.struct_size, " bytes, expected ", kLeast, " to ", sizeof t);
  if (const char* entry = missing_entry(t)) return refuse_table("left entry ", entry, " empty");
  if (t.abi_major != version.major)
    return refuse_table("says ABI version ", t.abi_major, ", the file's note says ", version.major);
  TENON_TRY(check_string(t.name, "name"));
  TENON_TRY(check_string(t.version, "version"));
  if (t.name != name) return refuse_table("says that its name is '", t.name, "', the file's is '", name, "'");
  return {};
}

}  // namespace tenon
