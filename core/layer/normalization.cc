// BatchNormalization, LayerNormalization, GroupNormalization, RMSNormalization, UnitNormalization.
#include <algorithm>

#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "op/replicas.h"

namespace tenon {
namespace {

// moving = momentum * moving + (1 - momentum) * batch
void track(Tensor moving, Tensor batch, double momentum) { assign(moving, moving + (batch - moving) * (1 - momentum)); }

// The variable, or ones where none is wanted.
template <class Options>
Tensor gamma_of(Tensor x, const Shape& shape, const Options& o) {
  if (!o.scale) return full(*x.graph(), variable_dtype(x), shape, 1);
  return parameter(x, "gamma", shape, ones(), o.trainable, o.gamma_regularizer, o.gamma_constraint);
}

// Absent where none is wanted.
template <class Options>
Tensor beta_of(Tensor x, const Shape& shape, const Options& o) {
  if (!o.center) return {};
  return parameter(x, "beta", shape, zeros(), o.trainable, o.beta_regularizer, o.beta_constraint);
}

void expect_epsilon(const LayerScope& scope, double epsilon) { scope.expect_number("epsilon", epsilon, 0); }

// Sorted axes counted from 0.
Ints normalized_axes(const LayerScope& scope, Tensor x, const Ints& axes) {
  scope.expect(!axes.empty(), "axes are empty");
  Ints out;
  for (int64_t a : axes) {
    scope.expect(a >= -x.rank() && a < x.rank(), "axis ", a, " is out of range for ", x.type().str());
    out.push_back(a < 0 ? a + x.rank() : a);
  }
  std::sort(out.begin(), out.end());
  scope.expect(std::adjacent_find(out.begin(), out.end()) == out.end(), "axes repeat: [", join(axes, ","), "]");
  return out;
}

// Mean and variance over the steps that count, divided as Keras does.
Normalized masked_moments(Tensor x, bool synchronized) {
  const Tensor wide = cast(x, DType::kF32), mask = mask_over(x, DType::kBool), zero = scalar_like(wide, 0);
  Ints axes;
  for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
  const auto all = [&](const Tensors& sums) { return synchronized ? sums_over_replicas(sums) : sums; };
  const Tensors first = all({reduce_sum(cast(mask, DType::kF32), axes), reduce_sum(select(mask, wide, zero), axes)});
  const Tensor count = first[0] + 1e-7;
  Normalized n;
  n.mean = first[1] / count;
  n.var = all({reduce_sum(square(select(mask, wide - n.mean, zero)), axes)})[0] / count;
  return n;
}

// Along the last axis.
Tensor batch_normalized(Tensor x, const BatchNormOptions& o, Tensor residual) {
  const Shape channels{x.dim(-1)};
  const Tensor gamma = gamma_of(x, channels, o), shift = beta_of(x, channels, o);
  const Tensor beta = shift ? shift : full(*x.graph(), variable_dtype(x), channels, 0);
  const Tensor moving_mean = variable(x, "moving_mean", channels, zeros(), false);
  const Tensor moving_variance = variable(x, "moving_variance", channels, ones(), false);
  NormOptions options;
  options.eps = o.epsilon;
  options.act = o.activation.fused();
  options.alpha = default_alpha(options.act);
  options.group = o.synchronized ? 0 : 1;
  if (mode_of(x) != Mode::kTrain || !o.trainable || is_frozen(x))
    return with_mask_of(
        x, o.activation.after(batch_norm_apply(x, gamma, beta, moving_mean, moving_variance, residual, options)));
  const bool masked = static_cast<bool>(mask_of(x));
  Normalized n = masked ? masked_moments(x, o.synchronized) : batch_norm(x, gamma, beta, residual, options);
  if (masked) n.y = batch_norm_apply(x, gamma, beta, n.mean, n.var, residual, options);
  track(moving_mean, n.mean, o.momentum);
  track(moving_variance, n.var, o.momentum);
  return with_mask_of(x, o.activation.after(n.y));
}

}  // namespace

Tensor batch_normalization(Tensor x, const BatchNormOptions& o) {
  const LayerScope scope(x, "batch_normalization", o.name);
  scope.expect_float(x, 2);
  expect_epsilon(scope, o.epsilon);
  scope.expect(o.momentum >= 0 && o.momentum <= 1, "momentum is ", o.momentum, ", expected 0 to 1");
  const int64_t axis = normalized_axes(scope, x, {o.axis})[0];
  if (axis == x.rank() - 1) return batch_normalized(x, o, o.residual);
  scope.expect(!mask_of(x), "axis is ", o.axis, " and the input has a mask, expected the last axis");
  Ints there, back;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (a != axis) there.push_back(a);
    back.push_back(a < axis ? a : a == axis ? x.rank() - 1 : a - 1);
  }
  there.push_back(axis);
  const Tensor residual = o.residual ? transpose(o.residual, there) : o.residual;
  return transpose(batch_normalized(transpose(x, there), o, residual), back);
}

