// Activations: functions of tensors, which layers take as an option, too.
//
//   Tensor y = relu(x), z = relu(x, {.max_value = 6});
//   dense(x, {.units = 3, .activation = relu});                                    // in the same op
//   dense(x, {.units = 3, .activation = "softmax"});                               // by Keras's name
//   dense(x, {.units = 3, .activation = [](Tensor x) { return x * sigmoid(x); }});  // one's own
//
// tanh, softmax and log_softmax, functions of ops.h, are activations as well. Formulas and defaults are Keras's
// functions'; NaN stays NaN. All throw tenon::Error.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "tenon/ops.h"

namespace tenon {

class Symbol;  // tenon/model.h

// One of those that ops fuse: called on a tensor it applies itself.
class ActivationFunction {
 public:
  constexpr explicit ActivationFunction(Activation which) : which_(which) {}
  constexpr operator Activation() const { return which_; }  // NOLINT: implicit by design
  Tensor operator()(Tensor x) const;
  Symbol operator()(const Symbol& x) const;

 private:
  Activation which_;
};

struct ReluOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  std::string name = "re_lu";
};
struct ReluFunction : ActivationFunction {
  constexpr ReluFunction() : ActivationFunction(Activation::kRelu) {}
  using ActivationFunction::operator();
  // max_value from there on, x from the threshold on, negative_slope (x - threshold) below.
  Tensor operator()(Tensor x, const ReluOptions& options) const { return with(x, options); }
  static Tensor with(Tensor x, const ReluOptions& options);
};
struct LeakyReluFunction : ActivationFunction {
  constexpr LeakyReluFunction() : ActivationFunction(Activation::kLeakyRelu) {}
  using ActivationFunction::operator();
  Tensor operator()(Tensor x, double negative_slope) const { return with(x, negative_slope); }
  static Tensor with(Tensor x, double negative_slope);
};
struct EluFunction : ActivationFunction {
  constexpr EluFunction() : ActivationFunction(Activation::kElu) {}
  using ActivationFunction::operator();
  Tensor operator()(Tensor x, double alpha) const { return with(x, alpha); }
  static Tensor with(Tensor x, double alpha);
};

inline constexpr ActivationFunction linear{Activation::kNone};
inline constexpr ReluFunction relu;
inline constexpr ActivationFunction relu6{Activation::kRelu6};
inline constexpr LeakyReluFunction leaky_relu;  // slope 0.2 below 0 where none is given; the layer LeakyReLU has 0.3
inline constexpr EluFunction elu;               // alpha 1 where none is given
inline constexpr ActivationFunction selu{Activation::kSelu};
inline constexpr ActivationFunction sigmoid{Activation::kSigmoid};
inline constexpr ActivationFunction softplus{Activation::kSoftplus};
inline constexpr ActivationFunction gelu{Activation::kGelu};
inline constexpr ActivationFunction gelu_tanh{Activation::kGeluTanh};  // Keras's gelu(approximate=True)
inline constexpr ActivationFunction silu{Activation::kSilu};
inline constexpr ActivationFunction swish = silu;
inline constexpr ActivationFunction mish{Activation::kMish};
inline constexpr ActivationFunction hard_sigmoid{Activation::kHardSigmoid};
inline constexpr ActivationFunction hard_swish{Activation::kHardSwish};
inline constexpr ActivationFunction hard_silu = hard_swish;

// Made of ops, which backends fuse with what is around them. Options with further numbers than their defaults are
// functions of one's own: `.activation = [](Tensor x) { return celu(x, 2); }`.
Tensor celu(Tensor x, double alpha = 1);               // x, or alpha (e^(x / alpha) - 1) below 0
Tensor exponential(Tensor x);                          // e^x
Tensor glu(Tensor x, int64_t axis = -1);               // the first half of the axis times the sigmoid of the second
Tensor hard_shrink(Tensor x, double threshold = 0.5);  // x where |x| is more, else 0
Tensor hard_tanh(Tensor x);                            // x within [-1, 1]
Tensor log_sigmoid(Tensor x);                          // log(1 / (1 + e^-x)), without overflow
Tensor soft_shrink(Tensor x, double threshold = 0.5);  // x moved towards 0 by that much
Tensor softsign(Tensor x);                             // x / (1 + |x|)
Tensor sparse_plus(Tensor x);                          // 0 up to -1, (x + 1)^2 / 4 up to 1, then x
Tensor sparse_sigmoid(Tensor x);                       // 0 up to -1, (x + 1) / 2 up to 1, then 1
// The nearest point with sum 1 and nothing below 0, along the axis (Martins and Astudillo 2016).
Tensor sparsemax(Tensor x, int64_t axis = -1);
Tensor squareplus(Tensor x, double b = 4);                           // (x + sqrt(x^2 + b)) / 2
Tensor tanh_shrink(Tensor x);                                        // x - tanh(x)
Tensor threshold(Tensor x, double threshold, double default_value);  // x where it is more, else default_value

// What an option `.activation` holds: one of those above, a name, or any function of one tensor.
class ActivationRule {
 public:
  ActivationRule() = default;                                              // linear
  ActivationRule(Activation which) : fused_(which) {}                      // NOLINT: implicit by design
  ActivationRule(ActivationFunction which) : fused_(which) {}              // NOLINT
  ActivationRule(const char* name) : ActivationRule(std::string(name)) {}  // NOLINT
  ActivationRule(const std::string& name);                                 // NOLINT
  ActivationRule(Tensor (*function)(Tensor x));                            // NOLINT: tanh is fused
  ActivationRule(Tensor (*of_axis)(Tensor x, int64_t axis));               // NOLINT: over the last one
  template <class Own>
  requires std::is_class_v<Own> && std::is_invocable_r_v<Tensor, const Own&, Tensor> &&
      (!std::derived_from<Own, ActivationFunction>)ActivationRule(Own own)
      : own_(std::move(own)) {}  // NOLINT

  // What ops that fuse activations are given; linear where it is a function of one's own, which after() applies then.
  Activation fused() const { return fused_; }
  Tensor after(Tensor y) const;
  // All of it.
  Tensor operator()(Tensor x) const;

 private:
  Activation fused_ = Activation::kNone;
  std::function<Tensor(Tensor)> own_;
};

// The activation of that name, or any other, of x.
Tensor activate(Tensor x, const ActivationRule& activation);

}  // namespace tenon
