#include "import/onnx/file/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::onnx {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

// sign, exponent, mantissa; of exponent 0 subnormal.
float number(int code, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
  const bool negative = (code >> (mantissa_bits + exponent_bits) & 1) != 0;
  const float size =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                    : std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  return negative ? -size : size;
}

float value_of(Element element, int code) {
  switch (element) {
    case Element::kF8E4M3FN:
      return (code & 0x7f) == 0x7f ? kNaN : number(code, 4, 3, 7);
    case Element::kF8E4M3FNUZ:
      return code == 0x80 ? kNaN : number(code, 4, 3, 8);
    case Element::kF8E5M2:
      if ((code & 0x7c) == 0x7c) return (code & 3) != 0 ? kNaN : (code & 0x80) != 0 ? -kInfinity : kInfinity;
      return number(code, 5, 2, 15);
    case Element::kF8E5M2FNUZ:
      return code == 0x80 ? kNaN : number(code, 5, 2, 16);
    case Element::kF4E2M1:
      return number(code, 2, 1, 1);
    default:  // F8E8M0: a power of two
      return code == 0xff ? kNaN : std::ldexp(1.0f, code - 127);
  }
}

}  // namespace

bool is_small_float(Element element) {
  return element == Element::kF8E4M3FN || element == Element::kF8E4M3FNUZ || element == Element::kF8E5M2 ||
         element == Element::kF8E5M2FNUZ || element == Element::kF4E2M1 || element == Element::kF8E8M0;
}

std::vector<float> small_float_values(Element element) {
  std::vector<float> out;
  for (int code = 0; code < 1 << element_bits(element); ++code) out.push_back(value_of(element, code));
  return out;
}

std::vector<float> small_float_steps(Element element) {
  std::vector<float> out;
  for (const float value : small_float_values(element))
    if (std::isfinite(value)) out.push_back(value == 0 ? 0 : value);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace tenon::onnx
