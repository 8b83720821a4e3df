// What options of optimizers do on devices: on one unit, and on eight of the emulator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

class OnDevices : public testing::TestWithParam<const char*> {
 protected:
  Strategy strategy_{GetParam()};
  // The variable w[2] from (1, -2), whose gradient is the mean of the rows of "x" [8, 2].
  Function applying(const Optimizer& optimizer) const {
    return strategy_.function([optimizer](const Features& in) {
      const Tensor w = variable(in["x"], "w", {2}, values_initializer({1, -2}));
      optimizer.apply({reduce_mean(in["x"], {0})}, {w});
      return Outputs{};
    });
  }
  // Rows of which half is twice g and half is 0, so that no unit has the mean by itself.
  static Arrays gradient(float a, float b) {
    std::vector<float> rows;
    for (int i = 0; i < 8; ++i) rows.insert(rows.end(), {i < 4 ? 2 * a : 0, i < 4 ? 2 * b : 0});
    return {{"x", Array(rows, {8, 2})}};
  }
  std::vector<float> read(const char* name) const { return strategy_.read<float>(name); }
};

INSTANTIATE_TEST_SUITE_P(OptimizerOptions, OnDevices, testing::Values("cpu", "tpu-emulator:v2-8"));

using Floats = std::vector<float>;

void expect_floats(const Floats& found, const Floats& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-6 * std::max(1.0f, std::fabs(expected[i])));
}

TEST_P(OnDevices, AccumulationUpdatesByTheMeanAndWaitsBetween) {
  Function f =
      applying(SGD({.learning_rate = 0.5, .momentum = 0.5, .weight_decay = 0.1, .gradient_accumulation_steps = 2}));
  f(gradient(1, 2));
  EXPECT_EQ(read("w"), (Floats{1, -2}));
  EXPECT_EQ(read("w/Momentum"), (Floats{0, 0}));
  f(gradient(3, -2));  // mean (2, 0); w = 0.95 w - 0.5 mean
  expect_floats(read("w"), {-0.05f, -1.9f});
  const Floats before = read("w");
  f(gradient(7, 7));
  EXPECT_EQ(read("w"), before);
}

// At most one of the wrappers knows of units: what several have is what one has.
TEST_P(OnDevices, ClippingTakesTheNormOfTheMean) {
  Function f = applying(SGD({.learning_rate = 1, .global_clipnorm = 1, .loss_scale_factor = 0.5}));
  f(gradient(3, 4));
  expect_floats(read("w"), {0.4f, -2.8f});
}

TEST_P(OnDevices, AveragesAreAssignedAndSwapped) {
  const Optimizer sgd = SGD({.learning_rate = 1, .use_ema = true, .ema_momentum = 0.5});
  Function f = applying(sgd);
  const auto with_averages = [&](void (Optimizer::*what)(const Tensors&) const) {
    return strategy_.function([&sgd, what](const Features& in) {
      (sgd.*what)({variable(in["x"], "w", {2}, zeros())});
      return Outputs{};
    });
  };
  Function swap = with_averages(&Optimizer::swap_averages), finish = with_averages(&Optimizer::assign_averages);
  f(gradient(1, 0));  // w 0 -2, average the same
  f(gradient(1, 0));  // w -1 -2, average -0.5 -2
  swap(gradient(0, 0));
  expect_floats(read("w"), {-0.5f, -2});
  expect_floats(read("w/ExponentialMovingAverage"), {-1, -2});
  swap(gradient(0, 0));
  expect_floats(read("w"), {-1, -2});
  finish(gradient(0, 0));
  expect_floats(read("w"), {-0.5f, -2});
  expect_floats(read("w/ExponentialMovingAverage"), {-0.5f, -2});
}

TEST_P(OnDevices, AveragesBeforeTheFirstUpdateAreTheVariables) {
  const Optimizer sgd = SGD({.learning_rate = 1, .use_ema = true});
  Function finish = strategy_.function([&](const Features& in) {
    sgd.assign_averages({variable(in["x"], "w", {2}, values_initializer({1, -2}))});
    return Outputs{};
  });
  finish(gradient(0, 0));
  EXPECT_EQ(read("w"), (Floats{1, -2}));
}

// One unit of eight has the NaN: none updates.
TEST_P(OnDevices, ALossScaleSkipsWhatIsNotFinite) {
  const Optimizer adam =
      LossScaleOptimizer(Adam({.learning_rate = 0.5, .epsilon = 0}), {.initial_scale = 4, .dynamic_growth_steps = 2});
  Function f = applying(adam);
  Arrays bad = gradient(1, 1);
  std::vector<float> rows = bad.at("x").to<float>();
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    rows[15] = value;
    f({{"x", Array(rows, {8, 2})}});
  }
  EXPECT_EQ(read("w"), (Floats{1, -2}));
  EXPECT_EQ(read("w/Adam"), (Floats{0, 0}));
  EXPECT_EQ(strategy_.read("dynamic_scale").item(), 1);
  EXPECT_EQ(strategy_.read("global_step").item(), 0);
  f(gradient(1, 1));
  f(gradient(1, 1));
  EXPECT_EQ(strategy_.read("dynamic_scale").item(), 2);
  EXPECT_EQ(strategy_.read("global_step").item(), 2);
  expect_floats(read("w"), {0, -3});  // Adam's steps on a constant gradient are its learning rate
}

