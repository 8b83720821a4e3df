// Soft placement: nodes that a device refuses run on cpu.so, and functions and models give what they give elsewhere.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "backend/registry.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"
#include "tenon/preflight.h"
#include "tenon/strategy.h"
#include "tenon/variables.h"
#include "unit/step/step_testing.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// On a layer over each backend that refuses ops (lacking_layer.cc).
class SoftPlacement : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!open_device(backend()).ok()) GTEST_SKIP() << backend() << " is not here";
  }
  std::string backend() const { return GetParam(); }
  std::string lacking(const std::string& ops) const { return "lacking-" + backend() + ":" + ops; }
};

INSTANTIATE_TEST_SUITE_P(Over, SoftPlacement, testing::Values("cpu", "example", "opencl-gpu"), [](const auto& of) {
  return std::string(of.param).substr(0, std::string(of.param).find('-'));
});

// ---- functions ----

Dataset numbers(int64_t count, int64_t batch) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    out.get<float>(0)[0] = static_cast<float>(example);
    return {};
  };
  return Dataset::from_function(count, {{"x", {DType::kF32, {}}}}, fill, {.batch_size = batch}).take();
}

// tanh lies between ops that stay. `sum` is read before it and changed behind it, `count` is changed beside it and read
// behind it.
Outputs walk(const Features& in) {
  const Tensor x = in["x"];
  const Tensor sum = variable(x, "sum", {}, zeros(), false), count = variable(x, "count", {}, zeros(), false);
  const Tensor bent = tanh(x * 0.5 + sum * 0.25);
  const Tensor total = sum + 2.0 * reduce_sum(bent);
  assign(sum, total);
  assign(count, count + 1.0);
  return {{"before", sum},
          {"shifted", reduce_sum(bent) + count},
          {"bent", last(bent)},
          {"enough", until(compare(total, full_like(total, 3), CompareKind::kGt))}};
}

TEST_P(SoftPlacement, KeepsResultsOfEachStepOfTheLastAndUntil) {
  Strategy strategy(lacking("tanh"), {.soft_placement = true});
  const Results found = strategy.function(walk, {.steps_per_call = 5})(numbers(10, 2));
  const double first = std::tanh(0.0) + std::tanh(0.5), sum = 2 * first;
  const double a = std::tanh(1 + sum / 4), b = std::tanh(1.5 + sum / 4);
  ASSERT_EQ(found.steps(), 2);  // 2 * (first + a + b) is more than 3
  EXPECT_NEAR(found["before"].to<float>()[0], 0, 1e-6);
  EXPECT_NEAR(found["before"].to<float>()[1], sum, 1e-5);
  EXPECT_NEAR(found["shifted"].to<float>()[0], first, 1e-5);
  EXPECT_NEAR(found["shifted"].to<float>()[1], a + b + 1, 1e-5);
  EXPECT_NEAR(found["bent"].to<float>()[0], a, 1e-5);
  EXPECT_NEAR(found["bent"].to<float>()[1], b, 1e-5);
  EXPECT_NEAR(strategy.read("sum").item(), 2 * (first + a + b), 1e-5);
  EXPECT_EQ(strategy.read("count").item(), 2);
}

// Both states are made by nodes that move: the first from a feed alone, so that the first part runs on the host.
TEST_P(SoftPlacement, StatesThatMovedNodesMakeComeBack) {
  const auto swing = [](const Features& in) -> Outputs {
    const Tensor x = in["x"];
    const Tensor a = variable(x, "a", {}, zeros(), false), b = variable(x, "b", {}, ones(), false);
    assign(a, reduce_sum(tanh(x)));
    assign(b, tanh(b + a));
    return {{"sum", a + b}};
  };
  Strategy strategy(lacking("tanh"), {.soft_placement = true});
  Function f = strategy.function(swing, {.steps_per_call = 3});
  const Results found = f.repeat(3, {{"x", {0.25f, 0.5f}}});
  const double a = std::tanh(0.25) + std::tanh(0.5);
  double b = 1, before = 0;
  for (int step = 0; step < 3; ++step) {
    EXPECT_NEAR(found["sum"].to<float>()[static_cast<size_t>(step)], before + b, 1e-5);
    b = std::tanh(b + before);
    before = a;
  }
  EXPECT_NEAR(strategy.read("a").item(), a, 1e-6);
  EXPECT_NEAR(strategy.read("b").item(), b, 1e-6);
}

