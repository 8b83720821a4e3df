// Devices of several units: how a batch is spread, what is reduced over the units, and what does not fit.
#include <map>

#include "tenon/checkpoint.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

constexpr const char* kEight = "cpu:units=8";

RunConfig on(const std::string& device, const std::string& model_dir = "") {
  RunConfig config;
  config.device = device;
  config.model_dir = model_dir;
  return config;
}

TEST(EstimatorReplicas, ABatchThatDoesNotDivideIsRefusedInEachMode) {
  Estimator estimator(known_model, on(kEight));
  EXPECT_EQ(estimator.train({.input = examples(200, training_input(100)), .max_steps = 1}).status().message(),
            "train batch size 100 must be divisible by number of replicas 8");
  check(estimator.train({.input = examples(200, training_input(16)), .max_steps = 1}).status());
  EXPECT_EQ(estimator.evaluate({.input = examples(200, evaluation_input(100))}).status().message(),
            "eval batch size 100 must be divisible by number of replicas 8");
  const PredictRow nothing = [](int64_t, const auto&) { return Status(); };
  EXPECT_EQ(estimator.predict(examples(200, evaluation_input(100)), nothing).message(),
            "predict batch size 100 must be divisible by number of replicas 8");
}

double accuracy_over(int64_t n) {
  double right = 0;
  for (int64_t example = 0; example < n; ++example) {
    const auto p = known_probabilities(example);
    right += std::max_element(p.begin(), p.end()) - p.begin() == label_value(example);
  }
  return right / static_cast<double>(n);
}

double loss_over(int64_t n) {
  double loss = 0;
  for (int64_t example = 0; example < n; ++example)
    loss -= std::log(known_probabilities(example)[static_cast<size_t>(label_value(example))]);
  return loss / static_cast<double>(n);
}

// Twelve, of 1026 in batches of 48, stand in a batch of their own: eight are dealt, four are with every unit.
TEST(EstimatorReplicas, EvaluationCountsEachExampleOnce) {
  for (const char* device : {"cpu", kEight}) {
    Estimator estimator(known_model, on(device));
    check(estimator.train({.input = examples(16, training_input(16)), .max_steps = 1}).status());
    std::vector<std::string> lines;
    estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
    for (const int64_t asked : {0, 1, 7, 8, 15, 48, 49, 1000, 1019, 1024, 1025, 1026, 2000}) {
      const EvalResult r =
          estimator.evaluate({.input = examples(1026, evaluation_input(48)), .examples = asked}).take();
      const int64_t n = asked == 0 ? 1026 : std::min<int64_t>(asked, 1026);
      EXPECT_EQ(r.examples, n) << device << " " << asked;
      EXPECT_NEAR(r.at("loss"), loss_over(n), 1e-6) << device << " " << asked;
      EXPECT_NEAR(r.at("accuracy"), accuracy_over(n), 1e-6) << device << " " << asked;
    }
    EXPECT_EQ(lines, std::vector<std::string>());
  }
}

TEST(EstimatorReplicas, EvaluationLeavesOutWhatDoesNotFillTheUnitsWhereThatIsAskedFor) {
  Estimator estimator(known_model, on(kEight));
  check(estimator.train({.input = examples(16, training_input(16)), .max_steps = 1}).status());
  std::vector<std::string> lines;
  estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
  const std::map<int64_t, int64_t> evaluated{{1026, 1024}, {1024, 1024}, {1000, 1000}, {70, 64}, {15, 8}};
  for (const auto& [n, expected] : evaluated) {
    lines.clear();
    const EvalResult r =
        estimator.evaluate({.input = examples(n, evaluation_input(64)), .drop_remainder = true}).take();
    EXPECT_EQ(r.examples, expected) << n;
    EXPECT_NEAR(r.at("loss"), loss_over(expected), 1e-6) << n;
    std::vector<std::string> told;
    if (n > expected)
      told = {"left out " + std::to_string(n - expected) +
              " examples: the 8 units of cpu:units=8 take a multiple of their number"};
    EXPECT_EQ(lines, told) << n;
  }
  const auto none = estimator.evaluate({.input = examples(7, evaluation_input(64)), .drop_remainder = true});
  EXPECT_EQ(none.status().message(), "evaluation: the input has fewer than 8 examples, one for each unit");
  // One unit takes any.
  Estimator one(known_model, on("cpu"));
  check(one.train({.input = examples(16, training_input(16)), .max_steps = 1}).status());
  EXPECT_EQ(one.evaluate({.input = examples(1026, evaluation_input(1024)), .drop_remainder = true}).take().examples,
            1026);
}

