// Arguments of layers that concern images, with numbers that were worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/layer_classes.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

// Channel 0 of x[2,2,2] holds 1, 3, 5, 7: mean 4, variance 5; channel 1 holds 2, 2, 4, 4: mean 3, variance 1.
TEST(BatchNormalizationAxis, HasMomentsForEachElementOfIt) {
  const Array x(std::vector<float>{1, 3, 2, 2, 5, 7, 4, 4}, {2, 2, 2});
  for (const int64_t axis : {1, -2}) {
    Strategy strategy("cpu");
    BatchNormalization norm({.axis = axis, .momentum = 0.5, .epsilon = 0});
    Function step = strategy.function(
        [&](const Features& in) {
          return Outputs{{"y", norm(in["x"])}};
        },
        {.mode = Mode::kTrain});
    const std::vector<float> y = step({{"x", x}})["y"].to<float>();
    const float a = 1 / std::sqrt(5.0f);
    const std::vector<float> expected{-3 * a, -a, -1, -1, a, 3 * a, 1, 1};
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6) << axis << " " << i;
    EXPECT_EQ(strategy.read<float>("batch_normalization/moving_mean"), (std::vector<float>{2, 1.5f}));
    EXPECT_EQ(strategy.read<float>("batch_normalization/moving_variance"), (std::vector<float>{3, 1}));
  }
}

// The residual and the activation behind it stay where they are: 1 is added to what is above, and what is negative is 0.
TEST(BatchNormalizationAxis, AddsAResidual) {
  const Array x(std::vector<float>{1, 3, 2, 2, 5, 7, 4, 4}, {2, 2, 2});
  Function step = Strategy("cpu").function(
      [](const Features& in) {
        return Outputs{
            {"y", batch_normalization(in["x"], {.axis = 1, .epsilon = 0, .activation = relu, .residual = in["r"]})}};
      },
      {.mode = Mode::kTrain});
  const std::vector<float> y =
      step({{"x", x}, {"r", Array(std::vector<float>{1, 0, 0, 0, 0, 0, 0, 1}, {2, 2, 2})}})["y"].to<float>();
  const float a = 1 / std::sqrt(5.0f);
  const std::vector<float> expected{0, 0, 0, 0, a, 3 * a, 1, 2};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-6) << i;
}

TEST(BatchNormalizationAxis, IsOneOfTheInputs) {
  Function step = Strategy("cpu").function([](const Features& in) {
    return Outputs{{"y", batch_normalization(in["x"], {.axis = 3})}};
  });
  EXPECT_EQ(message_of([&] {
              step({{"x", Array(std::vector<float>(8), {2, 2, 2})}});
            }),
            "batch_normalization 'batch_normalization': axis 3 is out of range for f32[2,2,2]");
}

// Half-pixel centres: between 0 and 4 lie 1 and 3, at the ends the pixels themselves.
TEST(UpSampling2D, MixesBilinearly) {
  Sequential model({Input({1, 2, 1}), UpSampling2D({1, 2}, ResizeMethod::kBilinear), UpSampling2D({2, 1})});
  model.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(model.predict(Array(std::vector<float>{0, 4}, {1, 1, 2, 1}))[0].to<float>(),
            (std::vector<float>{0, 1, 3, 4, 0, 1, 3, 4}));
}

}  // namespace
}  // namespace tenon
