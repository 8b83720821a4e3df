// Losses of two tensors of one shape: errors, divergences, hinges.
#include "base/number.h"
#include "layer/losses.h"
#include "op/replicas.h"

namespace tenon {
namespace losses {

Tensor sample_mean(Tensor values) { return values.rank() <= 1 ? values : reduce_mean(values, {-1}); }

Tensor reduced(const char* loss, Tensor per_sample, const LossOptions& o, Tensor counted) {
  if (per_sample.dtype() != DType::kF64) per_sample = cast(per_sample, DType::kF32);
  const DType dtype = per_sample.dtype();
  Tensor weights;
  if (o.sample_weight) weights = cast(sample_weights(loss, o.sample_weight, per_sample), dtype);
  if (weights) per_sample = per_sample * weights;
  if (o.reduction == Reduction::kNone) return cast(per_sample, DType::kF32);
  const Tensor sum = reduce_sum(per_sample);
  if (o.reduction == Reduction::kSum) return cast(sum, DType::kF32);
  if (counted) counted = cast(counted, dtype);
  Tensor divisor;
  if (o.reduction == Reduction::kMeanWithSampleWeight && weights)
    divisor = reduce_sum(counted ? weights * counted : weights);
  else if (counted)
    divisor = reduce_sum(counted);
  if (!divisor) return cast(sum * (1 / static_cast<double>(per_sample.elements())), DType::kF32);
  divisor = mean_over_replicas(divisor);  // what counts in the whole batch, not in this part
  const Tensor zero = scalar_like(divisor, 0), some = compare(divisor, zero, CompareKind::kNe);
  return cast(select(some, div(sum, select(some, divisor, scalar_like(divisor, 1))), zero), DType::kF32);
}

Tensor target_like(const char* loss, Tensor prediction, Tensor target) {
  if (!prediction || !target) fail(loss, ": prediction or target was never set");
  if (!is_float(prediction.dtype()) || prediction.elements() < 1)
    fail(loss, ": prediction is ", prediction.type().str(), ", expected a float");
  if (!(prediction.shape() == target.shape()))
    fail(loss, ": prediction is ", prediction.type().str(), ", target ", target.type().str(), ", expected one shape");
  return cast(target, prediction.dtype());
}

void expect_smoothing(const char* loss, const LossOptions& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail(loss, ": label_smoothing is ", o.label_smoothing, ", expected 0 to 1");
}

void expect_plain(const char* loss, const LossOptions& o) {
  if (o.label_smoothing != 0) fail(loss, ": label_smoothing is ", o.label_smoothing, ", expected none");
  if (o.ignore_class) fail(loss, ": ignore_class is for cross entropies with integer labels");
}

namespace {

// formula(prediction, target), each of the prediction's type.
using Formula = Tensor (*)(Tensor prediction, Tensor target);

Tensor elementwise(const char* loss, Tensor prediction, Tensor target, const LossOptions& o, Formula formula) {
  expect_plain(loss, o);
  target = target_like(loss, prediction, target);
  return reduced(loss, sample_mean(formula(prediction, target)), o);
}

Tensor above(Tensor x, double low) { return maximum(x, scalar_like(x, low)); }

// 2 y - 1 when every label is 0 or 1, else y.
Tensor hinge_labels(Tensor y) {
  const Tensor zero = compare(y, scalar_like(y, 0), CompareKind::kEq);
  const Tensor either = cast(maximum(zero, compare(y, scalar_like(y, 1), CompareKind::kEq)), y.dtype());
  return y + over_replicas(reduce_min(either), ReduceKind::kMin) * (y - 1.0);
}

Tensor unit(Tensor x) { return x / sqrt(above(reduce_sum(square(x), {-1}, true), kEpsilon * kEpsilon)); }

}  // namespace
}  // namespace losses

using namespace losses;

Tensor mean_squared_error(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("mean_squared_error", prediction, target, o, [](Tensor p, Tensor y) { return square(p - y); });
}

Tensor mean_absolute_error(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("mean_absolute_error", prediction, target, o, [](Tensor p, Tensor y) { return abs(p - y); });
}

Tensor mean_absolute_percentage_error(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("mean_absolute_percentage_error", prediction, target, o,
                     [](Tensor p, Tensor y) { return abs(y - p) / above(abs(y), kEpsilon) * 100.0; });
}

Tensor mean_squared_logarithmic_error(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("mean_squared_logarithmic_error", prediction, target, o, [](Tensor p, Tensor y) {
    return square(log(above(p, kEpsilon) + 1.0) - log(above(y, kEpsilon) + 1.0));
  });
}

Tensor huber(Tensor prediction, Tensor target, double delta, const LossOptions& o) {
  expect_plain("huber", o);
  if (delta <= 0) fail("huber: delta is ", delta, ", expected more than 0");
  expect_number("huber: delta", delta);
  const Tensor e = abs(prediction - target_like("huber", prediction, target));
  const Tensor near = compare(e, scalar_like(e, delta), CompareKind::kLe);
  return reduced("huber", sample_mean(select(near, square(e) * 0.5, e * delta - 0.5 * delta * delta)), o);
}

Tensor log_cosh(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("log_cosh", prediction, target, o, [](Tensor p, Tensor y) {
    const Tensor e = abs(p - y);  // |e| + log((1 + exp(-2 |e|)) / 2)
    return e + log1p(exp(e * -2.0)) - 0.69314718055994530942;
  });
}

Tensor poisson(Tensor prediction, Tensor target, const LossOptions& o) {
  return elementwise("poisson", prediction, target, o, [](Tensor p, Tensor y) { return p - y * log(p + kEpsilon); });
}

Tensor kl_divergence(Tensor prediction, Tensor target, const LossOptions& o) {
  expect_plain("kl_divergence", o);
  const Tensor y = clamp(target_like("kl_divergence", prediction, target), kEpsilon, 1);
  const Tensor p = clamp(prediction, kEpsilon, 1);
  return reduced("kl_divergence", reduce_sum(y * log(y / p), {-1}), o);
}

Tensor cosine_similarity(Tensor prediction, Tensor target, const LossOptions& o) {
  expect_plain("cosine_similarity", o);
  const Tensor y = target_like("cosine_similarity", prediction, target);
  return reduced("cosine_similarity", -reduce_sum(unit(prediction) * unit(y), {-1}), o);
}

Tensor hinge(Tensor prediction, Tensor labels, const LossOptions& o) {
  return elementwise("hinge", prediction, labels, o,
                     [](Tensor p, Tensor y) { return above(1.0 - hinge_labels(y) * p, 0); });
}

Tensor squared_hinge(Tensor prediction, Tensor labels, const LossOptions& o) {
  return elementwise("squared_hinge", prediction, labels, o,
                     [](Tensor p, Tensor y) { return square(above(1.0 - hinge_labels(y) * p, 0)); });
}

Tensor categorical_hinge(Tensor prediction, Tensor labels, const LossOptions& o) {
  expect_plain("categorical_hinge", o);
  const Tensor y = target_like("categorical_hinge", prediction, labels);
  const Tensor right = reduce_sum(y * prediction, {-1}), wrong = reduce_max((1.0 - y) * prediction, {-1});
  return reduced("categorical_hinge", above(wrong - right + 1.0, 0), o);
}

}  // namespace tenon
