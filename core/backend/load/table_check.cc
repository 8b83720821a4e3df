#include "backend/load/table_check.h"

#include <algorithm>
#include <cstring>

#include "backend/abi.h"
#include "base/strings.h"
#include "tenon/plugin/required_entries.h"

namespace tenon {
namespace {

constexpr size_t kMaxString = 256;

template <class... Parts>
Status refuse_table(const Parts&... parts) {
  return Status(Code::kAbi, cat("tenon_backend_init ", parts...));
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
  if (const char* entry = plugin::missing_entry(t)) return refuse_table("left entry ", entry, " empty");
  if (!is_readable(t.flags)) return refuse_table("set flags ", t.flags, ", of which this version knows none");
  if (t.abi_major != version.major)
    return refuse_table("says ABI version ", t.abi_major, ", the file's note says ", version.major);
  TENON_TRY(check_string(t.name, "name"));
  TENON_TRY(check_string(t.version, "version"));
  if (t.name != name) return refuse_table("says that its name is '", t.name, "', the file's is '", name, "'");
  return {};
}

}  // namespace tenon
