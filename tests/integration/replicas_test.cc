// The models of apps/models on one unit with a batch and on eight with an eighth of it each: the same training. Nothing
// in a model says where it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/models.h"

namespace tenon {
namespace {

constexpr int kSteps = 12;
constexpr int64_t kBatch = 16;

struct Case {
  std::string name;
  ModelFn model;
  Params params;
  std::vector<models::BenchFeature> features;
  double tolerance;  // relative, of the losses: what rounding in f32 grows to in kSteps
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Params with(Params params) {
  params.set("num_classes", int64_t{10});
  params.set("learning_rate", 0.01);
  params.set("optimizer", std::string("momentum"));
  return params;
}

const std::vector<models::BenchFeature> kImages{{"image", {28, 28, 1}, 0}, {"label", {}, 10}};
const std::vector<models::BenchFeature> kSentences{{"source", {6}, 50}, {"target", {6}, 50}, {"label", {6}, 50}};

// The Transformer with a loss that does not count label 0: shards count different numbers of words.
EstimatorSpec masked_transformer(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  EstimatorSpec spec = models::transformer_case(features, labels, Mode::kPredict, params);  // it makes no loss of its own
  spec.mode = mode;
  if (mode == Mode::kPredict) return spec;
  LossOptions options;
  options.ignore_class = 0;
  spec.loss = sparse_categorical_crossentropy(labels, spec.predictions[0].second, options);
  const Tensor counted = cast(compare(labels, scalar_like(labels, 9), CompareKind::kGt), DType::kF32);
  spec.eval_metrics = {{"accuracy", accuracy(labels, spec.predictions[1].second, counted)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(models::make_optimizer(params), spec.loss);
  return spec;
}

std::vector<Case> cases() {
  const Params mlp = with({{"hidden", std::string("64,32")}, {"dropout", 0.0}});
  const Params fashion = with({{"padding", std::string("same")}, {"dropout", 0.25}});
  const Params transformer = with({{"d_model", int64_t{32}},
                                   {"layers", int64_t{1}},
                                   {"heads", int64_t{2}},
                                   {"ffn", int64_t{64}},
                                   {"vocabulary", int64_t{50}},
                                   {"dropout", 0.1}});
  Params sure = transformer, clipped = mlp;
  sure.set("dropout", 0.0);
  clipped.set("global_clipnorm", 0.5);
  return {{"mlp", models::mlp, mlp, kImages, 1e-6},
          {"mlp_clipped", models::mlp, clipped, kImages, 1e-6},
          {"fashion", models::fashion, fashion, kImages, 1e-6},
          {"transformer", models::transformer_case, transformer, kSentences, 1e-6},
          {"masked_transformer", masked_transformer, sure, kSentences, 1e-6}};
}

Dataset random_examples(const Case& c, int64_t count, InputOptions options) {
  std::vector<FeatureSpec> specs;
  for (const models::BenchFeature& f : c.features)
    specs.push_back({f.name, {f.below ? DType::kI32 : DType::kF32, f.example}});
  const auto fill = [features = c.features](int64_t example, const Sample&, Slots& out) -> Status {
    for (size_t f = 0; f < features.size(); ++f) {
      SampleRandom random(11, static_cast<uint32_t>(f), static_cast<uint64_t>(example));
      if (features[f].below)
        for (int32_t& v : out.get<int32_t>(f)) v = random.below(features[f].below);
      else
        for (float& v : out.get<float>(f)) v = random.uniform(-1, 1);
    }
    return {};
  };
  return Dataset::from_function(count, std::move(specs), fill, options).take();
}

struct Losses : TrainingHook {
  bool after_run(int64_t, std::span<const float> some) override {
    all.insert(all.end(), some.begin(), some.end());
    return true;
  }
  std::vector<float> all;
};

// What a user sees of a training: its losses, then an evaluation and the predictions of the weights it ended with.
struct Seen {
  std::vector<float> losses;
  EvalResult evaluation;
  std::vector<std::vector<float>> probabilities;
};

Seen train_on(const std::string& device, const Case& c) {
  Estimator estimator(c.model, {.device = device, .seed = 5}, c.params);
  Losses losses;
  const InputOptions training{.batch_size = kBatch, .training = true, .repeat = true, .drop_remainder = true};
  check(estimator.train({.input = random_examples(c, 96, training), .max_steps = kSteps, .hooks = {&losses}}).status());
  // 40 = 2 * 16 + 8
  const Dataset unseen = random_examples(c, 40, {.batch_size = kBatch});
  Seen seen{losses.all, estimator.evaluate({.input = unseen}).take(), {}};
  check(estimator.predict(unseen, [&](int64_t row, const auto& values) {
    EXPECT_EQ(row, static_cast<int64_t>(seen.probabilities.size()));
    const auto p = values.at("probabilities");
    seen.probabilities.emplace_back(p.begin(), p.end());
    return Status();
  }));
  return seen;
}

class Replicas : public testing::TestWithParam<Case> {};

TEST_P(Replicas, EightUnitsTrainAsOneDoes) {
  const Seen one = train_on("cpu", GetParam()), eight = train_on("cpu:units=8", GetParam());
  ASSERT_EQ(one.losses.size(), static_cast<size_t>(kSteps));
  ASSERT_EQ(eight.losses.size(), one.losses.size());
  double largest = 0;
  for (size_t s = 0; s < one.losses.size(); ++s)
    largest = std::max(largest, static_cast<double>(std::fabs(one.losses[s] - eight.losses[s]) / one.losses[s]));
  EXPECT_LE(largest, GetParam().tolerance);
  std::printf("  %s: largest relative difference of a loss %.1e\n", GetParam().name.c_str(), largest);
  EXPECT_NE(one.losses.front(), one.losses.back());

  EXPECT_EQ(eight.evaluation.examples, 40);
  EXPECT_EQ(one.evaluation.examples, 40);
  EXPECT_NEAR(eight.evaluation.at("loss"), one.evaluation.at("loss"), 1e-5 * one.evaluation.at("loss"));
  EXPECT_NEAR(eight.evaluation.at("accuracy"), one.evaluation.at("accuracy"), 1e-6);
  ASSERT_EQ(eight.probabilities.size(), 40u);
  for (size_t row = 0; row < one.probabilities.size(); ++row) {
    ASSERT_EQ(eight.probabilities[row].size(), one.probabilities[row].size());
    for (size_t i = 0; i < one.probabilities[row].size(); ++i)
      EXPECT_NEAR(eight.probabilities[row][i], one.probabilities[row][i], 1e-5) << "row " << row;
  }
}

std::string test_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, Replicas, testing::ValuesIn(cases()), test_name);

}  // namespace
}  // namespace tenon
