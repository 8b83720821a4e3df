#include "layer/metric/metric_parts.h"

#include <limits>
#include <numeric>

#include "op/bounded.h"

namespace tenon {
namespace metrics {

MetricOp weighted(const char* metric, Tensor values, Tensor weight) {
  if (!values) fail(metric, ": the values were never set");
  values = cast(values, DType::kF32);
  if (!weight) {
    return {reduce_sum(values), element_count(values)};
  }
  weight = sample_weights(metric, weight, values);
  // select: a NaN in the padding does not count
  const Tensor zero = scalar_like(weight, 0), some = compare(weight, zero, CompareKind::kNe);
  return {reduce_sum(select(some, values * weight, zero)), reduce_sum(weight)};
}

losses::Pair same_shape(const char* metric, Tensor labels, Tensor predictions) {
  if (!labels || !predictions) fail(metric, ": labels or predictions were never set");
  const losses::Pair m = losses::one_rank(labels, predictions);
  if (!(m.y.shape() == m.p.shape()))
    fail(metric, ": labels are ", labels.type().str(), ", predictions ", predictions.type().str(),
         ", expected one shape");
  return m;
}

void expect_choice(std::string_view what, const std::string& given, std::initializer_list<std::string_view> choices) {
  for (const std::string_view choice : choices)
    if (given == choice) return;
  std::vector<std::string> quoted;
  for (const std::string_view choice : choices) quoted.push_back(cat("'", choice, "'"));
  fail(what, " is '", given, "', expected one of ", join(quoted));
}

}  // namespace metrics

double MetricOp::value(const Sums& added) const {
  if (result) return result(added);
  if (!several) return metrics::ratio(added.at(0).at(0), added.at(1).at(0));
  const std::vector<double> all = several(added);
  return metrics::ratio(std::accumulate(all.begin(), all.end(), 0.0), static_cast<double>(all.size()));
}
std::vector<double> MetricOp::values(const Sums& added) const {
  return several ? several(added) : std::vector<double>{value(added)};
}

namespace {

using namespace metrics;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MetricOp equal(const char* metric, Tensor labels, Tensor predictions, Tensor weight) {
  const losses::Pair m = same_shape(metric, labels, predictions);
  const bool floats = is_float(labels.dtype()) || is_float(predictions.dtype());
  const DType common = labels.dtype() == predictions.dtype() ? labels.dtype() : floats ? DType::kF32 : DType::kI32;
  return weighted(metric, compare(cast(m.y, common), cast(m.p, common), CompareKind::kEq), weight);
}

// Scores [B.., V] without V.
Shape samples(const char* metric, Tensor scores) {
  if (!scores) fail(metric, ": the scores were never set");
  if (scores.rank() < 1) fail(metric, ": scores are ", scores.type().str(), ", expected [batch, .., classes]");
  return Shape(std::vector<int64_t>(scores.shape().begin(), scores.shape().end() - 1));
}

Tensor class_indices(const char* metric, Tensor labels, Tensor scores) {
  const Shape rows = samples(metric, scores);
  if (!labels) fail(metric, ": the labels were never set");
  if (labels.rank() == scores.rank() && labels.dim(-1) == 1) labels = reshape(labels, rows);
  if (!(labels.shape() == rows))
    fail(metric, ": labels are ", labels.type().str(), ", expected shape ", rows.str(), " for scores ",
         scores.type().str());
  return cast(labels, DType::kI32);
}

Tensor one_hot_indices(const char* metric, Tensor labels, Tensor scores) {
  samples(metric, scores);
  if (!labels || !(labels.shape() == scores.shape()))
    fail(metric, ": labels are ", labels ? labels.type().str() : "not set", ", expected shape ", scores.shape().str());
  return argmax(labels);
}

// Whether fewer than k scores are above the label's.
MetricOp in_top_k(const char* metric, Tensor label, Tensor scores, int64_t k, Tensor weight) {
  if (k < 1) fail(metric, ": k is ", k, ", expected 1 or more");
  const Tensor at_label = one_hot(label, scores.dim(-1), DType::kBool);
  const Tensor own = reduce_max(select(at_label, scores, scalar_like(scores, -kInfinity)), {-1});
  const Tensor above = compare(scores, broadcast_to(expand_dims(own, -1), scores.shape()), CompareKind::kGt);
  const Tensor rank = reduce_sum(cast(above, DType::kI32), {-1});
  const Tensor is_number = compare(own, own, CompareKind::kEq);
  const Tensor inside = reduce_max(at_label, {-1});
  const auto most = static_cast<double>(std::min<int64_t>(k, INT32_MAX));
  const Tensor high = compare(rank, scalar_like(rank, most), CompareKind::kLt);
  return weighted(metric, minimum(minimum(high, is_number), inside), weight);
}

struct Hits {
  Tensor label, prediction;  // 0 or 1
};

Hits binary(const char* metric, Tensor labels, Tensor predictions, double threshold) {
  expect_number(cat(metric, ": threshold"), threshold);
  const losses::Pair m = same_shape(metric, labels, predictions);
  const auto number = [](Tensor b) { return cast(b, DType::kF32); };
  return {number(compare(m.y, scalar_like(m.y, 0), CompareKind::kNe)),
          number(compare(m.p, scalar_like(m.p, threshold), CompareKind::kGt))};
}

// Which share of the values that are 1 in `base` is 1 in `values` too.
MetricOp share(const char* metric, Tensor values, Tensor base, Tensor weight) {
  if (weight) base = base * sample_weights(metric, weight, base);
  return {reduce_sum(values * base), reduce_sum(base)};
}

}  // namespace

Tensor batch_value(const MetricOp& metric) {
  if (metric.result || metric.several || metric.sums.size() != 2 || metric.sums[0].rank() > 0 ||
      metric.sums[1].rank() > 0)
    fail("batch_value: expected a metric of a total and a count, as a mean and an accuracy are");
  const Tensor total = metric.sums[0], count = metric.sums[1], none = scalar_like(count, 0);
  const Tensor some = compare(count, none, CompareKind::kNe);
  return select(some, total / select(some, count, scalar_like(count, 1)), none);
}

MetricOp mean(Tensor values, Tensor w) { return weighted("mean", values, w); }

MetricOp sum(Tensor values, Tensor w) {
  return {{weighted("sum", values, w).sums[0]}, [](const MetricOp::Sums& s) { return s[0][0]; }};
}

MetricOp accuracy(Tensor labels, Tensor predictions, Tensor w) { return equal("accuracy", labels, predictions, w); }

MetricOp sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor w) {
  constexpr const char* kName = "sparse_categorical_accuracy";
  const Tensor indices = class_indices(kName, labels, scores);
  return equal(kName, indices, argmax(scores), w);
}