Tensor layer_normalization(Tensor x, const LayerNormOptions& o) {
  const LayerScope scope(x, "layer_normalization", o.name);
  scope.expect_float(x, 2);
  expect_epsilon(scope, o.epsilon);
  const Ints axes = normalized_axes(scope, x, o.axes);
  std::vector<int64_t> dims;
  for (int64_t a : axes) {
    scope.expect_static(x, static_cast<int>(a));
    dims.push_back(x.dim(static_cast<int>(a)));
  }
  const Shape shape(dims);
  const Tensor gamma = gamma_of(x, shape, o), beta = beta_of(x, shape, o);
  if (axes.front() == x.rank() - static_cast<int64_t>(axes.size()))
    return with_mask_of(x, layer_norm(x, gamma, beta, axes, o.epsilon).y);
  // axes that are not the last ones: the op's gamma would have other dimensions
  Tensor y = layer_norm(x, full(*x.graph(), variable_dtype(x), {}, 1), {}, axes, o.epsilon).y;
  y = y * broadcast(cast(gamma, y.dtype()), y.shape(), axes);
  return with_mask_of(x, beta ? y + broadcast(cast(beta, y.dtype()), y.shape(), axes) : y);
}

Tensor group_normalization(Tensor x, const GroupNormOptions& o) {
  const LayerScope scope(x, "group_normalization", o.name);
  scope.expect_float(x, 2);
  expect_epsilon(scope, o.epsilon);
  const int64_t channels = x.dim(-1), groups = o.groups == -1 ? channels : o.groups;
  scope.expect(groups >= 1 && channels % groups == 0, "groups ", groups, " do not divide ", channels, " channels");
  const Tensor gamma = gamma_of(x, {channels}, o), beta = beta_of(x, {channels}, o);
  const Shape grouped{groups, channels / groups};
  const Tensor split = reshape(x, {x.dim(0), x.elements() / x.dim(0) / channels, groups, channels / groups});
  const Tensor y =
      layer_norm(split, reshape(gamma, grouped), beta ? reshape(beta, grouped) : beta, {1, 3}, o.epsilon).y;
  return with_mask_of(x, reshape(y, x.shape()));
}

Tensor rms_normalization(Tensor x, const RmsNormOptions& o) {
  const LayerScope scope(x, "rms_normalization", o.name);
  scope.expect_float(x, 2);
  expect_epsilon(scope, o.epsilon);
  scope.expect_static(x, -1);
  const Tensor scale = parameter(x, "scale", {x.dim(-1)}, ones(), o.trainable);
  return with_mask_of(x, layer_norm(x, scale, {}, {x.rank() - 1}, o.epsilon, false).y);
}

Tensor unit_normalization(Tensor x) {
  const LayerScope scope(x, "unit_normalization", "unit_normalization");
  scope.expect_float(x, 2);
  const Tensor squares = reduce_sum(square(x), {-1}, true);
  return with_mask_of(x, x / sqrt(maximum(squares, scalar_like(squares, 1e-24))));
}

}  // namespace tenon
