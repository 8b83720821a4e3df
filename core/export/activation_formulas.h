// Activations in another format, by its op where it has one, else by the formulas of core/op/network/activation.cc. A format derives
// from it, and has number(value), of(op, x), of(op, a, b), kAdd, how its sum is called, and the activations that formats write each in
// its own way: relu6(x), leaky_relu(x, alpha), elu(x, alpha), hard_sigmoid(x), hard_swish(x). The other ops have one name in all formats.
#pragma once

#include <string>

#include "export/node_reader.h"
#include "tenon/ops.h"

namespace tenon {

template <class Format>
class ActivationFormulas {
 public:
  using Ref = std::string;  // a tensor, as the format's nodes name it

  // Throws Lacking for one that is not known.
  Ref activated(const Ref& x, Activation act, double alpha) {
    switch (act) {
      case Activation::kNone:
        return x;
      case Activation::kRelu:
        return own().of("Relu", x);
      case Activation::kRelu6:
        return own().relu6(x);
      case Activation::kLeakyRelu:
        return own().leaky_relu(x, alpha);
      case Activation::kElu:
        return own().elu(x, alpha);
      case Activation::kSelu:
        return own().of("Selu", x);
      case Activation::kSigmoid:
        return own().of("Sigmoid", x);
      case Activation::kTanh:
        return own().of("Tanh", x);
      case Activation::kSoftplus:
        return own().of("Softplus", x);
      case Activation::kGelu:
        return gelu(x);
      case Activation::kGeluTanh:
        return gelu_tanh(x);
      case Activation::kSilu:
        return mul(x, own().of("Sigmoid", x));
      case Activation::kMish:
        return mul(x, own().of("Tanh", own().of("Softplus", x)));
      case Activation::kHardSigmoid:
        return own().hard_sigmoid(x);
      case Activation::kHardSwish:
        return own().hard_swish(x);
    }
    throw Lacking{"has an activation that is not known"};
  }

 protected:
  Ref mul(const Ref& a, const Ref& b) { return own().of("Mul", a, b); }
  Ref mul(double a, const Ref& b) { return mul(own().number(a), b); }
  Ref add(const Ref& a, const Ref& b) { return own().of(Format::kAdd, a, b); }
  Ref add(double a, const Ref& b) { return add(own().number(a), b); }

 private:
  Ref gelu(const Ref& x) { return mul(x, mul(0.5, add(1, own().of("Erf", mul(0.70710678118654752440, x))))); }
  Ref gelu_tanh(const Ref& x) {
    const Ref cube = mul(kCubic, mul(x, mul(x, x)));
    return mul(x, own().of("Sigmoid", mul(2 * kRootTwoOverPi, add(x, cube))));
  }

  static constexpr double kRootTwoOverPi = 0.79788456080286535588, kCubic = 0.044715;
  Format& own() { return static_cast<Format&>(*this); }
};

}  // namespace tenon
