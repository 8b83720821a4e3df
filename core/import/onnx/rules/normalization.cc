// Moments taken out and given back.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"
#include "tenon/variables.h"

namespace tenon::onnx {
namespace normalization_ops {
namespace {

Tensor vector_of(Tensor x, int64_t size) {
  if (x.elements() != size) fail("a vector of ", x.type().str(), ", expected ", size, " numbers");
  return x.rank() == 1 ? x : reshape(x, {size});
}

// The moving average of what came before and of this batch.
Tensor moved(Tensor before, Tensor now, double momentum) {
  return before * momentum + cast(now, before.dtype()) * (1 - momentum);
}

bool is_variable(Call& c, size_t i) { return c.graph().variable_of(c.in(i).id()) >= 0; }

// Where the file holds the moments the mode is that of the function, as exporters of a model that is to be trained write
// training_mode too; where they are computed or fed the file's word holds. `kept`: they are variables, not one number.
bool has_moments_of_batch(Call& c, bool kept) {
  const bool asked = c.flag("training_mode");
  const auto& held = c.walk.plan().weights;
  if (!held.count(c.node.inputs[3]) || !held.count(c.node.inputs[4])) return asked;
  if (c.trains()) return (asked || kept) && !c.walk.is_frozen(c.node.inputs[1]);
  return asked && c.walk.plan().options.modes_of_file;
}

void batch_norm_rule(Call& c) {
  const Value x = c.value(0);
  const int64_t channels = x.shape()[std::min(1, x.rank() - 1)];
  const double eps = c.real("epsilon", 1e-5), momentum = c.real("momentum", 0.9);
  const Tensor t = x.last(), gamma = vector_of(c.in(1), channels), beta = vector_of(c.in(2), channels);
  const Tensor mean = vector_of(c.in(3), channels), var = vector_of(c.in(4), channels);
  const bool kept = is_variable(c, 3) && is_variable(c, 4);
  const NormOptions options{.eps = eps};
  const auto apart = [&](Tensor v) { return cast(v, t.dtype() == DType::kF64 ? DType::kF64 : DType::kF32); };
  if (!has_moments_of_batch(c, kept)) {
    c.give_last(batch_norm_apply(t, apart(gamma), apart(beta), apart(mean), apart(var), {}, options));
    if (c.wants(1)) c.give(mean, c.element(3));
    if (c.wants(2)) c.give(var, c.element(4));
    return;
  }
  const Normalized y = batch_norm(t, apart(gamma), apart(beta), {}, options);
  c.give_last(y.y);
  const Tensor next_mean = moved(mean, y.mean, momentum), next_var = moved(var, y.var, momentum);
  if (c.trains() && kept) {
    assign(c.in(3), reshaped(next_mean, c.in(3).shape().vec()));
    assign(c.in(4), reshaped(next_var, c.in(4).shape().vec()));
  }
  c.give(next_mean, c.element(3));
  c.give(next_var, c.element(4));
}

void instance_norm(Call& c) {
  const Value x = c.value(0);
  const Tensor t = x.last(), gamma = c.in(1), beta = c.in(2);
  Ints axes;
  for (int a = 1; a + 1 < t.rank(); ++a) axes.push_back(a);
  c.give_last(layer_norm(t, gamma, beta, axes, c.real("epsilon", 1e-5)).y);
}

// Normalises over all axes from one on. What f16 and bf16 have to compute in is said by stash_type, f32.
struct Layered {
  Tensor y, mean, deviation;
};
Layered layered(Call& c, Tensor x, int64_t axis, Tensor gamma, Tensor beta, bool center) {
  const DType narrow = x.dtype();
  const bool wide = narrow == DType::kF64;
  x = cast(x, wide ? DType::kF64 : DType::kF32);
  Ints axes;
  for (int64_t a = axis; a < x.rank(); ++a) axes.push_back(a);
  const Shape tail(std::vector<int64_t>(x.shape().begin() + axis, x.shape().end()));
  const double eps = c.real("epsilon", 1e-5);
  const auto fits = [&](Tensor t) { return !t || t.shape() == tail; };
  gamma = gamma ? cast(gamma, x.dtype()) : full(c.graph(), x.dtype(), tail, 1);
  beta = beta ? cast(beta, x.dtype()) : Tensor();
  Layered out;
  if (fits(gamma) && fits(beta)) {
    const Normalized n = layer_norm(x, gamma, beta, axes, eps, center);
    out.y = cast(n.y, narrow);
    Shape kept = x.shape();
    for (const int64_t a : axes) kept.set(static_cast<int>(a), 1);
    out.mean = reshape(n.mean, kept);
    out.deviation = 1.0 / sqrt(reshape(n.var, kept) + eps);
    return out;
  }
  out.mean = center ? reduce_mean(x, axes, true) : Tensor();
  const Tensor centred = center ? x - out.mean : x;
  out.deviation = 1.0 / sqrt(reduce_mean(square(centred), axes, true) + eps);
  Tensor y = centred * out.deviation * gamma;
  if (beta) y = y + beta;
  out.y = cast(y, narrow);
  return out;
}

Tensor optional_in(Call& c, size_t i) { return c.has(i) ? c.in(i) : Tensor(); }

void layer_norm_rule(Call& c) {
  const Tensor x = c.in(0);
  const Layered y = layered(c, x, c.axis(c.integer("axis", -1), x.rank()), optional_in(c, 1), optional_in(c, 2), true);
  c.give(y.y);
  c.give(y.mean, Element::kF32);
  c.give(y.deviation, Element::kF32);
}

void rms_norm(Call& c) {
  const Tensor x = c.in(0);
  c.give(layered(c, x, c.axis(c.integer("axis", -1), x.rank()), optional_in(c, 1), {}, false).y);
}

// Opset 18 has a scale a group, 21 one a channel.
void group_norm(Call& c) {
  const Value x = c.value(0);
  const int64_t groups = c.integer("num_groups", 1);
  const Tensor t = x.last(), gamma = c.in(1), beta = c.in(2);
  const int64_t n = t.dim(0), channels = t.dim(-1);
  if (groups < 1 || channels % groups != 0) fail(channels, " channels in ", groups, " groups");
  const int64_t each = channels / groups, places = t.elements() / (n * channels);
  const bool wide = t.dtype() == DType::kF64;
  const Tensor apart = cast(reshape(t, {n, places, groups, each}), wide ? DType::kF64 : DType::kF32);
  const auto a_channel = [&](Tensor v) {
    v = cast(v, apart.dtype());
    return v.elements() == channels ? reshape(v, {groups, each})
                                    : broadcast(reshape(v, {groups}), Shape({groups, each}), {0});
  };
  const Normalized y = layer_norm(apart, a_channel(gamma), a_channel(beta), {1, 3}, c.real("epsilon", 1e-5));
  c.give_last(cast(reshape(y.y, t.shape()), t.dtype()));
}

// x over a power of the sum of squares of the channels around.
void lrn(Call& c) {
  const Value x = c.value(0);
  const int64_t size = c.integer("size", 1);
  const double alpha = c.real("alpha", 1e-4), beta = c.real("beta", 0.75), bias = c.real("bias", 1);
  const Tensor t = x.last(), squares = square(t);
  if (t.rank() < 2) fail("an input ", t.type().str(), ", expected channels");
  if (size < 1 || size > 4096) fail("a size of ", size, ", expected 1 to 4096");
  const auto end = static_cast<size_t>(t.rank() - 1);
  Ints low(static_cast<size_t>(t.rank()), 0), high = low;
  low[end] = (size - 1) / 2, high[end] = size - 1 - low[end];
  const Tensor wide = pad(squares, low, high, {}, 0);
  Tensor sum;
  for (int64_t i = 0; i < size; ++i) {
    const Tensor at = part(wide, t.rank() - 1, i, i + t.dim(-1));
    sum = sum ? add(sum, at) : at;
  }
  const Tensor base = sum * (alpha / static_cast<double>(size)) + bias;
  c.give_last(div(t, pow(base, scalar_like(base, beta))));
}

void mean_variance(Call& c) {
  const Tensor x = c.in(0);
  Ints axes = c.ints("axes", {0, 2, 3});
  for (int64_t& a : axes) a = c.axis(a, x.rank());
  const Tensor centred = x - reduce_mean(x, axes, true);
  c.give(centred / (sqrt(reduce_mean(square(centred), axes, true)) + 1e-9));
}

constexpr Rule kRules[] = {
    {"BatchNormalization", batch_norm_rule},  {"GroupNormalization", group_norm},
    {"InstanceNormalization", instance_norm}, {"LRN", lrn},
    {"LayerNormalization", layer_norm_rule},  {"MeanVarianceNormalization", mean_variance},
    {"RMSNormalization", rms_norm},           {"SimplifiedLayerNormalization", rms_norm},
};

}  // namespace
}  // namespace normalization_ops

Rules normalization_rules() { return normalization_ops::kRules; }

}  // namespace tenon::onnx
