// Exporters of train_and_evaluate: when they export, what stays, and that a model which cannot be exported is known before training.
#include <filesystem>
#include <fstream>

#include "export/version_writer.h"
#include "tenon/exported_model.h"
#include "tenon/exporters.h"
#include "tenon/fit.h"
#include "tenon/layer_classes.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

ExporterOptions of_tenon(ExporterOptions more = {}) {
  more.how.format = ExportFormat::kTenon;
  return more;
}

// Steps to `max_steps` with an evaluation after each second one.
Status trained(const std::string& model_dir, int64_t max_steps, std::vector<Exporter> exporters,
               ModelFn model = small_model, int64_t* steps = nullptr) {
  Estimator estimator(std::move(model), cpu(model_dir));
  estimator.set_events({});
  const auto result = train_and_evaluate(
      estimator, {.input = examples(8, training_input(4)), .max_steps = max_steps, .steps_between_evals = 2},
      {.input = examples(8, evaluation_input(4)), .exporters = std::move(exporters)});
  if (steps) *steps = estimator.global_step().take();
  return result.status();
}

size_t versions(const std::string& directory) { return exported_versions(directory).take().size(); }

TEST(Exporters, ExportWhenTheirNamesSay) {
  const TemporaryDirectory dir;
  check(trained(dir.path(), 8, {LatestExporter(of_tenon({.exports_to_keep = 3})), FinalExporter(of_tenon())}));
  EXPECT_EQ(versions(dir / "export/latest"), 3u);
  EXPECT_EQ(versions(dir / "export/exporter"), 1u);
  check(trained(dir.path(), 10, {FinalExporter(of_tenon())}));
  EXPECT_EQ(versions(dir / "export/exporter"), 2u);
}

TEST(Exporters, ExportWhatWasEvaluated) {
  const TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path()));
  estimator.set_events({});
  check(train_and_evaluate(
            estimator, {.input = examples(8, training_input(4)), .max_steps = 4},
            {.input = examples(8, evaluation_input(4)), .exporters = {FinalExporter(of_tenon({.name = "mine"}))}})
            .status());
  std::vector<float> expected;
  check(estimator.predict(examples(3, evaluation_input(3)), [&](int64_t, const auto& values) {
    const auto p = values.at("probabilities");
    expected.insert(expected.end(), p.begin(), p.end());
    return Status();
  }));
  const int64_t version = exported_versions(dir / "export/mine").take().at(0).number;
  const ExportedModel model = ExportedModel::open(dir / "export/mine/" + std::to_string(version)).take();
  Strategy strategy("cpu");
  check(model.load(strategy));
  std::vector<float> x;
  for (int64_t e = 0; e < 3; ++e)
    for (int64_t i = 0; i < kInputs; ++i) x.push_back(input_value(e, i));
  const Results found = model.function(strategy)({{"x", Array(x, Shape{3, kInputs})}});
  EXPECT_EQ(found["probabilities"].to<float>(), expected);
}

TEST(Exporters, KeepTheBestOfAllRuns) {
  const TemporaryDirectory dir;
  const auto more_steps = [](const auto& best, const auto& current) {
    return current.at("global_step") > best.at("global_step") + 3;
  };
  // After steps 2, 4, 6, 8, 10: better are 2, 6 and 10.
  check(trained(dir.path(), 8, {BestExporter(of_tenon({.compare = more_steps}))}));
  EXPECT_EQ(versions(dir / "export/best_exporter"), 2u);
  check(trained(dir.path(), 10, {BestExporter(of_tenon({.compare = more_steps}))}));
  EXPECT_EQ(versions(dir / "export/best_exporter"), 3u);
  EXPECT_NE(dir.read("export/best_exporter/best.json").find("\"global_step\": 10"), std::string::npos);
}

