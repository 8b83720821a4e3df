// Activations that other formats have no op for, by the formulas of core/op/network/activation.cc. A format derives from it, and has
// number(value), of(op, x), of(op, a, b) and kAdd, how its sum is called; the other ops have one name in all formats.
#pragma once

#include <string>

namespace tenon {

template <class Format>
class ActivationFormulas {
 public:
  using Ref = std::string;  // a tensor, as the format's nodes name it

  Ref gelu(const Ref& x) { return mul(x, mul(0.5, add(1, own().of("Erf", mul(0.70710678118654752440, x))))); }
  Ref gelu_tanh(const Ref& x) {
    const Ref cube = mul(kCubic, mul(x, mul(x, x)));
    return mul(x, own().of("Sigmoid", mul(2 * kRootTwoOverPi, add(x, cube))));
  }
  Ref silu(const Ref& x) { return mul(x, own().of("Sigmoid", x)); }
  Ref mish(const Ref& x) { return mul(x, own().of("Tanh", own().of("Softplus", x))); }

 protected:
  Ref mul(const Ref& a, const Ref& b) { return own().of("Mul", a, b); }
  Ref mul(double a, const Ref& b) { return mul(own().number(a), b); }
  Ref add(const Ref& a, const Ref& b) { return own().of(Format::kAdd, a, b); }
  Ref add(double a, const Ref& b) { return add(own().number(a), b); }

 private:
  static constexpr double kRootTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
  Format& own() { return static_cast<Format&>(*this); }
};

}  // namespace tenon
