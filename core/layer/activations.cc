// Activation, ReLU, LeakyReLU, PReLU.
#include "layer/layer.h"

namespace tenon {

Tensor activate(Tensor x, Activation act, double alpha) {
  return activation(x, act, alpha == 0 ? default_alpha(act) : alpha);
}

Tensor activate(Tensor x, std::string_view name) { return activate(x, activation_from_name(name)); }

Tensor relu_layer(Tensor x, const ReluOptions& o) {
  const LayerScope scope(x, "relu", "re_lu");
  scope.expect_float(x, 0);
  scope.expect_number("negative_slope", o.negative_slope, 0);
  scope.expect_number("threshold", o.threshold, 0);
  scope.expect(!o.max_value || *o.max_value >= 0, "max_value is ", o.max_value.value_or(0), ", expected 0 or more");
  if (!o.max_value && o.threshold == 0 && o.negative_slope == 0) return activation(x, relu);
  const auto passes = [&](double limit, CompareKind kind) { return compare(x, scalar_like(x, limit), kind); };
  const Tensor below = (x - o.threshold) * o.negative_slope;
  const Tensor y = select(passes(o.threshold, o.threshold == 0 ? CompareKind::kGt : CompareKind::kGe), x, below);
  return o.max_value ? select(passes(*o.max_value, CompareKind::kGe), scalar_like(x, *o.max_value), y) : y;
}

Tensor leaky_relu_layer(Tensor x, double negative_slope) {
  const LayerScope scope(x, "leaky_relu", "leaky_re_lu");
  scope.expect_float(x, 0);
  scope.expect_number("negative_slope", negative_slope, 0);
  return activation(x, Activation::kLeakyRelu, negative_slope);
}

Tensor prelu(Tensor x, const PreluOptions& o) {
  const LayerScope scope(x, "prelu", o.name);
  scope.expect_float(x, 2);
  std::vector<int64_t> dims(x.shape().begin() + 1, x.shape().end());
  for (int64_t axis : o.shared_axes) {
    scope.expect(axis >= 1 && axis < x.rank(), "shared axis is ", axis, ", expected 1 to ", x.rank() - 1);
    dims[static_cast<size_t>(axis - 1)] = 1;
  }
  const Tensor alpha = weight(x, "alpha", Shape(dims), o.alpha_initializer, o.trainable);
  const Tensor positive = compare(x, scalar_like(x, 0), CompareKind::kGt);
  return select(positive, x, broadcast_to(alpha, x.shape()) * x);
}

}  // namespace tenon
