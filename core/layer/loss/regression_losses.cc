// Losses of two tensors of one shape: errors, divergences, hinges.
#include "base/number.h"
#include "layer/loss/loss_parts.h"
#include "op/bounded.h"
#include "op/replicas.h"
#include "op/rules.h"

namespace tenon {
namespace losses {

Tensor sample_mean(Tensor values) { return values.rank() <= 1 ? values : reduce_mean(values, {-1}); }

namespace {

// Losses, and gradients, are means over the units: of this the mean is the sum over the whole batch.
Tensor sum_of_all_parts(Tensor sum) {
  const int replicas = sum.graph()->replicas;
  return replicas > 1 ? sum * replicas : sum;
}

}  // namespace

Tensor reduced(const char* loss, Tensor per_sample, const LossOptions& o, Tensor counted) {
  if (per_sample.dtype() != DType::kF64) per_sample = cast(per_sample, DType::kF32);
  const DType dtype = per_sample.dtype();
  Tensor weights;
  if (o.sample_weight) weights = cast(sample_weights(loss, o.sample_weight, per_sample), dtype);
  if (weights) per_sample = per_sample * weights;
  if (o.reduction == Reduction::kNone) return cast(per_sample, DType::kF32);
  const Tensor sum = reduce_sum(per_sample);
  if (o.reduction == Reduction::kSum) return cast(sum_of_all_parts(sum), DType::kF32);
  if (counted) counted = cast(counted, dtype);
  Tensor divisor;
  if (o.reduction == Reduction::kSumByNonzeroWeights && weights)
    weights = cast(compare(weights, scalar_like(weights, 0), CompareKind::kNe), dtype);
  if (weights && (o.reduction == Reduction::kMeanWithSampleWeight || o.reduction == Reduction::kSumByNonzeroWeights))
    divisor = reduce_sum(counted ? weights * counted : weights);
  else if (counted)
    divisor = reduce_sum(counted);
  if (!divisor) return cast(sum * inverse_count(per_sample, leading_axes(per_sample.rank() + 1), sum), DType::kF32);
  divisor = mean_over_replicas(divisor);  // what counts in the whole batch, not in this part
  const Tensor zero = scalar_like(divisor, 0), some = compare(divisor, zero, CompareKind::kNe);
  return cast(select(some, div(sum, select(some, divisor, scalar_like(divisor, 1))), zero), DType::kF32);
}

Tensor axis_last(const char* loss, Tensor x, int64_t axis) {
  if (!x || axis == -1 || axis == x.rank() - 1) return x;
  if (axis < -x.rank() || axis >= x.rank()) fail(loss, ": axis is ", axis, ", expected one of ", x.type().str());
  Ints order;
  const int64_t last = axis < 0 ? axis + x.rank() : axis;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (a != last) order.push_back(a);
  order.push_back(last);
  return transpose(x, order);
}

Pair one_rank(Tensor y, Tensor p) {
  if (!y || !p) return {y, p};
  Tensor& longer = y.rank() > p.rank() ? y : p;
  Tensor& shorter = y.rank() > p.rank() ? p : y;
  if (longer.rank() != shorter.rank() + 1 || longer.dim(-1) != 1 || longer.elements() != shorter.elements())
    return {y, p};
  if (shorter.rank() == 1)
    shorter = reshape(shorter, longer.shape());
  else
    longer = same_rank(longer, shorter);
  return {y, p};
}

Pair matched(const char* loss, Tensor y_true, Tensor y_pred) {
  if (!y_true || !y_pred) fail(loss, ": prediction or target was never set");
  if (!is_float(y_pred.dtype()) || y_pred.elements() < 1)
    fail(loss, ": prediction is ", y_pred.type().str(), ", expected a float");
  const Pair m = one_rank(y_true, y_pred);
  if (!(m.y.shape() == m.p.shape()))
    fail(loss, ": prediction is ", y_pred.type().str(), ", target ", y_true.type().str(), ", expected one shape");
  return {cast(m.y, m.p.dtype()), m.p};
}

void expect_smoothing(const char* loss, const LossOptions& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail(loss, ": label_smoothing is ", o.label_smoothing, ", expected 0 to 1");
}

void expect_plain(const char* loss, const LossOptions& o) {
  if (o.from_logits) fail(loss, ": from_logits is for cross entropies");
  if (o.label_smoothing != 0) fail(loss, ": label_smoothing is ", o.label_smoothing, ", expected none");
  if (o.ignore_class) fail(loss, ": ignore_class is for cross entropies with integer labels");
  if (o.axis != -1) fail(loss, ": axis is for cross entropies and cosine_similarity");
}

namespace {

// formula(prediction, target), each of the prediction's type.
using Formula = Tensor (*)(Tensor prediction, Tensor target);

Tensor elementwise(const char* loss, Tensor y_true, Tensor y_pred, const LossOptions& o, Formula formula) {
  expect_plain(loss, o);
  const auto [y, p] = matched(loss, y_true, y_pred);
  return reduced(loss, sample_mean(formula(p, y)), o);
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

Tensor mean_squared_error(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("mean_squared_error", y_true, y_pred, o, [](Tensor p, Tensor y) { return square(p - y); });
}

Tensor mean_absolute_error(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("mean_absolute_error", y_true, y_pred, o, [](Tensor p, Tensor y) { return abs(p - y); });
}

Tensor mean_absolute_percentage_error(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("mean_absolute_percentage_error", y_true, y_pred, o,
                     [](Tensor p, Tensor y) { return abs(y - p) / above(abs(y), kEpsilon) * 100.0; });
}

Tensor mean_squared_logarithmic_error(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("mean_squared_logarithmic_error", y_true, y_pred, o, [](Tensor p, Tensor y) {
    return square(log(above(p, kEpsilon) + 1.0) - log(above(y, kEpsilon) + 1.0));
  });
}

Tensor huber(Tensor y_true, Tensor y_pred, const HuberOptions& options) {
  const double delta = options.delta;
  if (delta <= 0) fail("huber: delta is ", delta, ", expected more than 0");
  expect_number("huber: delta", delta);
  const auto [y, p] = matched("huber", y_true, y_pred);
  const Tensor e = abs(p - y);
  const Tensor near = compare(e, scalar_like(e, delta), CompareKind::kLe);
  const Tensor values = select(near, square(e) * 0.5, e * delta - 0.5 * delta * delta);
  return reduced("huber", sample_mean(values), common(options));
}

Tensor log_cosh(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("log_cosh", y_true, y_pred, o, [](Tensor p, Tensor y) {
    const Tensor e = abs(p - y);  // |e| + log((1 + exp(-2 |e|)) / 2)
    return e + log1p(exp(e * -2.0)) - 0.69314718055994530942;
  });
}

Tensor poisson(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("poisson", y_true, y_pred, o, [](Tensor p, Tensor y) { return p - y * log(p + kEpsilon); });
}

Tensor kl_divergence(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  expect_plain("kl_divergence", o);
  const Pair m = matched("kl_divergence", y_true, y_pred);
  const Tensor y = clamp(m.y, kEpsilon, 1);
  const Tensor p = clamp(m.p, kEpsilon, 1);
  return reduced("kl_divergence", reduce_sum(y * log(y / p), {-1}), o);
}

Tensor cosine_similarity(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  constexpr const char* kName = "cosine_similarity";
  LossOptions plain = o;
  plain.axis = -1;
  expect_plain(kName, plain);
  const Pair m = matched(kName, y_true, y_pred);
  const Tensor y = axis_last(kName, m.y, o.axis), p = axis_last(kName, m.p, o.axis);
  return reduced(kName, -reduce_sum(unit(p) * unit(y), {-1}), o);
}

Tensor hinge(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("hinge", y_true, y_pred, o,
                     [](Tensor p, Tensor y) { return above(1.0 - hinge_labels(y) * p, 0); });
}

Tensor squared_hinge(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  return elementwise("squared_hinge", y_true, y_pred, o,
                     [](Tensor p, Tensor y) { return square(above(1.0 - hinge_labels(y) * p, 0)); });
}

Tensor categorical_hinge(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  expect_plain("categorical_hinge", o);
  const auto [y, p] = matched("categorical_hinge", y_true, y_pred);
  const Tensor right = reduce_sum(y * p, {-1}), wrong = reduce_max((1.0 - y) * p, {-1});
  return reduced("categorical_hinge", above(wrong - right + 1.0, 0), o);
}

namespace {

// The sums are of integers up to the size of the masks: not in 16 bits.
Pair masks(const char* loss, Tensor y_true, Tensor y_pred) {
  const auto [y, p] = matched(loss, y_true, y_pred);
  const DType dtype = p.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return {cast(y, dtype), cast(p, dtype)};
}

}  // namespace

Tensor dice(Tensor y_true, Tensor y_pred, const OverlapOptions& o) {
  if (o.alpha != 0.5 || o.beta != 0.5) fail("dice: alpha and beta are tversky's");
  const auto [y, p] = masks("dice", y_true, y_pred);
  const Tensor both = reduce_sum(y * p, o.axis), all = reduce_sum(y, o.axis) + reduce_sum(p, o.axis);
  return reduced("dice", 1.0 - both * 2.0 / (all + kEpsilon), common(o));
}

Tensor tversky(Tensor y_true, Tensor y_pred, const OverlapOptions& o) {
  expect_number("tversky: alpha", o.alpha, 0);
  expect_number("tversky: beta", o.beta, 0);
  const auto [y, p] = masks("tversky", y_true, y_pred);
  const Tensor both = reduce_sum(y * p, o.axis), invented = reduce_sum((1.0 - y) * p, o.axis),
               missed = reduce_sum(y * (1.0 - p), o.axis);
  const Tensor index = (both + kEpsilon) / (both + invented * o.alpha + missed * o.beta + kEpsilon);
  return reduced("tversky", 1.0 - index, common(o));
}

}  // namespace tenon
