// Activations: functions of tensors, which layers take as an option, too.
//
//   Tensor y = relu(x), z = relu(x, {.max_value = 6});
//   dense(x, {.units = 3, .activation = relu});                                    // in the same op
//   dense(x, {.units = 3, .activation = "softmax"});                               // by Keras's name
//   dense(x, {.units = 3, .activation = [](Tensor x) { return x * sigmoid(x); }});  // one's own
//
// tanh, softmax and log_softmax, functions of ops.h, are activations as well. Formulas and defaults are Keras's functions';
// NaN stays NaN. All throw tenon::Error.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "tenon/ops.h"

namespace tenon {

// One of those that ops fuse: called on a tensor it applies itself.
class ActivationFunction {
 public:
  constexpr explicit ActivationFunction(Activation which) : which_(which) {}
  constexpr operator Activation() const { return which_; }  // NOLINT: implicit by design
  Tensor operator()(Tensor x) const;

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
inline constexpr ActivationFunction mish{Activation::kMish};
inline constexpr ActivationFunction hard_sigmoid{Activation::kHardSigmoid};
inline constexpr ActivationFunction hard_swish{Activation::kHardSwish};

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
