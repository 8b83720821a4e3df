// Metrics with Keras's names, defaults and formulas, as functions and as objects.
//
// A metric is some sums of each batch that are added up over the evaluation, and a function of the added sums. What is
// true comes first. sample_weight, when given, has a number a sample, or for each value, and multiplies the sums; rows
// with weight 0 (the padding of a partial batch) do not count. Labels [B, 1] are labels [B]. Where nothing was counted
// the result is 0. Mistakes throw tenon::Error naming the metric and both types.
//
//   spec.eval_metrics = {{"accuracy", accuracy(labels, argmax(logits))}, {"auc", AUC()(labels, probabilities)}};
//   model.compile({.metrics = {"accuracy", AUC({.curve = "PR"}), MeanAbsoluteError()}});
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/losses.h"
#include "tenon/ops.h"

namespace tenon {

// What one batch adds to a metric, and what becomes of the sums over all batches and replicas.
struct MetricOp {
  using Sums = std::vector<std::vector<double>>;  // of each of `sums`, dense and row-major
  using Result = std::function<double(const Sums& added)>;
  using Several = std::function<std::vector<double>(const Sums& added)>;

  MetricOp() = default;
  MetricOp(Tensor total, Tensor count) : sums{total, count} {}
  MetricOp(Tensors parts, Result of) : sums(std::move(parts)), result(std::move(of)) {}

  Tensors sums;   // f32 of any shape
  Result result;  // none: sums[0] / sums[1], and 0 when nothing was counted
  Several
      several;  // where the metric is several numbers, one a class or a threshold; result is none then, and their mean