TEST(EstimatorReplicas, PredictionHasARowForEveryExample) {
  Estimator estimator(known_model, on(kEight));
  check(estimator.train({.input = examples(16, training_input(16)), .max_steps = 1}).status());
  for (const int64_t n : {1, 8, 13, 16, 37}) {
    int64_t next = 0;
    check(estimator.predict(examples(n, evaluation_input(16)), [&](int64_t row, const auto& values) {
      EXPECT_EQ(row, next++);
      for (size_t c = 0; c < kClasses; ++c)
        EXPECT_NEAR(values.at("probabilities")[c], known_probabilities(row)[c], 1e-6) << row;
      return Status();
    }));
    EXPECT_EQ(next, n);
  }
}

// Each unit normalises by the moments of its share; what stays are means over the units.
EstimatorSpec normed(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor y = batch_normalization(features["x"], {.momentum = 0.75, .epsilon = 0.5, .name = "norm"});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(cast(labels, DType::kF32), reduce_sum(y, {1}));
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  return spec;
}

TEST(EstimatorReplicas, BatchNormalizationUsesTheMomentsOfEachShareAndKeepsTheirMean) {
  constexpr int64_t kBatch = 24, kUnits = 8, kShare = kBatch / kUnits;
  TemporaryDirectory dir;
  Estimator estimator(normed, on(kEight, dir.path()));
  // In order: examples 0 .. 23, three a unit.
  const TrainResult trained = estimator.train({.input = examples(kBatch, {.batch_size = kBatch}), .steps = 1}).take();
  double loss = 0, moving_mean[kInputs] = {}, moving_variance[kInputs] = {};
  for (int64_t unit = 0; unit < kUnits; ++unit) {
    double y[kShare] = {};
    for (int i = 0; i < kInputs; ++i) {
      double mean = 0, variance = 0;
      for (int64_t r = 0; r < kShare; ++r) mean += static_cast<double>(input_value(unit * kShare + r, i)) / kShare;
      for (int64_t r = 0; r < kShare; ++r)
        variance += std::pow(static_cast<double>(input_value(unit * kShare + r, i)) - mean, 2) / kShare;
      for (int64_t r = 0; r < kShare; ++r)
        y[r] += (static_cast<double>(input_value(unit * kShare + r, i)) - mean) / std::sqrt(variance + 0.5);
      moving_mean[i] += 0.25 * mean / kUnits;
      moving_variance[i] += (0.75 + 0.25 * variance) / kUnits;
    }
    for (int64_t r = 0; r < kShare; ++r) loss += std::pow(y[r] - label_value(unit * kShare + r), 2) / kBatch;
  }
  EXPECT_NEAR(trained.loss, loss, 1e-5 * loss);
  const CheckpointFile saved = CheckpointFile::open(dir.path()).take();
  for (size_t i = 0; i < kInputs; ++i) {
    EXPECT_NEAR(saved.read("norm/moving_mean").take()[i], moving_mean[i], 1e-6);
    EXPECT_NEAR(saved.read("norm/moving_variance").take()[i], moving_variance[i], 1e-6);
  }
}

// The mean of the label over the batch of each replica, as a state.
EstimatorSpec remembering(DType dtype, const Features& features, const Tensor& labels, Mode mode) {
  const Tensor y = dense(features["x"], {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(cast(labels, DType::kF32), reshape(y, labels.shape()));
  const Tensor seen = variable(y, "seen", {}, zeros(), false, dtype);
  if (mode == Mode::kTrain) {
    assign(seen, cast(reduce_max(labels), dtype));
    spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  }
  return spec;
}

TEST(EstimatorReplicas, AStateThatReplicasWouldNotAgreeOnBecomesTheirMeanOrIsRefused) {
  TemporaryDirectory dir;
  Estimator floats(
      [](const Features& f, const Tensor& l, Mode m, const Params&) { return remembering(DType::kF32, f, l, m); },
      on(kEight, dir.path()));
  check(floats.train({.input = examples(8, {.batch_size = 8}), .steps = 1}).status());
  double mean = 0;
  for (int64_t e = 0; e < 8; ++e) mean += label_value(e) / 8.0;
  EXPECT_EQ(CheckpointFile::open(dir.path()).take().read("seen").take()[0], mean);
  Estimator integers(
      [](const Features& f, const Tensor& l, Mode m, const Params&) { return remembering(DType::kI32, f, l, m); },
      on(kEight));
  EXPECT_EQ(integers.train({.input = examples(8, {.batch_size = 8}), .steps = 1}).status().message(),
            "variable 'seen' would differ between the 8 replicas and is i32[], expected a float, whose mean is taken");
}

// log of x, whose loss is no number where x is negative.
EstimatorSpec logarithm(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor w = variable(features["x"], "w", {}, ones());
  const Tensor y = log(features["x"] * w);
  EstimatorSpec spec{
      .mode = mode,
      .predictions = {{"y", y}},
  };
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(cast(labels, DType::kF32), reshape(y, labels.shape()));
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 1e-6}), spec.loss);
  return spec;
}

