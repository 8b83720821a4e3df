// Updates behind a gate that optimizers close: while gradients are collected, and where one is not finite. On each device.
#include <gtest/gtest.h>

#include <limits>

#include "tenon/layer_classes.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

namespace tenon {
namespace {

// One weight w, 1 at first, whose gradient is what a step is given.
class GatedUpdates : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!resolve_device(GetParam()).ok()) GTEST_SKIP() << "no " << GetParam();
    strategy_.emplace(GetParam());
  }
  // w after a step with each of these gradients.
  std::vector<double> trained(const Optimizer& optimizer, const std::vector<float>& gradients) {
    const auto scope = strategy_->scope();
    Dense weight({.units = 1, .use_bias = false, .kernel_initializer = ones()});
    Function step = strategy_->function(
        [&](const Features& in) {
          const Tensor loss = reduce_mean(weight(in["gradient"]), {0, 1});
          minimize(optimizer, loss);
          return Outputs{{"loss", loss}};
        },
        {.mode = Mode::kTrain});
    std::vector<double> out;
    for (const float g : gradients) {
      step({{"gradient", Array(std::vector<float>(8, g), {8, 1})}});
      out.push_back(strategy_->read("dense/kernel").item());
    }
    return out;
  }
  std::optional<Strategy> strategy_;
};

TEST_P(GatedUpdates, WaitForTheLastOfTheGradientsThatAreCollected) {
  const Optimizer optimizer = SGD({.learning_rate = 1, .gradient_accumulation_steps = 2});
  EXPECT_EQ(trained(optimizer, {1, 3, 5, 1}), (std::vector<double>{1, -1, -1, -4}));
}

TEST_P(GatedUpdates, LeaveOutAGradientThatIsNotFinite) {
  const Optimizer optimizer = LossScaleOptimizer(SGD(1.0), {.initial_scale = 8});
  EXPECT_EQ(trained(optimizer, {2, std::numeric_limits<float>::infinity(), 3}), (std::vector<double>{-1, -1, -4}));
  EXPECT_EQ(strategy_->read("dynamic_scale").item(), 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, GatedUpdates, testing::Values("cpu", "opencl-gpu", "tpu-emulator:v3-8"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

}  // namespace
}  // namespace tenon