  double value(const Sums& added) const;
  std::vector<double> values(const Sums& added) const;
};

// What a metric of a total and a count is of this batch alone, f32[]: for EstimatorSpec::training_tensors. 0 where
// nothing is counted. Throws Error of another metric.
Tensor batch_value(const MetricOp& metric);
MetricOp mean(Tensor values, Tensor sample_weight = {});
MetricOp sum(Tensor values, Tensor sample_weight = {});
// Shares of predictions[B..] equal to labels[B..].
MetricOp accuracy(Tensor labels, Tensor predictions, Tensor sample_weight = {});
// labels[B..] (integer) against the highest of scores[B.., V].
MetricOp sparse_categorical_accuracy(Tensor labels, Tensor scores, Tensor sample_weight = {});
MetricOp categorical_accuracy(Tensor one_hot_labels, Tensor scores, Tensor sample_weight = {});
// A prediction above the threshold says 1.
MetricOp binary_accuracy(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
// Right ones among the predictions above the threshold, and among the labels that are not 0.
MetricOp precision(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
MetricOp recall(Tensor labels, Tensor predictions, double threshold = 0.5, Tensor sample_weight = {});
// A label whose score is among the k highest; ties are hits, labels out of range and NaN are none.
MetricOp sparse_top_k_categorical_accuracy(Tensor labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});
MetricOp top_k_categorical_accuracy(Tensor one_hot_labels, Tensor scores, int64_t k = 5, Tensor sample_weight = {});

// A metric as a value: what is measured. Copies are the same.
class Metric {
 public:
  using Function = std::function<MetricOp(Tensor y_true, Tensor y_pred, Tensor sample_weight)>;

  Metric() = default;  // none
  // By Keras's names: "mse", "AUC", .. and those of losses; it is called what it was made by. "accuracy" ("acc") and
  // "crossentropy" ("ce") are binary where the last dimension of y_pred is 1 (or y_pred has one only), sparse where
  // y_true has fewer dimensions or a last one of 1, else categorical. Throws Error naming the nearest.
  Metric(const char* name) : Metric(std::string(name)) {}  // NOLINT: implicit by design
  Metric(const std::string& name);                         // NOLINT: implicit by design
  // The mean of the losses of the samples; of CosineSimilarity the mean cosine, not its negative.
  Metric(const Loss& loss);                                    // NOLINT: implicit by design
  Metric(Loss::Function function) : Metric(Loss(function)) {}  // NOLINT: implicit by design
  // One of one's own.
  Metric(std::string name, Function function);

  MetricOp operator()(Tensor y_true, Tensor y_pred, Tensor sample_weight = {}) const;
  const std::string& name() const;
  explicit operator bool() const { return impl_ != nullptr; }

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
};

// The mean of what a function of one's own gives for each sample.
Metric MeanMetricWrapper(std::function<Tensor(Tensor y_true, Tensor y_pred)> values, std::string name);

// ---- Keras's classes; what is a loss too (MeanSquaredError, Hinge, ..) is in losses.h ----
Metric Accuracy(const std::string& name = "accuracy");
Metric CategoricalAccuracy(const std::string& name = "categorical_accuracy");
Metric SparseCategoricalAccuracy(const std::string& name = "sparse_categorical_accuracy");
struct BinaryAccuracyOptions {
  double threshold = 0.5;
  std::string name = "binary_accuracy";
};
Metric BinaryAccuracy(const BinaryAccuracyOptions& options = {});
struct TopKOptions {
  int64_t k = 5;
  std::string name = {};
};
Metric TopKCategoricalAccuracy(const TopKOptions& options = {});
Metric SparseTopKCategoricalAccuracy(const TopKOptions& options = {});

Metric RootMeanSquaredError(const std::string& name = "root_mean_squared_error");
Metric LogCoshError(const std::string& name = "logcosh");
// The correlation over the values of each sample; not a number where they are all the same.
Metric PearsonCorrelation(const std::string& name = "pearson_correlation");
Metric ConcordanceCorrelation(const std::string& name = "concordance_correlation");
struct R2ScoreOptions {
  // "uniform_average", "variance_weighted_average", or "": a number for each output
  std::string class_aggregation = "uniform_average";
  std::string name = "r2_score";
};
Metric R2Score(const R2ScoreOptions& options = {});

// Counts, and shares of them, of predictions above each of the thresholds; none: 0.5.
struct CountOptions {
  std::vector<double> thresholds = {};
  std::string name = {};
};
Metric TruePositives(const CountOptions& options = {});
Metric FalsePositives(const CountOptions& options = {});
Metric TrueNegatives(const CountOptions& options = {});
Metric FalseNegatives(const CountOptions& options = {});
struct PrecisionOptions {
  std::vector<double> thresholds = {};
  std::optional<int64_t> top_k = {};     // only the k highest classes of each sample say 1
  std::optional<int64_t> class_id = {};  // of this class alone
  std::string name = {};
};
Metric Precision(const PrecisionOptions& options = {});
Metric Recall(const PrecisionOptions& options = {});
// The best of one that a threshold reaches where the other is at least so much.
struct AtOptions {
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
};
Metric PrecisionAtRecall(double recall, const AtOptions& options = {});
Metric RecallAtPrecision(double precision, const AtOptions& options = {});
Metric SensitivityAtSpecificity(double specificity, const AtOptions& options = {});
Metric SpecificityAtSensitivity(double sensitivity, const AtOptions& options = {});
// The area under the curve through the points of all thresholds.
struct AUCOptions {
  int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // or "PR"
  std::string summation_method = "interpolation";  // or "minoring", "majoring"
  std::string name = "auc";
  std::vector<double> thresholds = {};     // in place of equal distances; -1e-7 and 1 + 1e-7 are added
  bool multi_label = false;                // the mean of the areas of each label; else all labels are one
  std::vector<double> label_weights = {};  // of that mean
  bool from_logits = false;
};
Metric AUC(const AUCOptions& options = {});

struct FBetaOptions {
  std::string average = {};  // "": a number a class; "micro", "macro", "weighted"
  double beta = 1;
  std::optional<double> threshold = {};  // none: the highest class of each sample
  std::string name = "fbeta_score";
};
Metric FBetaScore(const FBetaOptions& options = {});
struct F1Options {
  std::string average = {};
  std::optional<double> threshold = {};
  std::string name = "f1_score";
};
Metric F1Score(const F1Options& options = {});

// Intersection over union of classes; those that neither labels nor predictions have are left out.
struct IoUOptions {
  int64_t num_classes = 0;
  std::vector<int64_t> target_class_ids = {};  // IoU; MeanIoU: all
  std::string name = {};
  std::optional<int64_t> ignore_class = {};
  bool sparse_y_true = true, sparse_y_pred = true;  // class numbers; else scores, of which the highest counts
};
Metric IoU(const IoUOptions& options);
Metric MeanIoU(const IoUOptions& options);
Metric OneHotIoU(const IoUOptions& options);  // y_true one-hot, y_pred scores
Metric OneHotMeanIoU(const IoUOptions& options);
struct BinaryIoUOptions {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // a prediction of that or more says 1
  std::string name = "binary_io_u";
};
Metric BinaryIoU(const BinaryIoUOptions& options = {});

}  // namespace tenon
