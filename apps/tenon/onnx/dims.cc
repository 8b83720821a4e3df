#include "onnx/dims.h"

#include <charconv>

#include "output.h"

namespace tenon::runner {

void add_dim_flag(Flags& flags) {
  flags.texts("dim", "NAME=SIZE: the size of a dimension that the file leaves open; may be given several times");
}

std::map<std::string, int64_t> dims_of(const Flags& flags) {
  std::map<std::string, int64_t> out;
  for (const std::string& given : flags.list("dim")) {
    const size_t equals = given.rfind('=');
    int64_t size = 0;
    const char* end = given.data() + given.size();
    const bool number = equals != given.npos && std::from_chars(given.data() + equals + 1, end, size).ptr == end;
    if (!number || size < 1) throw UsageError{format("--dim: '%s', expected NAME=SIZE", given.c_str())};
    out[given.substr(0, equals)] = size;
  }
  return out;
}

}  // namespace tenon::runner