TEST_P(SoftPlacement, RunsAllOnTheHostWhereNothingElseIsLeft) {
  Strategy strategy(lacking("tanh"), {.soft_placement = true});
  Function f = strategy.function([](const Features& in) { return Outputs{{"y", tanh(in["x"])}, {"x", in["x"]}}; });
  const Results found = f({{"x", {0.5f, -1.0f}}});
  EXPECT_NEAR(found["y"].to<float>()[1], std::tanh(-1.0), 1e-6);
  EXPECT_EQ(found["x"].to<float>(), (std::vector<float>{0.5f, -1.0f}));
}

TEST_P(SoftPlacement, WithoutItTheRefusalNamesNodesAndReasons) {
  Strategy strategy(lacking("tanh"));
  Function f = strategy.function([](const Features& in) { return Outputs{{"y", tanh(in["x"])}}; });
  EXPECT_EQ(message_of([&] {
              f({{"x", {0.5f}}});
            }),
            lacking("tanh") + " cannot run 1 of 1 nodes: tanh 'tanh': lacking on purpose");
}

// Units of their own parts of a batch: a value that they differ in crosses for each, a scalar too.
class SoftPlacementUnits : public testing::TestWithParam<std::array<const char*, 2>> {};
INSTANTIATE_TEST_SUITE_P(Of, SoftPlacementUnits,
                         testing::Values(std::array{"example:units=2", "lacking-example:tanh,units=2"},
                                         std::array{"tpu-emulator:v2-8,dots=f32",
                                                    "lacking-tpu-emulator:tanh,v2-8,dots=f32"}));

TEST_P(SoftPlacementUnits, GiveWhatTheyGiveWithoutIt) {
  std::vector<Results> found;
  std::vector<double> kernels;
  for (const char* device : GetParam()) {
    Strategy strategy(device, {.soft_placement = true});
    const auto f = [](const Features& in) -> Outputs {
      const Tensor x = in["x"], mean = reduce_mean(x);
      const Tensor kernel = variable(x, "kernel", {}, constant_initializer(0.5));
      const Tensor loss = reduce_mean(square(tanh(x * kernel) + tanh(mean)));
      minimize(SGD(0.1), loss);
      return {{"loss", loss}, {"rows", last(tanh(x))}};
    };
    Function train = strategy.function(f, {.mode = Mode::kTrain, .steps_per_call = 2});
    found.push_back(train(numbers(32, 16)));
    kernels.push_back(strategy.read("kernel").item());
  }
  EXPECT_EQ(found[1].steps(), 2);
  EXPECT_NE(kernels[0], 0.5);
  EXPECT_NEAR(kernels[1], kernels[0], 1e-6);
  for (const char* name : {"loss", "rows"})
    for (size_t i = 0; i < found[0][name].to<float>().size(); ++i)
      EXPECT_NEAR(found[1][name].to<float>()[i], found[0][name].to<float>()[i], 1e-5) << name << i;
}

TEST(SoftPlacementOfUnits, NumbersThatEachUnitDrawsAreNotMoved) {
  Strategy strategy("lacking-example:random,units=2", {.soft_placement = true});
  Function f = strategy.function(
      [](const Features& in) {
        return Outputs{{"y", dropout(in["x"], 0.5)}};
      },
      {.mode = Mode::kTrain});
  const std::string message = message_of([&] { f({{"x", {1.0f, 2.0f}}}); });
  EXPECT_NE(message.find(" draws numbers of its own on each of 2 units, and moved nodes run for one at a time"),
            std::string::npos)
      << message;
}

TEST(SoftPlacementOfUnits, WhatUnitsExchangeIsNotMoved) {
  Strategy strategy("lacking-example:all_reduce,units=2", {.soft_placement = true});
  const auto train = [](const Features& in) -> Outputs {
    const Tensor x = in["x"], loss = reduce_mean(x * variable(x, "w", {}, ones()));
    minimize(SGD(0.1), loss);
    return {{"loss", last(x)}};
  };
  Function f = strategy.function(train, {.mode = Mode::kTrain});
  EXPECT_EQ(message_of([&] {
              f({{"x", {1.0f, 2.0f}}});
            }),
            "lacking-example:all_reduce,units=2 cannot run 1 of 6 nodes: all_reduce 'all_reduce': lacking on purpose; "
            "soft placement: all_reduce 'all_reduce' works on all of 2 units, and moved nodes run for one at a time");
}