TEST(Exporters, SayWhatIsWrongBeforeTheFirstStep) {
  const TemporaryDirectory dir;
  int64_t steps = 0;
  const auto drawing = [](const Features& features, const Tensor& labels, Mode mode, const Params&) {
    const Tensor x = features["x"];
    return classify(dense(x * (1.0 / static_cast<double>(x.dim(0))), {.units = kClasses}), labels, mode, SGD(0.1));
  };
  EXPECT_MESSAGE(trained(dir.path(), 4, {LatestExporter(of_tenon())}, drawing, &steps),
                 "depends on the number of rows");
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(trained(dir.path(), 4, {LatestExporter(of_tenon()), BestExporter(of_tenon({.name = "latest"}))}).message(),
            "there are two exporters 'latest'");
  EXPECT_EQ(trained(dir.path(), 4, {LatestExporter(of_tenon({.name = "a/b"}))}).message(),
            "an exporter's name is 'a/b'");
  EXPECT_EQ(trained("", 4, {LatestExporter(of_tenon())}).message(), "the exporter 'latest' needs RunConfig.model_dir");
  EXPECT_EQ(trained(dir.path(), 4, {LatestExporter(of_tenon({.exports_to_keep = -1}))}).message(),
            "the exporter 'latest' keeps -1 exports, expected 0 or more");
}

TEST(Exporters, DoNotTrustADamagedRecord) {
  const TemporaryDirectory dir;
  check(trained(dir.path(), 2, {BestExporter(of_tenon())}));
  dir.write("export/best_exporter/best.json", "{\"loss\": \"small\"}");
  EXPECT_MESSAGE(trained(dir.path(), 4, {BestExporter(of_tenon())}), "best.json: 'loss' is no number");
  EXPECT_EQ(versions(dir / "export/best_exporter"), 1u);
}

// ---- functions and models ----

TEST(ExportFunction, AnswersAsTheFunctionOfACustomLoop) {
  const TemporaryDirectory dir;
  Strategy strategy("cpu");
  const auto logits = [](const Features& in) { return Outputs{{"twice", dense(in["x"], {.units = 2}) * 2.0}}; };
  Function predict = strategy.function(logits);
  const Array x(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3});
  const std::vector<float> expected = predict({{"x", x}})["twice"].to<float>();
  const std::vector<FeatureSpec> features{{"x", {DType::kF32, {3}}}};
  const std::string path =
      export_function(strategy, logits, features, dir / "e", {.format = ExportFormat::kTenon}).take();
  Strategy other("cpu", {.seed = 7});
  const ExportedModel model = ExportedModel::open(path).take();
  check(model.load(other));
  EXPECT_EQ(model.function(other)({{"x", x}})["twice"].to<float>(), expected);
  const auto scalar = [](const Features& in) { return Outputs{{"sum", reduce_sum(in["x"])}}; };
  EXPECT_EQ(export_function(strategy, scalar, features, dir / "e", {.format = ExportFormat::kTenon}).status().message(),
            "export_function: 'sum' is a scalar, expected a row an example");
}

TEST(ModelExport, AnswersAsPredictDoes) {
  const TemporaryDirectory dir;
  const Symbol a = Input({3}), b = Input({2});
  Model model({a, b}, {Dense({.units = 2, .activation = relu})(Concatenate()({a, b})), Dense({.units = 1})(a)});
  model.compile({.strategy = Strategy("cpu")});
  const Array x(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3}), y(std::vector<float>{1, -1, 0.5, 2}, Shape{2, 2});
  const std::vector<Array> expected = model.predict_on_batch(std::vector<Array>{x, y});
  const ExportedModel exported =
      ExportedModel::open(model.export_saved_model(dir / "e", {.format = ExportFormat::kTenon})).take();
  const ServingSignature& signature = exported.signatures().at(0);
  ASSERT_EQ(signature.inputs.size(), 2u);
  Strategy other("cpu", {.seed = 7});
  check(exported.load(other));
  const Results found = exported.function(other)({{signature.inputs[0].name, x}, {signature.inputs[1].name, y}});
  EXPECT_EQ(found["output_0"].to<float>(), expected.at(0).to<float>());
  EXPECT_EQ(found["output_1"].to<float>(), expected.at(1).to<float>());
}

TEST(ModelExport, NeedsToKnowWhatTheModelTakes) {
  Sequential model({Dense({.units = 1})});
  try {
    (void)model.export_saved_model("/nowhere", {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_MESSAGE(e.status(), "nothing says what the model takes");
  }
}

}  // namespace
}  // namespace tenon
