// Metrics of predictions above thresholds: counts, precision, recall, one at the other, areas under curves.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "layer/metric/metric_parts.h"
#include "layer/metric/threshold_metrics.h"

namespace tenon {
namespace {

using namespace metrics;

constexpr double kOut = -1e10;  // the score of a class that is not among the highest, as Keras has it

struct Scored {
  Tensor positive, negative;  // weights of the values whose label is 1, is 0
  Tensor score;
};

Tensor only_top_k(const char* metric, Tensor p, int64_t k) {
  if (p.rank() < 1 || k < 1 || k > p.dim(-1))
    fail(metric, ": top_k is ", k, ", expected 1 to the number of classes of ", p.type().str());
  const Tensor chosen = reduce_max(one_hot(top_k(p, k).indices, p.dim(-1)), {-2});
  return select(compare(chosen, scalar_like(chosen, 0), CompareKind::kNe), p, full_like(p, kOut));
}

Tensor of_class(const char* metric, Tensor x, int64_t id) {
  if (x.rank() < 1 || id < 0 || id >= x.dim(-1))
    fail(metric, ": class_id is ", id, ", expected 0 to less than the number of classes of ", x.type().str());
  Ints start(static_cast<size_t>(x.rank()), 0), limit = x.shape().vec();
  const Ints stride(start.size(), 1);
  start.back() = id, limit.back() = id + 1;
  return slice(x, start, limit, stride);
}

Scored scored(const char* metric, Tensor labels, Tensor predictions, Tensor weight, std::optional<int64_t> top,
              std::optional<int64_t> class_id) {
  const losses::Pair m = same_shape(metric, labels, predictions);
  Tensor p = cast(m.p, DType::kF32), y = cast(compare(m.y, scalar_like(m.y, 0), CompareKind::kNe), DType::kF32);
  Tensor w = weight ? sample_weights(metric, weight, p) : full_like(p, 1);
  if (top) p = only_top_k(metric, p, *top);
  if (class_id)
    p = of_class(metric, p, *class_id), y = of_class(metric, y, *class_id), w = of_class(metric, w, *class_id);
  return {y * w, (1.0 - y) * w, p};
}

Scored flat(const Scored& s) {
  const Shape shape{s.score.elements()};
  return {reshape(s.positive, shape), reshape(s.negative, shape), reshape(s.score, shape)};
}

constexpr int64_t kMostThresholds = 1 << 20;

// Sums of values [N..] over N where the score is above each of T thresholds, [T..], and over all.
// TP, FP, positives, negatives.
Tensors threshold_sums(const Scored& s, const std::vector<double>& thresholds) {
  std::vector<float> values(thresholds.begin(), thresholds.end());
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const auto count = static_cast<int64_t>(values.size());
  std::vector<int64_t> dims = s.score.shape().vec(), column(dims.size() + 1, 1);
  column[0] = count;
  dims.insert(dims.begin(), count);
  const Shape all(dims);
  Graph& graph = *s.score.graph();
  const Tensor limit = reshape(constant(graph, {DType::kF32, {count}}, bytes), Shape(column));
  const Tensor above =
      cast(compare(broadcast_to(s.score, all), broadcast_to(limit, all), CompareKind::kGt), DType::kF32);
  return {reduce_sum(above * s.positive, {1}), reduce_sum(above * s.negative, {1}), reduce_sum(s.positive, {0}),
          reduce_sum(s.negative, {0})};
}

using OfCounts = double (*)(const Counts&);

MetricOp::Several each_threshold(OfCounts of) {
  return [of](const MetricOp::Sums& s) {
    std::vector<double> out;
    for (const Counts& c : counts_of(s, 0)) out.push_back(of(c));
    return out;
  };
}

void expect_thresholds(const char* metric, const std::vector<double>& thresholds) {
  for (const double t : thresholds) expect_number(cat(metric, ": a threshold"), t, 0, 1);
}

Metric of_counts(const char* name, const PrecisionOptions& o, OfCounts of) {
  expect_thresholds(name, o.thresholds);
  std::vector<double> thresholds = o.thresholds;
  if (thresholds.empty()) thresholds = {o.top_k ? kOut : 0.5};
  const std::string own = o.name.empty() ? name : o.name;
  return {own, [=](Tensor y, Tensor p, Tensor w) {
            MetricOp op;
            op.sums = threshold_sums(flat(scored(name, y, p, w, o.top_k, o.class_id)), thresholds);
            op.several = each_threshold(of);
            return op;
          }};
}

// The best `wanted` of the thresholds whose `held` is `least` or more.
Metric best_where(const char* name, double least, const AtOptions& o, OfCounts wanted, OfCounts held) {
  expect_number(cat(name, ": its argument"), least, 0, 1);
  expect_number(cat(name, ": num_thresholds"), static_cast<double>(o.num_thresholds), 1, kMostThresholds);
  const std::vector<double> thresholds =
      o.num_thresholds == 1 ? std::vector<double>{0.5} : even_thresholds(o.num_thresholds, 0);
  return {o.name.empty() ? name : o.name, [=](Tensor y, Tensor p, Tensor w) {
            return MetricOp(threshold_sums(flat(scored(name, y, p, w, {}, o.class_id)), thresholds),
                            [=](const MetricOp::Sums& s) {
                              double best = 0;
                              for (const Counts& c : counts_of(s, 0))
                                if (held(c) >= least) best = std::max(best, wanted(c));
                              return best;
                            });
          }};
}

double precision_of(const Counts& c) { return ratio(c.tp, c.tp + c.fp); }
double recall_of(const Counts& c) { return ratio(c.tp, c.tp + c.fn); }
double specificity_of(const Counts& c) { return ratio(c.tn, c.tn + c.fp); }

PrecisionOptions counting(const CountOptions& o) {
  PrecisionOptions out;
  out.thresholds = o.thresholds;
  out.name = o.name;
  return out;
}

}  // namespace

namespace metrics {

std::vector<Counts> counts_of(const MetricOp::Sums& s, size_t label) {
  const size_t labels = s[2].size();
  std::vector<Counts> out;
  for (size_t i = label; i < s[0].size(); i += labels) {
    const double tp = s[0][i], fp = s[1][i];
    out.push_back({tp, fp, s[3][label] - fp, s[2][label] - tp});
  }
  return out;
}

std::vector<double> even_thresholds(int64_t n, double beyond) {
  std::vector<double> out{-beyond};
  for (int64_t i = 1; i + 1 < n; ++i) out.push_back(static_cast<double>(i) / static_cast<double>(n - 1));
  out.push_back(1 + beyond);
  return out;
}

}  // namespace metrics

Metric TruePositives(const CountOptions& o) {
  return of_counts("true_positives", counting(o), [](const Counts& c) { return c.tp; });
}
Metric FalsePositives(const CountOptions& o) {
  return of_counts("false_positives", counting(o), [](const Counts& c) { return c.fp; });
}
Metric TrueNegatives(const CountOptions& o) {
  return of_counts("true_negatives", counting(o), [](const Counts& c) { return c.tn; });
}
Metric FalseNegatives(const CountOptions& o) {
  return of_counts("false_negatives", counting(o), [](const Counts& c) { return c.fn; });
}
Metric Precision(const PrecisionOptions& o) { return of_counts("precision", o, precision_of); }
Metric Recall(const PrecisionOptions& o) { return of_counts("recall", o, recall_of); }
Metric PrecisionAtRecall(double recall, const AtOptions& o) {
  return best_where("precision_at_recall", recall, o, precision_of, recall_of);
}
Metric RecallAtPrecision(double precision, const AtOptions& o) {
  return best_where("recall_at_precision", precision, o, recall_of, precision_of);
}
Metric SensitivityAtSpecificity(double specificity, const AtOptions& o) {
  return best_where("sensitivity_at_specificity", specificity, o, recall_of, specificity_of);
}
Metric SpecificityAtSensitivity(double sensitivity, const AtOptions& o) {
  return best_where("specificity_at_sensitivity", sensitivity, o, specificity_of, recall_of);
}

Metric AUC(const AUCOptions& o) {
  expect_choice("auc: curve", o.curve, {"ROC", "PR"});
  expect_choice("auc: summation_method", o.summation_method, {"interpolation", "minoring", "majoring"});
  expect_thresholds("auc", o.thresholds);
  expect_number("auc: num_thresholds", static_cast<double>(o.num_thresholds), 2, kMostThresholds);
  if (!o.label_weights.empty() && !o.multi_label) fail("auc: label_weights are for multi_label");
  for (const double w : o.label_weights) expect_number("auc: a label's weight", w, 0);
  std::vector<double> thresholds = even_thresholds(o.num_thresholds, losses::kEpsilon);
  if (!o.thresholds.empty()) {
    thresholds = o.thresholds;
    std::sort(thresholds.begin(), thresholds.end());
    thresholds.insert(thresholds.begin(), -losses::kEpsilon);
    thresholds.push_back(1 + losses::kEpsilon);
  }
  return {o.name, [=](Tensor y, Tensor p, Tensor w) {
            Scored s = scored("auc", y, p, w, {}, {});
            if (o.from_logits) s.score = activation(s.score, Activation::kSigmoid);
            if (!o.multi_label) s = flat(s);
            if (o.multi_label && s.score.rank() != 2)
              fail("auc: predictions are ", p.type().str(), ", expected [batch, labels] with multi_label");
            const size_t labels = o.multi_label ? static_cast<size_t>(s.score.dim(-1)) : 1;
            if (!o.label_weights.empty() && o.label_weights.size() != labels)
              fail("auc: there are ", o.label_weights.size(), " label_weights, expected ", labels);
            return MetricOp(threshold_sums(s, thresholds), [o](const MetricOp::Sums& sums) {
              double total = 0, weights = 0;
              for (size_t l = 0; l < sums[2].size(); ++l) {
                const double weight = o.label_weights.empty() ? 1 : o.label_weights[l];
                total += weight * area(counts_of(sums, l), o);
                weights += weight;
              }
              return ratio(total, weights);
            });
          }};
}

}  // namespace tenon
