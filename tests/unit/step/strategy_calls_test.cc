// Calls of functions that are not as the device does them: more steps than a call takes, batches that units cannot share,
// layers in another dtype than their inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/model.h"
#include "tenon/optimizers.h"
#include "tenon/variables.h"
#include "unit/step/step_testing.h"

namespace tenon::strategy_calls {
namespace {

class Calls : public testing::TestWithParam<const char*> {
 protected:
  Strategy strategy(const std::string& policy = "float32") const {
    return Strategy(GetParam(), {.dtype_policy = policy});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Calls, testing::Values("cpu", "cpu:units=4", "tpu-emulator:v2-8", "opencl-gpu"));

// Counts by one, to six at most.
Outputs count(const Features& in) {
  const Tensor n = variable(in["by"], "n", {}, zeros());
  const Tensor next = n + in["by"];
  assign(n, next);
  return {{"n", next},
          {"twice", last(next * 2.0)},
          {"pair", concat({reshape(next, {1}), reshape(-next, {1})}, 0)},
          {"stop", until(compare(next, scalar_like(next, 6), CompareKind::kGe))}};
}

TEST_P(Calls, MoreStepsThanACallTakesAreSeveralCalls) {
  for (const int steps_per_call : {1, 2, 3, 7}) {
    SCOPED_TRACE(steps_per_call);
    const Strategy its = strategy();
    Function counter = its.function(count, {.steps_per_call = steps_per_call});
    const Results four = counter.repeat(4, {{"by", 1.0f}});
    EXPECT_EQ(four["n"].to<float>(), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(four["pair"].to<float>(), (std::vector<float>{1, -1, 2, -2, 3, -3, 4, -4}));
    EXPECT_EQ(four["pair"].shape(), (Shape{4, 2}));
    EXPECT_EQ(four["twice"].item(), 8);
    EXPECT_EQ(four.steps(), 4);
    const Results rest = counter.repeat(5, {{"by", 1.0f}});  // stops at six
    EXPECT_EQ(rest["n"].to<float>(), (std::vector<float>{5, 6}));
    EXPECT_EQ(rest.steps(), 2);
    EXPECT_EQ(its.read("n").item(), 6);
  }
}

Dataset up_to(int64_t count, int64_t batch) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    out.get<float>(0)[0] = static_cast<float>(example);
    return {};
  };
  return Dataset::from_function(count, {{"x", {DType::kF32, {}}}}, fill, {.batch_size = batch}).take();
}

// The rows 16 to 21 have the mean 18.5; with two of zeros it would be 13.875.
TEST_P(Calls, RowsThatPadABatchCountInNoMean) {
  const Strategy its = strategy();
  Function mean = its.function(
      [](const Features& in) {
        const Tensor all = reduce_mean(in["x"]), sum = variable(all, "sum", {}, zeros());
        assign(sum, sum + all);
        return Outputs{{"mean", all}, {"twice", in["x"] * 2.0}};
      },
      {.remainder = Remainder::kPad});
  const Dataset data = up_to(22, 8);
  for (const double expected : {3.5, 11.5, 18.5}) EXPECT_EQ(mean(data)["mean"].item(), expected);
  EXPECT_EQ(its.read("sum").item(), 3.5 + 11.5 + 18.5);
  EXPECT_FALSE(mean(data));
}

TEST_P(Calls, RowsThatPadABatchAreLeftOut) {
  const Strategy its = strategy();
  Function twice = its.function(
      [](const Features& in) {
        return Outputs{{"twice", in["x"] * 2.0}};
      },
      {.remainder = Remainder::kPad});
  const Dataset data = up_to(22, 8);
  twice(data);
  twice(data);
  EXPECT_EQ(twice(data)["twice"].to<float>(), (std::vector<float>{32, 34, 36, 38, 40, 42}));
}

// 1 + 2^-8 is no number of bf16, which has 1 and 1 + 2^-7; in f32 its square is 1 + 2^-7 + 2^-16.
TEST_P(Calls, LayersComputeInWhatThePolicySays) {
  constexpr float kBetween = 1.00390625f;
  for (const std::string policy : {"float32", "mixed_bfloat16", "bfloat16"}) {
    SCOPED_TRACE(policy);
    const DenseOptions one{.units = 1, .kernel_initializer = constant_initializer(kBetween)};
    const Strategy its = strategy(policy);
    Dense object(one);
    Sequential model({Dense(one)});
    DType computed = DType::kNone;
    Function call = its.function([&](const Features& in) {
      const Tensor x = in["x"];
      computed = dense(x, one).dtype();
      return Outputs{{"object", cast(object(x), DType::kF32)},
                     {"model", cast(model(x), DType::kF32)},
                     {"function", cast(dense(x, one), DType::kF32)}};
    });
    const bool rounds = policy != "float32" || its.device().starts_with("tpu");  // as a TPU's matrix unit does in f32
    const float expected = rounds ? 1.0f : kBetween * kBetween;
    const Results r = call({{"x", Array(std::vector<float>(8, kBetween), {8, 1})}});
    for (const char* name : {"object", "model", "function"})
      EXPECT_EQ(r[name].to<float>(), std::vector<float>(8, expected)) << name;
    EXPECT_EQ(computed, policy == "float32" ? DType::kF32 : DType::kBF16);
    EXPECT_EQ(its.read("dense/kernel").dtype(), policy == "bfloat16" ? DType::kBF16 : DType::kF32);
  }
}

TEST_P(Calls, AFunctionTrainsInAMixedPolicy) {
  const Strategy its = strategy("mixed_bfloat16");
  Sequential model({Dense({.units = 8, .activation = relu}), Dense(1)});
  const Optimizer adam = Adam(0.05);
  Function step = its.function(
      [&](const Features& in) {
        const Tensor loss = mean_squared_error(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        adam.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  const Arrays line{{"x", Array({0, 1, 2, 3, 4, 5, 6, 7}, {8, 1})}, {"y", Array({1, 3, 5, 7, 9, 11, 13, 15}, {8, 1})}};
  const double first = step(line)["loss"].item();
  double loss = 0;
  for (int i = 0; i < 60; ++i) loss = step(line)["loss"].item();
  EXPECT_LT(loss, first / 10);
}

// 300 * 300 is more than 65504, the largest number of f16.
TEST(CallsInHalf, ALayerOverflows) {
  const Strategy strategy("cpu", {.dtype_policy = "mixed_float16"});
  Function f = strategy.function([](const Features& in) {
    const Dense layer({.units = 1, .kernel_initializer = constant_initializer(300)});
    return Outputs{{"y", cast(Dense(layer)(in["x"]), DType::kF32)}};
  });
  EXPECT_TRUE(std::isinf(f({{"x", Array({300.0f}, {1, 1})}})["y"].item()));
}

}  // namespace
}  // namespace tenon::strategy_calls
