// The defaults of losses, metrics, activations and initializers.
#include "tenon/layer_classes.h"
#include "unit/train/signatures/signatures_testing.h"

namespace tenon::signatures {
namespace {

Default both(const Default& a, const Default& b) {
  return {a.ours + " and " + b.ours, [=](const std::string& golden) { return a.agrees(golden) && b.agrees(golden); }};
}

// "(0, 1)"
Default listed(const std::vector<int64_t>& values) {
  std::string out;
  for (const int64_t v : values) out += (out.empty() ? "(" : ", ") + std::to_string(v);
  out += ")";
  return {out, [out](const std::string& golden) { return golden == out; }};
}

Ours iou() {
  const IoUOptions o;
  return {TENON_NEEDED(o, num_classes), TENON_FIELD(o, ignore_class)};
}

void add_matrix_metrics(Table& t) {
  const IoUOptions o;
  const BinaryIoUOptions binary;
  const FBetaOptions beta;
  const F1Options f1;
  const Ours target{TENON_NEEDED(o, target_class_ids)}, labels{TENON_FIELD(o, sparse_y_true)};
  const Ours numbers{TENON_FIELD(o, sparse_y_pred)};
  t["IoU"] = iou() + target + labels + numbers;
  t["MeanIoU"] = iou() + labels + numbers;
  t["OneHotIoU"] = iou() + target;
  t["OneHotMeanIoU"] = iou();
  t["BinaryIoU"] = {{"target_class_ids", listed(binary.target_class_ids)}, TENON_FIELD(binary, threshold)};
  t["FBetaScore"] = {TENON_FIELD(beta, average), TENON_FIELD(beta, beta), TENON_FIELD(beta, threshold)};
  t["F1Score"] = {TENON_FIELD(f1, average), TENON_FIELD(f1, threshold)};
}

void add_threshold_metrics(Table& t) {
  const AUCOptions auc;
  const PrecisionOptions some;
  const AtOptions at;
  for (const char* name : {"TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"})
    t[name] = {TENON_FIELD(CountOptions(), thresholds)};
  for (const char* name :
       {"PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity"})
    t[name] = {TENON_FIELD(at, num_thresholds), TENON_FIELD(at, class_id)};
  const auto thresholds = [](auto metric) { return numbered(metric, {2, 8, 8, 4}, 0.5); };
  const Ours classes{TENON_FIELD(some, top_k), TENON_FIELD(some, class_id)};
  t["Precision"] =
      classes +
      Ours{{"thresholds", both(own(some.thresholds), thresholds([](Tensor x, auto... v) { precision(x, x, v...); }))}};
  t["Recall"] =
      classes +
      Ours{{"thresholds", both(own(some.thresholds), thresholds([](Tensor x, auto... v) { recall(x, x, v...); }))}};
  t["AUC"] = {TENON_FIELD(auc, num_thresholds), TENON_FIELD(auc, curve),       TENON_FIELD(auc, summation_method),
              TENON_FIELD(auc, thresholds),     TENON_FIELD(auc, multi_label), TENON_FIELD(auc, label_weights),
              TENON_FIELD(auc, from_logits)};
}

}  // namespace

Table losses() {
  const LossOptions o;
  const FocalOptions focal;
  const OverlapOptions overlap;
  const CircleOptions circle;
  const auto logits = [](Loss::Function loss) {
    return call([=](Tensor x) { loss(x, x, {}); }, [=](Tensor x, double v) { loss(x, x, {.from_logits = v != 0}); });
  };
  const Ours all{TENON_FIELD(o, reduction)};
  const Ours along = all + Ours{TENON_FIELD(o, axis)};
  const Ours smooth = along + Ours{TENON_FIELD(o, label_smoothing)};
  const Ours focused = Ours{TENON_FIELD(focal, reduction)} +
                       Ours{TENON_FIELD(focal, label_smoothing), TENON_FIELD(focal, alpha), TENON_FIELD(focal, gamma),
                            TENON_FIELD(focal, from_logits), TENON_FIELD(focal, axis)};
  const Ours masks{TENON_FIELD(overlap, reduction), TENON_FIELD(overlap, axis)};
  Table t{
      {"Loss", all},
      {"CategoricalCrossentropy", smooth + Ours{{"from_logits", logits(categorical_crossentropy)}}},
      {"SparseCategoricalCrossentropy", along + Ours{TENON_FIELD(o, from_logits), TENON_FIELD(o, ignore_class)}},
      {"BinaryCrossentropy", smooth + Ours{{"from_logits", logits(binary_crossentropy)}}},
      {"BinaryFocalCrossentropy", focused + Ours{TENON_FIELD(focal, apply_class_balancing)}},
      {"CategoricalFocalCrossentropy", focused},
      {"CategoricalGeneralizedCrossEntropy",
       {TENON_FIELD(GeneralizedOptions(), q), TENON_FIELD(GeneralizedOptions(), reduction)}},
      {"Huber", {TENON_FIELD(HuberOptions(), delta), TENON_FIELD(HuberOptions(), reduction)}},
      {"Circle",
       {TENON_FIELD(circle, gamma), TENON_FIELD(circle, margin), TENON_FIELD(circle, remove_diagonal),
        TENON_FIELD(circle, reduction)}},
      {"CosineSimilarity", along},
      {"Dice", masks},
      {"Tversky", masks + Ours{TENON_FIELD(overlap, alpha), TENON_FIELD(overlap, beta)}},
  };
  for (const char* name :
       {"CTC", "CategoricalHinge", "Hinge", "KLDivergence", "LogCosh", "MeanAbsoluteError",
        "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "SquaredHinge"})
    t[name] = all;
  return t;
}

Table metrics() {
  const LossOptions o;
  const auto labels = [](Tensor x) { return cast(reduce_max(x, {-1}), DType::kI32); };
  const Ours entropy{TENON_FIELD(o, from_logits), TENON_FIELD(o, label_smoothing)};
  Table t{
      {"BinaryAccuracy", {{"threshold", both(own(BinaryAccuracyOptions().threshold), numbered([](Tensor x, auto... v) {
                                               binary_accuracy(x, x, v...);
                                             }))}}},
      {"SparseTopKCategoricalAccuracy", {{"k", both(own(TopKOptions().k), numbered([=](Tensor x, auto... k) {
                                                      sparse_top_k_categorical_accuracy(labels(x), x,
                                                                                        static_cast<int64_t>(k)...);
                                                    }))}}},
      {"TopKCategoricalAccuracy", {{"k", both(own(TopKOptions().k), numbered([](Tensor x, auto... k) {
                                                top_k_categorical_accuracy(x, x, static_cast<int64_t>(k)...);
                                              }))}}},
      {"BinaryCrossentropy", entropy},
      {"CategoricalCrossentropy", entropy + Ours{TENON_FIELD(o, axis)}},
      {"SparseCategoricalCrossentropy",
       {TENON_FIELD(o, from_logits), TENON_FIELD(o, ignore_class), TENON_FIELD(o, axis)}},
      {"CosineSimilarity", {TENON_FIELD(o, axis)}},
      {"R2Score", {TENON_FIELD(R2ScoreOptions(), class_aggregation)}},
  };
  for (const char* name :
       {"ConcordanceCorrelation", "PearsonCorrelation", "Accuracy", "CategoricalAccuracy", "SparseCategoricalAccuracy",
        "Mean", "Sum", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError",
        "MeanSquaredLogarithmicError", "RootMeanSquaredError", "LogCoshError", "Hinge", "SquaredHinge",
        "CategoricalHinge", "KLDivergence", "Poisson"})
    t[name];
  add_threshold_metrics(t);
  add_matrix_metrics(t);
  return t;
}

Table activations() {
  const ReluOptions re;
  const auto axis = [](auto function) {
    return Ours{{"axis", numbered([=](Tensor x, auto... v) { function(x, static_cast<int64_t>(v)...); })}};
  };
  Table t{{"relu", {TENON_FIELD(re, negative_slope), TENON_FIELD(re, max_value), TENON_FIELD(re, threshold)}},
          {"leaky_relu", {{"negative_slope", numbered([](Tensor x, auto... v) { leaky_relu(x, v...); })}}},
          {"elu", {{"alpha", numbered([](Tensor x, auto... v) { elu(x, v...); })}}},
          {"celu", {{"alpha", numbered([](Tensor x, auto... v) { celu(x, v...); })}}},
          {"hard_shrink", {{"threshold", numbered([](Tensor x, auto... v) { hard_shrink(x, v...); })}}},
          {"soft_shrink", {{"threshold", numbered([](Tensor x, auto... v) { soft_shrink(x, v...); })}}},
          {"squareplus", {{"b", numbered([](Tensor x, auto... v) { squareplus(x, v...); })}}},
          {"gelu",
           {{"approximate",
             call([](Tensor x) { activate(x, "gelu"); }, [](Tensor x, double v) { (v != 0 ? gelu_tanh : gelu)(x); })}}},
          {"softmax", axis([](Tensor x, auto... v) { softmax(x, v...); })},
          {"log_softmax", axis([](Tensor x, auto... v) { log_softmax(x, v...); })},
          {"sparsemax", axis([](Tensor x, auto... v) { sparsemax(x, v...); })},
          {"glu", axis([](Tensor x, auto... v) { glu(x, v...); })},
          {"threshold", {}}};
  for (const char* name : {"linear", "relu6", "selu", "sigmoid", "tanh", "softplus", "silu", "swish", "mish",
                           "hard_sigmoid", "hard_silu", "hard_swish", "exponential", "hard_tanh", "log_sigmoid",
                           "softsign", "sparse_plus", "sparse_sigmoid", "tanh_shrink"})
    t[name];
  for (const auto& [name, defaults] : t) {
    if (name == "threshold") continue;  // has to be given its numbers
    EXPECT_NO_THROW(ActivationRule(name.c_str())) << name;
  }
  return t;
}

Table initializers() {
  const auto numbers = [](const Initializer& i, const char* a, const char* b) {
    return Ours{{a, number(i.a)}, {b, number(i.b)}};
  };
  const Shape matrix{2, 3};
  const Default gain{"what the call gives", [=](const std::string& golden) {
                       return identity_initializer(matrix).values ==
                              identity_initializer(matrix, std::stod(golden)).values;
                     }};
  Table t{{"Orthogonal", {{"gain", number(orthogonal().a)}}},
          {"Identity", {{"gain", gain}}},
          {"Constant", {{"value", number(constant_initializer().a)}}},
          {"RandomNormal", numbers(random_normal(), "mean", "stddev")},
          {"TruncatedNormal", numbers(truncated_normal(), "mean", "stddev")},
          {"RandomUniform", numbers(random_uniform(), "minval", "maxval")}};
  for (const char* name : {"Zeros", "Ones", "VarianceScaling", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform",
                           "LecunNormal", "LecunUniform"})
    t[name];
  return t;
}

}  // namespace tenon::signatures
