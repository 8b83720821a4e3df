// What the numbers of enum attributes mean (tenon/abi/op.h has them in C). C++17, header only, constants.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon::op {

struct Enumeration {
  std::string_view name;
  int32_t first;                            // number of values[0]
  std::array<std::string_view, 15> values;  // those behind the last are empty

  constexpr std::string_view text(int64_t number) const {
    return number >= first && number - first < static_cast<int64_t>(values.size())
               ? values[static_cast<size_t>(number - first)]
               : std::string_view();
  }
  constexpr bool has(int64_t number) const { return !text(number).empty(); }
};

inline constexpr Enumeration kEnumerations[] = {
    {"compare", 0, {"eq", "ne", "lt", "le", "gt", "ge"}},
    {"reduce", 0, {"sum", "prod", "max", "min"}},
    {"extreme", 2, {"max", "min"}},
    {"scatter", 0, {"add", "set"}},
    {"precision", 0, {"default", "high", "highest"}},
    {"act",
     0,
     {"none", "relu", "relu6", "leaky_relu", "elu", "selu", "sigmoid", "tanh", "softplus", "gelu", "gelu_tanh", "silu",
      "mish", "hard_sigmoid", "hard_swish"}},
    {"resize", 0, {"nearest", "bilinear"}},
    {"coords", 0, {"legacy", "half_pixel", "align_corners"}},
    {"fill", 0, {"constant", "nearest", "reflect", "wrap"}},
};

constexpr const Enumeration* enumeration(std::string_view name) {
  for (const Enumeration& e : kEnumerations)
    if (e.name == name) return &e;
  return nullptr;
}

}  // namespace tenon::op