// One program for all batches of up to 4 rows: their number goes to both sides.
TEST_P(SoftPlacement, BatchesOfAnySizeUpToABound) {
  Strategy strategy(lacking("tanh+reduce"), {.soft_placement = true});
  Function f = strategy.function(
      [](const Features& in) {
        return Outputs{{"y", reduce_sum(tanh(in["x"]) * 2.0)}};
      },
      {.max_batch = 4});
  EXPECT_NEAR(f({{"x", {1.0f, 2.0f, 3.0f}}})["y"].item(), 2 * (std::tanh(1) + std::tanh(2) + std::tanh(3)), 1e-5);
  EXPECT_NEAR(f({{"x", {1.0f}}})["y"].item(), 2 * std::tanh(1), 1e-5);
  EXPECT_EQ(f.traces(), 1);
}

// ---- models ----

struct Trained {
  std::vector<double> losses;
  double evaluated = 0;
  std::vector<float> predicted;
  std::vector<std::string> lines;
};

// Trains, begins again from the checkpoint, evaluates and predicts. The last batches of the latter have fewer rows.
Trained train(const ModelFn& model, const Dataset& training, const Dataset& test, RunConfig config) {
  TemporaryDirectory dir;
  config.model_dir = dir.path();
  config.log_step_count_steps = 1;
  config.iterations_per_loop = 4;
  Trained out;
  RunEvents events;
  events.on_log = [&](int64_t, double loss, double) { out.losses.push_back(loss); };
  events.on_info = [&](const std::string& line) { out.lines.push_back(line); };
  for (const int64_t steps : {5, 9}) {
    Estimator estimator(model, config);
    estimator.set_events(events);
    check(estimator.train({.input = training, .max_steps = steps}).status());
  }
  Estimator estimator(model, config);
  out.evaluated = estimator.evaluate({.input = test}).take().at("loss");
  check(estimator.predict(test, [&](int64_t, const auto& values) {
    const auto row = values.at("probabilities");
    out.predicted.insert(out.predicted.end(), row.begin(), row.end());
    return Status();
  }));
  return out;
}

void expect_near(const Trained& found, const Trained& expected, double tolerance) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i) EXPECT_NEAR(found.losses[i], expected.losses[i], tolerance) << i;
  EXPECT_NEAR(found.evaluated, expected.evaluated, tolerance);
  ASSERT_EQ(found.predicted.size(), expected.predicted.size());
  for (size_t i = 0; i < found.predicted.size(); ++i) EXPECT_NEAR(found.predicted[i], expected.predicted[i], tolerance);
}

int moves_in(const std::vector<std::string>& lines) {
  return static_cast<int>(
      std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("soft placement: "); }));
}

TEST_P(SoftPlacement, TrainsEvaluatesPredictsAndGoesOnAsCpuDoes) {
  const Dataset training = examples(12, training_input(4)), test = examples(10, evaluation_input(4));
  const Trained expected = train(small_model, training, test, {.device = "cpu"});
  const Trained found = train(
      small_model, training, test,
      {.device = lacking("exp+log+softmax+softmax_cross_entropy+dropout+random+adam_update"), .soft_placement = true});
  EXPECT_EQ(expected.losses.size(), 9u);
  expect_near(found, expected, 1e-5);
  EXPECT_GE(moves_in(found.lines), 1);
  EXPECT_EQ(moves_in(expected.lines), 0);
}

// Where a device has no memory that the host sees, batches are filled in plain memory and copied: the numbers are the same.
TEST_P(SoftPlacement, ADeviceWithoutMemoryThatTheHostSeesTrainsAlike) {
  const Dataset training = examples(12, training_input(4)), test = examples(10, evaluation_input(4));
  const Trained expected = train(small_model, training, test, {.device = backend()});
  const Trained found = train(small_model, training, test, {.device = lacking("HOST")});
  EXPECT_EQ(found.losses.size(), 9u);
  expect_near(found, expected, 0);
}

