#include "public_functions.h"
#include "tenon/metrics.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

// Calls the metric with labels and scores of four samples and three classes.
void measure(A& a, const Metric& metric) {
  auto labels = a.any({4, 3}, true);
  metric(labels, a.any({4, 3}, true));
}
std::vector<double> thresholds(A& a) { return {a.within(0.25, {-1, 2}), 0.5}; }
PrecisionOptions precision_options(A& a) {
  PrecisionOptions o;
  o.thresholds = thresholds(a);
  o.class_id = a.number(1, {-1, 3, kMost, kLeast});
  return o;
}
AtOptions at_options(A& a) {
  AtOptions o;
  o.num_thresholds = a.number(20, {0, -1, kLeast, kMost});
  o.class_id = a.number(1, {-1, 3, kMost});
  return o;
}
IoUOptions iou_options(A& a, bool sparse) {
  IoUOptions o;
  o.num_classes = a.number(3, {0, -1, kLeast, kMost});
  o.target_class_ids = a.list({0, 2}, {{3}, {-1}, {kMost}});
  o.sparse_y_true = o.sparse_y_pred = sparse;
  return o;
}

const std::vector<Function> kMetrics = {
    {"Metric by name", [](A& a) { measure(a, Metric(a.word("accuracy", "accurracy"))); }},
    {"Loss by name",
     [](A& a) {
       auto labels = a.any({4, 3}, true);
       Loss(a.word("mse", "msee"))(labels, a.floats({4, 3}, true));
     }},
    {"CategoricalAccuracy", [](A& a) { measure(a, CategoricalAccuracy()); }},
    {"BinaryAccuracy", [](A& a) { measure(a, BinaryAccuracy({.threshold = a.finite(0.5)})); }},
    {"TopKCategoricalAccuracy",
     [](A& a) {
       measure(a, TopKCategoricalAccuracy({.k = a.number(2, {0, -1, kLeast})}));
     }},
    {"RootMeanSquaredError", [](A& a) { measure(a, RootMeanSquaredError()); }},
    {"LogCoshError", [](A& a) { measure(a, LogCoshError()); }},
    {"PearsonCorrelation", [](A& a) { measure(a, PearsonCorrelation()); }},
    {"ConcordanceCorrelation", [](A& a) { measure(a, ConcordanceCorrelation()); }},
    {"R2Score", [](A& a) { measure(a, R2Score({.class_aggregation = a.word("uniform_average", "mean")})); }},
    {"TruePositives", [](A& a) { measure(a, TruePositives({.thresholds = thresholds(a)})); }},
    {"FalseNegatives", [](A& a) { measure(a, FalseNegatives({.thresholds = thresholds(a)})); }},
    {"Precision", [](A& a) { measure(a, Precision(precision_options(a))); }},
    {"Recall of the highest",
     [](A& a) {
       PrecisionOptions o;
       o.top_k = a.number(2, {0, -1, kLeast});
       measure(a, Recall(o));
     }},
    {"PrecisionAtRecall",
     [](A& a) {
       const double recall = a.within(0.5, {-0.5, 1.5});
       measure(a, PrecisionAtRecall(recall, at_options(a)));
     }},
    {"SensitivityAtSpecificity",
     [](A& a) {
       const double specificity = a.within(0.5, {-0.5, 1.5});
       measure(a, SensitivityAtSpecificity(specificity, at_options(a)));
     }},
    {"AUC",
     [](A& a) {
       AUCOptions o;
       o.num_thresholds = a.number(20, {1, 0, -1, kLeast, kMost});
       o.curve = a.word("PR", "RP");
       o.summation_method = a.word("majoring", "major");
       measure(a, AUC(o));
     }},
    {"AUC of labels",
     [](A& a) {
       AUCOptions o;
       o.multi_label = true;
       o.thresholds = thresholds(a);
       o.label_weights = {a.within(1, {-1}), 1, 1};
       measure(a, AUC(o));
     }},
    {"FBetaScore",
     [](A& a) {
       FBetaOptions o;
       o.average = a.word("macro", "mean");
       o.beta = a.positive(1);
       o.threshold = a.positive(0.5);
       measure(a, FBetaScore(o));
     }},
    {"F1Score", [](A& a) { measure(a, F1Score({.average = a.word("micro", "all")})); }},
    {"OneHotIoU", [](A& a) { measure(a, OneHotIoU(iou_options(a, false))); }},
    {"IoU",
     [](A& a) {
       const Metric iou = IoU(iou_options(a, true));
       auto labels = a.any({4}, true);
       iou(labels, a.any({4}, true));
     }},
    {"BinaryIoU",
     [](A& a) {
       BinaryIoUOptions o;
       o.target_class_ids = a.list({0, 1}, {{2}, {-1}, {}});
       o.threshold = a.within(0.5, {-1, 2});
       measure(a, BinaryIoU(o));
     }},
};

}  // namespace

const std::vector<Function>& metric_functions() { return kMetrics; }

}  // namespace tenon::public_arguments
