#include "base/names/class_name.h"

#include <cxxabi.h>

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

}  // namespace tenon
