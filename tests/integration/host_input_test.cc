// A slice of a TPU with several hosts, each with its own input: the same training as with the same rows from one input.
#include <gtest/gtest.h>

#include "tenon/estimator.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

constexpr const char* kSlice = "tpu-emulator:v2-32";
constexpr int64_t kBatch = 64, kHosts = 4, kCores = 32, kRows = kBatch / kHosts;
constexpr int kInputs = 4;

float input_value(int64_t example, int64_t i) { return static_cast<float>((7 * example + 3 * i) % 23 - 11) / 8; }
float label_value(int64_t example) { return static_cast<float>((5 * example) % 17) / 16; }

// Examples first(0), first(1), .. of those above.
Result<Dataset> numbered(int64_t size, int64_t batch, const std::function<int64_t(int64_t)>& number) {
  const auto fill = [number](int64_t i, const Sample&, Slots& out) -> Status {
    const int64_t example = number(i);
    for (int k = 0; k < kInputs; ++k) out.get<float>(0)[static_cast<size_t>(k)] = input_value(example, k);
    out.get<float>(1)[0] = label_value(example);
    return {};
  };
  return Dataset::from_function(size, {{"x", {DType::kF32, {kInputs}}}, {"label", {DType::kF32, {}}}}, fill,
                                {.batch_size = batch});
}

// Step s of pipeline p of P has rows p * rows .. of the step's batch.
InputFn dealt(std::vector<InputContext>* calls = nullptr) {
  return [calls](const InputContext& c, const Params& params) {
    if (calls) calls->push_back(c);
    const int64_t rows = kBatch / c.num_input_pipelines, first = c.input_pipeline_id * rows;
    EXPECT_EQ(params.get<int64_t>("batch_size"), c.batch_size);
    return numbered(8 * rows, c.batch_size, [=](int64_t i) { return i / rows * kBatch + first + i % rows; });
  };
}
Dataset whole() {
  return numbered(8 * kBatch, kBatch, [](int64_t i) { return i; }).take();
}

EstimatorSpec regression(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  Tensor x = dense(features["x"], {.units = 8, .activation = relu});
  x = dense(dropout(x, 0.25), {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", x}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, reshape(x, labels.shape()));
  if (mode == Mode::kTrain) spec.train_op = minimize(Adam(LearningRate(0.01)), spec.loss);
  return spec;
}

// The mean over the cores of the largest label that a core has.
EstimatorSpec largest(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor y = dense(features["x"], {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = reduce_mean(y) * 0.0 + reduce_max(labels);
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  return spec;
}

RunConfig slice(InputPipelineConfig input, const std::string& model_dir = "") {
  RunConfig config;
  config.device = kSlice;
  config.model_dir = model_dir;
  config.tpu = TPUConfig{.per_host_input_for_training = input};
  return config;
}

struct Ended {
  double loss;
  std::string hash;
  bool operator==(const Ended&) const = default;
};
Ended trained(const TrainInput& input, InputPipelineConfig config, int64_t steps, const std::string& model_dir = "") {
  Estimator estimator(regression, slice(config, model_dir));
  const double loss = estimator.train({.input = input, .steps = steps}).take().loss;
  return {loss, estimator.variables_hash().take()};
}

TEST(HostInput, EachHostIsAskedOnceAndTrainsAsOneInputDoes) {
  std::vector<InputContext> calls;
  const Ended hosts = trained({dealt(&calls), kBatch}, InputPipelineConfig::kPerHostV1, 4);
  ASSERT_EQ(calls.size(), static_cast<size_t>(kHosts));
  for (int h = 0; h < kHosts; ++h) {
    const InputContext& c = calls[static_cast<size_t>(h)];
    EXPECT_EQ(c.host, h);
    EXPECT_EQ(c.input_pipeline_id, h);
    EXPECT_EQ(c.num_hosts, kHosts);
    EXPECT_EQ(c.num_replicas_in_sync, kCores);
    EXPECT_EQ(c.batch_size, kRows);
  }
  const Ended one = trained(whole(), InputPipelineConfig::kPerHostV1, 4);
  EXPECT_EQ(hosts, one);
  for (const InputPipelineConfig other : {InputPipelineConfig::kPerShardV1, InputPipelineConfig::kPerHostV2,
                                          InputPipelineConfig::kBroadcast, InputPipelineConfig::kSliced})
    EXPECT_EQ(trained({dealt(), kBatch}, other, 4), one) << static_cast<int>(other);
}

TEST(HostInput, RowsOfAHostAreThoseOfItsCores) {
  Estimator estimator(largest, slice(InputPipelineConfig::kPerHostV1));
  const double loss = estimator.train({.input = {dealt(), kBatch}, .steps = 1}).take().loss;
  double expected = 0;
  for (int64_t core = 0; core < kCores; ++core)
    expected += static_cast<double>(std::max(label_value(2 * core), label_value(2 * core + 1))) / kCores;
  EXPECT_NEAR(loss, expected, 1e-6);
}

TEST(HostInput, GoesOnFromACheckpointWithTheNextRowsOfEachHost) {
  TemporaryDirectory dir;
  trained({dealt(), kBatch}, InputPipelineConfig::kPerHostV1, 3, dir.path());
  EXPECT_EQ(trained({dealt(), kBatch}, InputPipelineConfig::kPerHostV1, 2, dir.path()),
            trained(whole(), InputPipelineConfig::kPerHostV1, 5));
}

TEST(HostInput, EndsWithTheInput) {
  Estimator estimator(regression, slice(InputPipelineConfig::kPerHostV1));
  EXPECT_EQ(estimator.train({.input = {dealt(), kBatch}}).take().global_step, 8);
}

TEST(HostInput, ABatchHasToDivide) {
  Estimator estimator(regression, slice(InputPipelineConfig::kPerHostV1));
  EXPECT_EQ(estimator.train({.input = {dealt(), 100}, .steps = 1}).status().message(),
            "train batch size 100 must be divisible by number of replicas 32");
}

TEST(HostInput, OneHostIsAskedOnceForTheWholeBatch) {
  std::vector<InputContext> calls;
  RunConfig config = slice(InputPipelineConfig::kPerHostV1);
  config.device = "tpu-emulator:v2-8";
  Estimator estimator(regression, config);
  check(estimator.train({.input = {dealt(&calls), kBatch}, .steps = 1}).status());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].batch_size, kBatch);
}

// A function that deals nothing out gives each example to evaluation once, whatever reads in training.
TEST(HostInput, EvaluationReadsWithOnePipeline) {
  constexpr int64_t kExamples = 5 * kBatch + 32;
  for (const InputPipelineConfig input : {InputPipelineConfig::kPerShardV1, InputPipelineConfig::kPerHostV1,
                                          InputPipelineConfig::kPerHostV2, InputPipelineConfig::kBroadcast}) {
    Estimator estimator(regression, slice(input));
    check(estimator.train({.input = {dealt(), kBatch}, .steps = 1}).status());
    int calls = 0;
    const InputFn all = [&](const InputContext& c, const Params&) {
      ++calls;
      return numbered(kExamples, c.batch_size, [](int64_t i) { return i; });
    };
    const EvalResult result = estimator.evaluate({.input = {all, kBatch}}).take();
    EXPECT_EQ(result.examples, kExamples);
    EXPECT_EQ(calls, 1);
    const Dataset same = numbered(kExamples, kBatch, [](int64_t i) { return i; }).take();
    EXPECT_EQ(result.at("loss"), estimator.evaluate({.input = same}).take().at("loss"));
  }
}

}  // namespace
}  // namespace tenon