TEST_P(OnDevices, ALearningRateIsReadAndWrittenWhileTraining) {
  const Optimizer sgd = SGD(LearningRate::variable(0.5));
  Function f = applying(sgd);
  f(gradient(1, 0));
  EXPECT_EQ(strategy_.read("learning_rate").item(), 0.5);
  strategy_.write("learning_rate", 0.25f);
  f(gradient(1, 0));
  expect_floats(read("w"), {0.25f, -2});
}

TEST_P(OnDevices, MuonMakesAStepWhoseSingularValuesAreNearOne) {
  const Optimizer muon = Muon({.learning_rate = 1, .weight_decay = 0, .rms_rate = std::nullopt});
  Function f = strategy_.function([&](const Features& in) {
    const Tensor w = variable(in["x"], "m", {2, 2}, zeros());
    const Tensor u = reshape(reduce_mean(in["x"], {0}), {2, 1});
    muon.apply({concat({u, u * 0.0}, 1)}, {w});
    return Outputs{};
  });
  f(gradient(3, 4));  // of rank 1: u v' with u = (0.6, 0.8), v = (1, 0)
  const Floats m = strategy_.read<float>("m");
  const float size = std::hypot(m[0], m[2]);
  EXPECT_GT(size, 0.65);
  EXPECT_LT(size, 1.25);
  EXPECT_NEAR(m[0] / m[2], 0.75, 1e-3);
  EXPECT_NEAR(m[1], 0, 1e-6);
}

TEST(OptimizerOptions, AnotherOptimizersLearningRateHasItsName) {
  Strategy strategy("cpu");
  const Optimizer first = SGD(LearningRate::variable(0.5)), second = SGD(LearningRate::variable(0.25));
  std::string name;
  Function f = strategy.function([&](const Features& in) {
    const Tensor w = variable(in["x"], "w", {}, zeros());
    first.apply({in["x"]}, {w});
    second.apply({in["x"]}, {w});
    name = second.learning_rate_name(*w.graph());
    return Outputs{{"rate", second.current_learning_rate(*w.graph())}};
  });
  EXPECT_EQ(f({{"x", 1.0f}})["rate"].item(), 0.25);
  EXPECT_EQ(name, "SGD_1/learning_rate");
  EXPECT_EQ(strategy.read(name).item(), 0.25);
  EXPECT_EQ(strategy.read("w").item(), -0.75);
}

TEST(OptimizerOptions, TheLearningRateOfAScheduleIsThatOfTheNextCall) {
  Strategy strategy("cpu");
  const Optimizer sgd = SGD(PiecewiseConstantDecay({0}, {0.5, 0.25}));
  Function f = strategy.function([&](const Features& in) {
    const Tensor w = variable(in["x"], "w", {}, zeros()), before = sgd.current_learning_rate(*w.graph());
    sgd.apply({in["x"]}, {w});
    return Outputs{{"before", before}, {"after", sgd.current_learning_rate(*w.graph())}};
  });
  const Results r = f({{"x", 1.0f}});
  EXPECT_EQ(r["before"].item(), 0.5);
  EXPECT_EQ(r["after"].item(), 0.25);
}

// The gradient that goes into the f16 product is 1e-8, a third of f16's least number; times 32768 it is one.
TEST(MixedFloat16, NeedsALossScale) {
  const auto trained = [](const Optimizer& optimizer) {
    Strategy strategy("cpu", {.dtype_policy = "mixed_float16"});
    Function f = strategy.function([&](const Features& in) {
      const Tensor w = variable(in["x"], "w", {}, ones());
      const Tensor y = cast(w, compute_dtype(w)) * cast(in["x"], compute_dtype(w));
      minimize(optimizer, cast(y, DType::kF32) * 1e-8);
      return Outputs{};
    });
    f({{"x", 1.0f}});
    return strategy.read("w").item();
  };
  EXPECT_EQ(trained(SGD(1e7)), 1);
  EXPECT_NEAR(trained(LossScaleOptimizer(SGD(1e7))), 0.9, 1e-3);
}

TEST(MixedFloat16, TrainsDenseAndConvolutionWithWeightsInF32) {
  Strategy strategy("cpu", {.seed = 3, .dtype_policy = "mixed_float16"});
  Conv2D convolution({.filters = 4, .kernel = 3, .activation = relu});
  Dense head({.units = 2});
  const Optimizer adam = LossScaleOptimizer(Adam(0.01));
  Function f = strategy.function(
      [&](const Features& in) {
        const Tensor maps = convolution(cast(in["x"], compute_dtype(in["x"])));
        EXPECT_EQ(maps.dtype(), DType::kF16);
        const Tensor logits = cast(head(reshape(maps, {8, 4 * 4 * 4})), DType::kF32);
        const Tensor loss = sparse_categorical_crossentropy(in["y"], logits, {.from_logits = true});
        minimize(adam, loss);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain, .steps_per_call = 40});
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int i = 0; i < 8; ++i) {
    y.push_back(i % 2);
    for (int p = 0; p < 36; ++p) x.push_back((p % 6 < 3) == (i % 2 == 0) ? 1.0f : 0.1f * static_cast<float>(i));
  }
  const Results r = f.repeat(40, {{"x", Array(x, {8, 6, 6, 1})}, {"y", Array(y, {8})}});
  const Floats losses = r["loss"].to<float>();
  EXPECT_LT(losses.back(), 0.3 * losses.front());
  for (const auto& v : strategy.variables()) EXPECT_NE(v.type.dtype, DType::kF16) << v.name;
}

}  // namespace
}  // namespace tenon