// What a TPU has no kernel for, in the middle of a model, and bytes and doubles, which it has not.
EstimatorSpec turned(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor x = cast(features["x"], DType::kF32) * (1.0 / 255);
  const Tensor scaled = x * variable(x, "scale", {4, 4, 1}, ones());
  const Tensor quarter = constant(Array({0.0f, 1.0f, 0.0f, -1.0f, 0.0f, 3.0f, 0.0f, 0.0f}, {1, 8}));
  const Tensor image =
      affine_image(scaled, broadcast_to(quarter, {x.dim(0), 8}), 4, 4, ResizeMethod::kNearest, FillMode::kConstant);
  const Tensor doubled = cast(exp(cast(flatten(image), DType::kF64)), DType::kF32);
  return classify(dense(doubled, {.units = kClasses}), labels, mode, Adam(LearningRate(0.01)));
}

Dataset images(InputOptions options) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    for (size_t i = 0; i < 16; ++i) out.get<uint8_t>(0)[i] = static_cast<uint8_t>((example * 37 + i * i * 11) % 256);
    out.get<int32_t>(1)[0] = label_value(example);
    return {};
  };
  return Dataset::from_function(32, {{"x", {DType::kU8, {4, 4, 1}}}, {"label", {DType::kI32, {}}}}, fill, options)
      .take();
}

TEST(SoftPlacementOnATpu, TrainsWhatATpuLacksToTheLossesOfCpu) {
  const Dataset training = images(training_input(16)), test = images(evaluation_input(16));
  const Trained expected = train(turned, training, test, {.device = "cpu"});
  const Trained found = train(turned, training, test, {.device = "tpu-emulator:v2-8,dots=f32", .soft_placement = true});
  expect_near(found, expected, 1e-5);
  const auto line = std::find_if(found.lines.begin(), found.lines.end(),
                                 [](const std::string& l) { return l.starts_with("soft placement: "); });
  ASSERT_NE(line, found.lines.end());
  EXPECT_NE(line->find(" nodes run on cpu: cast 'cast', "), std::string::npos) << *line;
  EXPECT_NE(line->find("affine_image 'affine_image'"), std::string::npos) << *line;
  EXPECT_NE(line->find(" come back in each step of each unit, at least "), std::string::npos) << *line;
}

// A core has 2 examples of 16 floats, 128 bytes. Out go the scaled image, 64 bytes of how to turn it, the turned one and the
// gradient of doubles; back come the image, the turned one, the floats of the doubles, and of their gradient. The 8 cores share
// the feeds of their host: 5.35e9 bytes a second out, 5.7e9 in (share/tpu/v2-8.json).
TEST(SoftPlacementOnATpu, ThePredictedStepHasTheTimeOfCrossing) {
  const Preflighter machine = Preflighter::open("tpu-emulator:v2-8").take();
  const std::vector<FeatureSpec> features{{"x", {DType::kU8, {4, 4, 1}}}, {"label", {DType::kI32, {}}}};
  const auto run = [&](bool soft) {
    return machine.run(turned, {}, features, {.batch_size = 16, .soft_placement = soft}).take();
  };
  const Preflight refused = run(false), moved = run(true);
  EXPECT_EQ(refused.verdict, Verdict::kRefused);
  EXPECT_NE(refused.status.message().find("--soft_placement"), std::string::npos) << refused.status.message();
  ASSERT_EQ(moved.verdict, Verdict::kAccepted) << moved.status.message();
  EXPECT_EQ(moved.step.machine, "v2-8");
  EXPECT_NE(moved.warnings.find("448 bytes leave tpu-emulator:v2-8 and 512 come back"), std::string::npos)
      << moved.warnings;
  EXPECT_NEAR(moved.step.crossing_ms(448, 512), 8 * (448 / 5.35e9 + 512 / 5.7e9) * 1e3, 1e-8);
  EXPECT_GT(moved.step.host_ms, moved.step.crossing_ms(448, 512));
  EXPECT_GT(moved.step.step_ms, moved.step.device_ms);
  for (const PredictedKernel& k : moved.step.kernels) EXPECT_FALSE(k.name.empty());
  EXPECT_GT(moved.memory.peak, 0u);
}

}  // namespace
}  // namespace tenon