MetricOp categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor w) {
  constexpr const char* kName = "categorical_accuracy";
  const Tensor indices = one_hot_indices(kName, one_hot_labels, scores);
  return equal(kName, indices, argmax(scores), w);
}

MetricOp binary_accuracy(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  expect_number("binary_accuracy: threshold", threshold);
  const losses::Pair m = same_shape("binary_accuracy", labels, predictions);
  const Tensor hit = compare(m.p, scalar_like(m.p, threshold), CompareKind::kGt);
  return equal("binary_accuracy", cast(m.y, DType::kF32), cast(hit, DType::kF32), w);
}

MetricOp precision(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  const Hits h = binary("precision", labels, predictions, threshold);
  return share("precision", h.label, h.prediction, w);
}

MetricOp recall(Tensor labels, Tensor predictions, double threshold, Tensor w) {
  const Hits h = binary("recall", labels, predictions, threshold);
  return share("recall", h.prediction, h.label, w);
}

MetricOp sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k, Tensor w) {
  constexpr const char* kName = "sparse_top_k_categorical_accuracy";
  return in_top_k(kName, class_indices(kName, labels, scores), scores, k, w);
}

MetricOp top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k, Tensor w) {
  constexpr const char* kName = "top_k_categorical_accuracy";
  return in_top_k(kName, one_hot_indices(kName, one_hot_labels, scores), scores, k, w);
}

}  // namespace tenon
