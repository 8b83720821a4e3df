#include "base/names/class_name.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>

namespace tenon {
namespace {

// Colons within template arguments and anonymous namespaces are none of its own.
std::string without_namespaces(const std::string& name) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += (name[i] == '<' || name[i] == '(') - (name[i] == '>' || name[i] == ')');
    if (depth == 0 && name.compare(i, 2, "::") == 0) begin = i + 2;
  }
  return name.substr(begin);
}

}  // namespace

std::string class_name(const std::type_info& type) {
  int failed = 0;
  char* clear = abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed);
  const std::string name = failed == 0 ? clear : type.name();
  std::free(clear);
  return without_namespaces(name);
}

std::string snake_case(std::string_view name) {
  const auto upper = [&](size_t i) { return i < name.size() && std::isupper(static_cast<unsigned char>(name[i])); };
  const auto lower = [&](size_t i) { return i < name.size() && std::islower(static_cast<unsigned char>(name[i])); };
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && upper(i) && (lower(i + 1) || lower(i - 1))) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

}  // namespace tenon
