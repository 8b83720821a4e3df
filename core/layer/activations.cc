// Activations as functions and as options of layers; PReLU.
#include "layer/composed_activations.h"
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "tenon/layer_classes.h"

namespace tenon {

ActivationRule::ActivationRule(const std::string& name) {
  if (const auto function = composed_activation(name))
    own_ = function;
  else
    fused_ = activation_from_name(name);
}

ActivationRule::ActivationRule(Tensor (*function)(Tensor x)) {
  if (function == static_cast<Tensor (*)(Tensor)>(tanh))
    fused_ = Activation::kTanh;
  else
    own_ = function;
}

ActivationRule::ActivationRule(Tensor (*of_axis)(Tensor x, int64_t axis))
    : own_([of_axis](Tensor x) { return of_axis(x, -1); }) {}

Tensor ActivationRule::after(Tensor y) const { return own_ ? own_(y) : y; }
Tensor ActivationRule::operator()(Tensor x) const {
  return with_mask_of(x, own_ ? own_(x) : activation(x, fused_, default_alpha(fused_)));
}

Tensor activate(Tensor x, const ActivationRule& rule) { return rule(x); }

Tensor ActivationFunction::operator()(Tensor x) const {
  return with_mask_of(x, activation(x, which_, default_alpha(which_)));
}

Tensor ReluFunction::with(Tensor x, const ReluOptions& o) {
  const LayerScope scope(x, "re_lu", o.name);
  scope.expect_float(x, 0);
  scope.expect_number("negative_slope", o.negative_slope, 0);
  scope.expect_number("threshold", o.threshold, 0);
  scope.expect(!o.max_value || *o.max_value >= 0, "max_value is ", o.max_value.value_or(0), ", expected 0 or more");
  const bool plain = o.threshold == 0 && o.negative_slope == 0;
  if (plain && !o.max_value) return with_mask_of(x, activation(x, relu));
  if (plain && o.max_value == 6) return with_mask_of(x, activation(x, Activation::kRelu6));
  const auto passes = [&](double limit, CompareKind kind) { return compare(x, scalar_like(x, limit), kind); };
  const Tensor below = (x - o.threshold) * o.negative_slope;
  Tensor y = select(passes(o.threshold, o.threshold == 0 ? CompareKind::kGt : CompareKind::kGe), x, below);
  if (o.max_value) y = select(passes(*o.max_value, CompareKind::kGe), scalar_like(x, *o.max_value), y);
  return with_mask_of(x, y);
}

Tensor LeakyReluFunction::with(Tensor x, double negative_slope) {
  const LayerScope scope(x, "leaky_re_lu", "leaky_re_lu");
  scope.expect_float(x, 0);
  scope.expect_number("negative_slope", negative_slope, 0);
  return with_mask_of(x, activation(x, Activation::kLeakyRelu, negative_slope));
}

Tensor EluFunction::with(Tensor x, double alpha) {
  const LayerScope scope(x, "elu", "elu");
  scope.expect_float(x, 0);
  scope.expect_number("alpha", alpha, 0);
  return with_mask_of(x, activation(x, Activation::kElu, alpha));
}

Tensor masked_softmax(Tensor x, int64_t axis) {
  const Tensor mask = mask_of(x);
  if (!mask || !(mask.shape() == x.shape())) return with_mask_of(x, softmax(x, axis));
  const double hidden = x.dtype() == DType::kF16 ? -3e4 : -1e9;
  return with_mask_of(x, select(mask, softmax(select(mask, x, scalar_like(x, hidden)), axis), scalar_like(x, 0)));
}

Tensor prelu(Tensor x, const PreluOptions& o) {
  const LayerScope scope(x, "p_re_lu", o.name);
  scope.expect_float(x, 2);
  std::vector<int64_t> dims(x.shape().begin() + 1, x.shape().end());
  for (int64_t axis : o.shared_axes) {
    scope.expect(axis >= 1 && axis < x.rank(), "shared axis is ", axis, ", expected 1 to ", x.rank() - 1);
    dims[static_cast<size_t>(axis - 1)] = 1;
  }
  const Tensor alpha =
      weight(x, "alpha", Shape(dims), o.alpha_initializer, o.trainable, o.alpha_regularizer, o.alpha_constraint);
  const Tensor positive = compare(x, scalar_like(x, 0), CompareKind::kGt);
  return with_mask_of(x, select(positive, x, broadcast_to(alpha, x.shape()) * x));
}

}  // namespace tenon