TEST(EstimatorReplicas, ALossThatIsNoNumberOnOneUnitStopsAll) {
  std::vector<float> x(32, 1.0f);
  x[8 + 5] = -1;  // second step, sixth unit
  const std::vector<int32_t> y(32, 1);
  const Dataset data = Dataset::from_memory({memory_feature<float>("x", DType::kF32, {1}, x),
                                             memory_feature<int32_t>("label", DType::kI32, {}, y)},
                                            {.batch_size = 8})
                           .take();
  Estimator estimator(logarithm, on(kEight));
  EXPECT_MESSAGE(estimator.train({.input = data, .steps = 4}).status(), "the loss is nan at step 2");
}

// What params["batch_size"] is, as the model's loss.
EstimatorSpec telling(const Features& features, const Tensor&, Mode mode, const Params& params) {
  const Tensor y = dense(features["x"], {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  EXPECT_EQ(features["x"].dim(0) * 8, 32);
  spec.loss = reduce_mean(y) * 0.0 + static_cast<double>(params.get<int64_t>("batch_size"));
  spec.eval_metrics = {{"batch", mean(full(*y.graph(), DType::kF32, {}, 1))}};
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  return spec;
}

TEST(EstimatorReplicas, ParamsTellTheBatchSizeThatTheInputConfigurationMeans) {
  const std::map<int, int64_t> expected{{1, 4}, {2, 32}, {3, 4}, {4, 32}, {5, 32}};
  for (const auto& [mode, batch] : expected) {
    RunConfig config = on(kEight);
    config.tpu = TPUConfig{.per_host_input_for_training = static_cast<InputPipelineConfig>(mode)};
    Estimator estimator(telling, config);
    EXPECT_EQ(estimator.train({.input = examples(64, training_input(32)), .max_steps = 1}).take().loss, batch) << mode;
    EXPECT_EQ(estimator.evaluate({.input = examples(64, evaluation_input(32))}).take().at("loss"), batch) << mode;
  }
  EXPECT_EQ(
      Estimator(telling, on(kEight)).train({.input = examples(64, training_input(32)), .max_steps = 1}).take().loss,
      32);
}

// y = sum of x, of a batch that is its minor-most dimension.
EstimatorSpec minor(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor w = variable(features["x"], "w", {}, ones(), true);
  const Tensor y = reduce_sum(features["x"], {0}) * w;  // [inputs, batch] -> [batch]
  EstimatorSpec spec{.mode = mode, .predictions = {{"y", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(cast(labels, DType::kF32), y);
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  return spec;
}

TEST(EstimatorReplicas, BatchMinorFeaturesAreDealtByExamples) {
  std::vector<FeatureSpec> specs = tenon::specs();
  specs[0].batch_minor = true;
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    for (int i = 0; i < kInputs; ++i) out.get<float>(0)[static_cast<size_t>(i)] = input_value(example, i);
    out.get<int32_t>(1)[0] = label_value(example);
    return {};
  };
  double sum = 0;
  for (int64_t e = 0; e < 29; ++e) {
    double y = -label_value(e);
    for (int i = 0; i < kInputs; ++i) y += static_cast<double>(input_value(e, i));
    sum += y * y / 29;
  }
  for (const char* device : {"cpu", kEight}) {
    Estimator estimator(minor, on(device));
    const Dataset data = Dataset::from_function(29, specs, fill, {.batch_size = 16}).take();
    check(estimator.train({.input = data, .steps = 1}).status());
    const EvalResult r = estimator.evaluate({.input = data}).take();  // 16, then 8 that eight units share, and 5
    EXPECT_EQ(r.examples, 29) << device;
    EXPECT_NEAR(r.at("loss"), sum, 1e-5) << device;
    int64_t rows = 0;
    check(estimator.predict(data, [&](int64_t row, const auto& values) {
      double y = 0;
      for (int i = 0; i < kInputs; ++i) y += static_cast<double>(input_value(row, i));
      EXPECT_NEAR(values.at("y")[0], y, 1e-6) << device << " row " << row;
      ++rows;
      return Status();
    }));
    EXPECT_EQ(rows, 29) << device;
  }
}

}  // namespace
}  // namespace tenon
