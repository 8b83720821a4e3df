// BatchNormalization and LayerNormalization.
#include "layer/layer.h"

namespace tenon {
namespace {

// moving = momentum * moving + (1 - momentum) * batch
void track(Tensor moving, Tensor batch, double momentum) {
  const Tensor delta = mul(sub(cast(batch, moving.dtype()), moving), scalar_like(moving, 1 - momentum));
  assign(moving, add(moving, delta));
}

}  // namespace

Tensor batch_normalization(Tensor x, Mode mode, const BatchNormOptions& o) {
  const LayerScope scope(x, o.name);
  if (x.rank() < 2 || !is_float(x.dtype())) scope.fail("batch_normalization", "input is ", x.type().str(), ", expected a float of rank 2 or more");
  const Shape channels{x.dim(-1)};
  const auto scale = [&](bool wanted, const char* name, const Initializer& init, double missing) {
    return wanted ? weight(x, name, channels, init, o.trainable) : full(*x.graph(), x.dtype(), channels, missing);
  };
  const Tensor gamma = scale(o.scale, "gamma", ones(), 1);
  const Tensor beta = scale(o.center, "beta", zeros(), 0);
  const Tensor moving_mean = variable(x, "moving_mean", channels, zeros(), false);
  const Tensor moving_variance = variable(x, "moving_variance", channels, ones(), false);
  NormOptions options;
  options.eps = o.epsilon;
  options.act = o.activation;
  if (mode != Mode::kTrain || !o.trainable)
    return batch_norm_apply(x, gamma, beta, cast(moving_mean, x.dtype()), cast(moving_variance, x.dtype()), o.residual,
                            options);
  const Normalized n = batch_norm(x, gamma, beta, o.residual, options);
  track(moving_mean, n.mean, o.momentum);
  track(moving_variance, n.var, o.momentum);
  return n.y;
}

Tensor layer_normalization(Tensor x, const LayerNormOptions& o) {
  const LayerScope scope(x, o.name);
  if (x.rank() < 2 || !is_float(x.dtype())) scope.fail("layer_normalization", "input is ", x.type().str(), ", expected a float of rank 2 or more");
  const Shape width{x.dim(-1)};
  const Tensor gamma = o.scale ? weight(x, "gamma", width, ones(), o.trainable) : full(*x.graph(), x.dtype(), width, 1);
  const Tensor beta = o.center ? weight(x, "beta", width, zeros(), o.trainable) : Tensor();
  return layer_norm(x, gamma, beta, {x.rank() - 1}, o.epsilon).y;
}

}  // namespace tenon
