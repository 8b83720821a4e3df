// Metrics of classes: F scores, intersections over unions.
#include <numeric>

#include "layer/metric/metric_parts.h"

namespace tenon {
namespace {

using namespace metrics;
using losses::kEpsilon;

// Sums over the batch for each class: TP, FP, FN, labels.
Tensors score_sums(Tensor labels, Tensor predictions, Tensor w, const std::optional<double>& threshold) {
  const losses::Pair m = same_shape("fbeta_score", labels, predictions);
  if (m.p.rank() != 2) fail("fbeta_score: predictions are ", predictions.type().str(), ", expected [batch, classes]");
  const Tensor y = cast(m.y, DType::kF32), p = cast(m.p, DType::kF32);
  const Tensor limit = threshold ? full_like(p, *threshold) : broadcast_to(reduce_max(p, {-1}, true), p.shape());
  Tensor hit = cast(compare(p, limit, threshold ? CompareKind::kGt : CompareKind::kGe), DType::kF32);
  if (!threshold) hit = hit * cast(compare(abs(p), full_like(p, 1e-9), CompareKind::kGt), DType::kF32);
  const Tensor each = w ? sample_weights("fbeta_score", w, p) : full_like(p, 1);
  Tensors out;
  for (const Tensor& x : {hit * y, hit * (1.0 - y), (1.0 - hit) * y, y}) out.push_back(reduce_sum(x * each, {0}));
  return out;
}

double f_beta(double tp, double fp, double fn, double beta) {
  const double precision = tp / (tp + fp + kEpsilon), recall = tp / (tp + fn + kEpsilon);
  return precision * recall * (1 + beta * beta) / (beta * beta * precision + recall + kEpsilon);
}

std::vector<double> f_scores(const MetricOp::Sums& s, double beta) {
  std::vector<double> out;
  for (size_t i = 0; i < s[0].size(); ++i) out.push_back(f_beta(s[0][i], s[1][i], s[2][i], beta));
  return out;
}

double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double averaged_f_score(const MetricOp::Sums& s, const FBetaOptions& o) {
  if (o.average == "micro") return f_beta(total(s[0]), total(s[1]), total(s[2]), o.beta);
  const std::vector<double> scores = f_scores(s, o.beta);
  if (o.average != "weighted") return ratio(total(scores), static_cast<double>(scores.size()));
  return std::inner_product(scores.begin(), scores.end(), s[3].begin(), 0.0) / (total(s[3]) + kEpsilon);
}

// Class numbers [N].
Tensor class_numbers(Tensor x, bool sparse) {
  const Tensor numbers = sparse ? cast(x, DType::kI32) : cast(argmax(x), DType::kI32);
  return reshape(numbers, {numbers.elements()});
}

// How often each label [C] met each prediction [C].
Tensor confusion(const char* metric, Tensor y, Tensor p, Tensor w, const IoUOptions& o) {
  if (!y || !p) fail(metric, ": labels or predictions were never set");
  for (const auto& [x, sparse] : {std::pair(y, o.sparse_y_true), std::pair(p, o.sparse_y_pred)})
    if (!sparse && (x.rank() < 1 || x.dim(-1) != o.num_classes))
      fail(metric, ": expected scores of ", o.num_classes, " classes, found ", x.type().str());
  const Tensor labels = class_numbers(y, o.sparse_y_true), predictions = class_numbers(p, o.sparse_y_pred);
  if (!(labels.shape() == predictions.shape()))
    fail(metric, ": labels are ", y.type().str(), ", predictions ", p.type().str(), ", expected one class for each");
  Tensor rows = one_hot(labels, o.num_classes);
  const Shape values = o.sparse_y_true ? y.shape() : argmax(y).shape();
  if (w) {
    const Tensor all = full(*y.graph(), DType::kF32, values, 1);
    rows = rows * reshape(sample_weights(metric, w, all), {labels.elements(), 1});
  }
  if (o.ignore_class) {
    const Tensor ignored = scalar_like(labels, static_cast<double>(*o.ignore_class));
    const Tensor some = cast(compare(labels, ignored, CompareKind::kNe), DType::kF32);
    rows = rows * reshape(some, {labels.elements(), 1});
  }
  return dot(rows, one_hot(predictions, o.num_classes), {.ta = true, .precision = MathPrecision::kHighest});
}

double mean_iou(const std::vector<double>& matrix, const std::vector<int64_t>& classes, int64_t n) {
  const auto at = [&](int64_t row, int64_t column) { return matrix[static_cast<size_t>(row * n + column)]; };
  double sum = 0, valid = 0;
  for (const int64_t c : classes) {
    double either = -at(c, c);
    for (int64_t i = 0; i < n; ++i) either += at(c, i) + at(i, c);
    if (either > 0) sum += at(c, c) / (either + kEpsilon), valid += 1;
  }
  return ratio(sum, valid);
}

// The sums are a matrix of all classes by all.
void expect_classes(const char* name, const IoUOptions& o) {
  expect_number(cat(name, ": num_classes"), static_cast<double>(o.num_classes), 1, 1 << 14);
}

Metric intersections(const char* name, IoUOptions o) {
  expect_classes(name, o);
  if (o.target_class_ids.empty()) fail(name, ": there are no target_class_ids, expected 1 or more");
  for (const int64_t c : o.target_class_ids)
    if (c < 0 || c >= o.num_classes) fail(name, ": target class is ", c, ", expected 0 to ", o.num_classes - 1);
  const std::string own = o.name.empty() ? name : o.name;
  return {own, [=](Tensor y, Tensor p, Tensor w) {
            return MetricOp({confusion(name, y, p, w, o)},
                            [=](const MetricOp::Sums& s) { return mean_iou(s[0], o.target_class_ids, o.num_classes); });
          }};
}

IoUOptions of_all_classes(const char* name, IoUOptions o) {
  if (!o.target_class_ids.empty()) fail(name, ": target_class_ids are for IoU");
  expect_classes(name, o);
  o.target_class_ids.resize(static_cast<size_t>(o.num_classes));
  std::iota(o.target_class_ids.begin(), o.target_class_ids.end(), 0);
  return o;
}

IoUOptions of_one_hot(IoUOptions o) {
  o.sparse_y_true = o.sparse_y_pred = false;
  return o;
}

}  // namespace

Metric FBetaScore(const FBetaOptions& o) {
  expect_choice("fbeta_score: average", o.average, {"", "micro", "macro", "weighted"});
  expect_number("fbeta_score: beta", o.beta);
  if (!(o.beta > 0)) fail("fbeta_score: beta is ", o.beta, ", expected more than 0");
  if (o.threshold) expect_number("fbeta_score: threshold", *o.threshold, 0, 1);
  if (o.threshold && !(*o.threshold > 0)) fail("fbeta_score: threshold is 0, expected more, to 1");
  return {o.name, [o](Tensor y, Tensor p, Tensor w) {
            MetricOp op;
            op.sums = score_sums(y, p, w, o.threshold);
            if (o.average.empty())
              op.several = [o](const MetricOp::Sums& s) { return f_scores(s, o.beta); };
            else
              op.result = [o](const MetricOp::Sums& s) { return averaged_f_score(s, o); };
            return op;
          }};
}

Metric F1Score(const F1Options& o) {
  FBetaOptions f;
  f.average = o.average;
  f.threshold = o.threshold;
  f.name = o.name;
  return FBetaScore(f);
}

Metric IoU(const IoUOptions& o) { return intersections("io_u", o); }
Metric MeanIoU(const IoUOptions& o) { return intersections("mean_io_u", of_all_classes("mean_io_u", o)); }
Metric OneHotIoU(const IoUOptions& o) { return intersections("one_hot_io_u", of_one_hot(o)); }
Metric OneHotMeanIoU(const IoUOptions& o) {
  return intersections("one_hot_mean_io_u", of_one_hot(of_all_classes("one_hot_mean_io_u", o)));
}
Metric BinaryIoU(const BinaryIoUOptions& o) {
  expect_number("binary_io_u: threshold", o.threshold, 0, 1);
  const IoUOptions options{.num_classes = 2, .target_class_ids = o.target_class_ids, .name = o.name};
  const Metric of = intersections("binary_io_u", options);
  return {o.name, [=](Tensor y, Tensor p, Tensor w) {
            if (!p) fail("binary_io_u: predictions were never set");
            return of(y, cast(compare(p, scalar_like(p, o.threshold), CompareKind::kGe), DType::kI32), w);
          }};
}

}  // namespace tenon
