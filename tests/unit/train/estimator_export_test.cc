// Signatures of a model, as TensorFlow's Estimator names them; features as one tensor.
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// Features as one tensor; what it exports is the parameter "exports".
EstimatorSpec exporting(Tensor x, const Tensor& labels, Mode mode, const Params& params) {
  const Tensor logits = dense(x, {.units = kClasses});
  const Tensor p = softmax(logits), id = argmax(logits);
  EstimatorSpec spec{.mode = mode, .predictions = {{"probabilities", p}, {"classid", id}}};
  const auto exports = params.get<std::string>("exports", "");
  const ExportOutput predict = PredictOutput({{"probabilities", p}});
  if (exports == "one") spec.export_outputs = {{"mine", predict}};
  if (exports == "two") spec.export_outputs = {{"a", predict}, {"b", predict}};
  if (exports == "twice") spec.export_outputs = {{"a", predict}, {"a", predict}};
  if (exports == "all")
    spec.export_outputs = {{"serving_default", PredictOutput(p)},
                           {"classify", ClassificationOutput({.scores = p, .classes = id})},
                           {"regress", RegressionOutput(p)}};
  if (exports == "scalar") spec.export_outputs = {{"a", RegressionOutput(reduce_sum(p))}};
  if (exports == "whole") spec.export_outputs = {{"a", RegressionOutput(id)}};
  if (exports == "floats") spec.export_outputs = {{"a", ClassificationOutput({.classes = p})}};
  if (exports == "none") spec.export_outputs = {{"a", ClassificationOutput({})}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD(0.1), spec.loss);
  return spec;
}

// "KEY METHOD: outputs", one a line.
std::string signatures(const std::string& exports) {
  Estimator estimator(exporting, cpu(""), {{"exports", exports}});
  const auto found = estimator.signatures(examples(8, evaluation_input(4)));
  if (!found.ok()) return found.status().message();
  std::string out;
  for (const ExportSignature& s : *found) {
    EXPECT_EQ(s.inputs.size(), 1u);
    EXPECT_EQ(s.inputs.at(0).name, "x");
    EXPECT_EQ(s.inputs.at(0).type.str(), "f32[4]");
    out += s.key + " " + s.method_name + ":";
    for (const auto& value : s.outputs) out += " " + value.name + " " + value.type.str();
    out += "\n";
  }
  return out;
}

TEST(EstimatorExport, NamesSignaturesAsTensorFlowDoes) {
  EXPECT_EQ(signatures(""), "serving_default tensorflow/serving/predict: probabilities f32[3] classid i32[]\n");
  EXPECT_EQ(signatures("one"),
            "mine tensorflow/serving/predict: probabilities f32[3]\n"
            "serving_default tensorflow/serving/predict: probabilities f32[3]\n");
  EXPECT_EQ(signatures("all"),
            "serving_default tensorflow/serving/predict: output f32[3]\n"
            "classify tensorflow/serving/classify: classes i32[] scores f32[3]\n"
            "regress tensorflow/serving/regress: outputs f32[3]\n");
}

TEST(EstimatorExport, SaysWhatIsWrongWithThem) {
  EXPECT_EQ(signatures("two"),
            "export_outputs: of several, a, b, one has to be named 'serving_default': which is the default");
  EXPECT_EQ(signatures("twice"), "export_outputs: there are two 'a'");
  EXPECT_EQ(signatures("scalar"), "RegressionOutput: 'outputs' is a scalar, expected a row an example");
  EXPECT_EQ(signatures("whole"), "RegressionOutput: 'outputs' is i32[4], expected floats");
  EXPECT_EQ(signatures("floats"), "ClassificationOutput: 'classes' is f32[4,3], expected whole numbers");
  EXPECT_EQ(signatures("none"), "ClassificationOutput: neither scores nor classes are given");
  // Prediction says it too, before anything is exported.
  Estimator estimator(exporting, cpu(""), {{"exports", std::string("two")}});
  estimator.set_events({});
  check(estimator.train({.input = examples(8, training_input(4)), .max_steps = 1}).status());
  EXPECT_MESSAGE(estimator.predict(examples(8, evaluation_input(4)), [](int64_t, const auto&) { return Status(); }),
                 "one has to be named 'serving_default'");
}

TEST(EstimatorFeatures, AsOneTensorAreTheOnlyFeature) {
  const std::vector<float> one(8, 1.0f);
  const Dataset two = Dataset::from_memory({memory_feature<float>("a", DType::kF32, {1}, one),
                                            memory_feature<float>("b", DType::kF32, {1}, one),
                                            memory_feature<int32_t>("label", DType::kI32, {}, std::vector<int32_t>(8))},
                                           evaluation_input(4))
                          .take();
  Estimator estimator(exporting, cpu(""));
  estimator.set_events({});
  EXPECT_EQ(estimator.train({.input = two, .steps = 1}).status().message(),
            "the features were asked for as one tensor, and there are 2: a, b");
}

}  // namespace
}  // namespace tenon
