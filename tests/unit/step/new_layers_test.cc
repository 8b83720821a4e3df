// Layers that have states, moments of data or draws, as parts of functions and models on a device.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/augmentation.h"
#include "tenon/gradients.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/preprocessing.h"
#include "tenon/recurrent.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

TEST(NewLayers, NormalizationTakesItsMomentsFromAnArray) {
  Strategy strategy("cpu");
  Normalization layer;
  layer.adapt(Array({1.0f, 3.0f}, {2, 1}));
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", layer(in["x"])}}; });
  EXPECT_FLOAT_EQ(static_cast<float>(f({{"x", Array({5.0f}, {1, 1})}})["y"].item()), 3);
  EXPECT_EQ(strategy.read<float>("normalization/mean"), std::vector<float>{2});
}

// An encoder's states start the decoder, by symbols.
TEST(NewLayers, StatesGoFromLayerToLayerInAModel) {
  const Symbol x = Input({3, 2}), y = Input({4, 2});
  const Symbol encoded = LSTM({.units = 5, .return_state = true})(x);
  const Symbol out = LSTM({.units = 5, .return_sequences = true})(std::vector<Symbol>{y, encoded.of(1), encoded.of(2)});
  Model model({x, y}, {TimeDistributed(Dense({.units = 1}))(out)});
  Strategy strategy("cpu");
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", model.all({in["a"], in["b"]})[0]}}; });
  const Results r =
      f({{"a", Array(std::vector<float>(6, 1), {1, 3, 2})}, {"b", Array(std::vector<float>(8, 1), {1, 4, 2})}});
  EXPECT_EQ(r["y"].shape(), (Shape{1, 4, 1}));
  EXPECT_EQ(names(strategy).front(), "lstm/lstm_cell/bias");
}

class OnDevice : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(NewLayers, OnDevice, ::testing::Values("cpu", "tpu-emulator"));

// The sum of four numbers, by what a recurrent layer remembers.
TEST_P(OnDevice, ARecurrentModelLearns) {
  Strategy strategy(GetParam(), {.seed = 3});
  Sequential model({Bidirectional(GRU({.units = 8})), Dense({.units = 1})});
  const Optimizer adam = Adam(0.02);
  Function train = strategy.function(
      [&](const Features& in) {
        const Tensor loss = mean_squared_error(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        adam.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  std::vector<float> x, y;
  for (int i = 0; i < 64; ++i) {
    y.push_back(0);
    for (int t = 0; t < 4; ++t)
      x.push_back(static_cast<float>((37 * (4 * i + t)) % 101 - 50) / 100), y.back() += x.back();
  }
  const Arrays data{{"x", Array(x, {64, 4, 1})}, {"y", Array(y, {64, 1})}};
  const double first = train(data)["loss"].item();
  double last = first;
  for (int step = 0; step < 200; ++step) last = train(data)["loss"].item();
  EXPECT_LT(last, first / 50);
}

// Which of three symbols each of four blocks of steps shows, by labels without their places.
TEST_P(OnDevice, AModelLearnsByConnectionistTemporalClassification) {
  constexpr int64_t kExamples = 16, kSteps = 8, kSymbols = 3;
  Strategy strategy(GetParam(), {.seed = 3});
  Sequential model({Dense({.units = kSymbols + 1})});
  const Optimizer adam = Adam(0.1);
  Function train = strategy.function(
      [&](const Features& in) {
        const Tensor loss = CTC()(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        adam.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain});
  std::vector<float> x(kExamples * kSteps * kSymbols, 0);
  std::vector<int32_t> y;
  for (int64_t i = 0; i < kExamples; ++i)
    for (int64_t block = 0; block < 2; ++block) {
      const int64_t symbol = (i + block * (1 + i / kSymbols % 2)) % kSymbols;
      for (int64_t t = 4 * block; t < 4 * block + 3; ++t) x[(i * kSteps + t) * kSymbols + symbol] = 1;
      y.push_back(static_cast<int32_t>(symbol + 1));
    }
  const Arrays data{{"x", Array(x, {kExamples, kSteps, kSymbols})}, {"y", Array(y, {kExamples, 2})}};
  const double first = train(data)["loss"].item();
  double last = first;
  for (int step = 0; step < 100; ++step) last = train(data)["loss"].item();
  EXPECT_LT(last, first / 20);
}

// Eight units of the emulator have eight of the examples each.
TEST_P(OnDevice, ImagesAreChangedAndMixedWithTheirLabels) {
  Strategy strategy(GetParam());
  Sequential augment(
      {RandomHue({.factor = 0.2}), RandomSaturation({.factor = {0.4, 0.6}}), RandomErasing({.fill_value = {0}})});
  MixUp mix;
  CutMix cut;
  const auto made = [&](Mode mode) {
    return strategy.function(
        [&](const Features& in) {
          const Tensors all = cut.all(mix.all({augment(in["x"]), in["y"]}));
          return Outputs{{"x", all[0]}, {"y", reduce_sum(all[1], {1})}, {"first", all[1]}};
        },
        {.mode = mode});
  };
  std::vector<float> pixels;
  for (int i = 0; i < 64 * 6 * 6 * 3; ++i) pixels.push_back(static_cast<float>(37 * i % 251));
  std::vector<float> labels(64 * 64, 0);
  for (size_t i = 0; i < 64; ++i) labels[65 * i] = 1;
  const Arrays data{{"x", Array(pixels, {64, 6, 6, 3})}, {"y", Array(labels, {64, 64})}};
  const Results changed = made(Mode::kTrain)(data), same = made(Mode::kEval)(data);
  EXPECT_EQ(same["x"].to<float>(), pixels);
  EXPECT_EQ(same["first"].to<float>(), labels);
  EXPECT_NE(changed["x"].to<float>(), same["x"].to<float>());
  EXPECT_NE(changed["first"].to<float>(), labels);
  for (const float sum : changed["y"].to<float>()) EXPECT_NEAR(sum, 1, 1e-5);
  for (const float pixel : changed["x"].to<float>()) EXPECT_TRUE(pixel >= -1e-3f && pixel <= 255.001f) << pixel;
}

TEST(NewLayers, AugmentationIsPartOfAModel) {
  Strategy strategy("cpu");
  Sequential augment({RandomFlip(), RandomRotation({.factor = 0.1}), RandomShear({.x_factor = 0.1}),
                      RandomCrop({.height = 4, .width = 4})});
  const auto made = [&](Mode mode) {
    return strategy.function([&](const Features& in) { return Outputs{{"y", augment(in["x"])}}; }, {.mode = mode});
  };
  const Arrays images{{"x", Array(std::vector<uint8_t>(8 * 6 * 6 * 3, 7), {8, 6, 6, 3})}};
  EXPECT_EQ(made(Mode::kTrain)(images)["y"].shape(), (Shape{8, 4, 4, 3}));
  EXPECT_EQ(made(Mode::kEval)(images)["y"].to<float>(), std::vector<float>(8 * 4 * 4 * 3, 7));
}

// Each example is compared with those of the other unit too, so that loss and gradients are those of the whole batch.
TEST(NewLayers, TheCircleLossIsThatOfTheWholeBatchOnSeveralUnits) {
  const auto trained = [](const char* device) {
    Strategy strategy(device, {.seed = 3});
    Sequential model({Dense({.units = 3, .use_bias = false}), UnitNormalization()});
    const Optimizer sgd = SGD(0.01);
    Function train = strategy.function(
        [&](const Features& in) {
          const Tensor loss = circle(in["y"], model(in["x"]), {.gamma = 2});
          const Tensors weights = model.trainable_variables();
          sgd.apply(gradients(loss, weights), weights);
          return Outputs{{"loss", loss}};
        },
        {.mode = Mode::kTrain});
    std::vector<float> x;
    for (int i = 0; i < 32; ++i) x.push_back(static_cast<float>((37 * i) % 101 - 50) / 25);
    const Array labels(std::vector<int32_t>{0, 1, 0, 1, 2, 0, 1, 0}, {8});
    std::vector<float> out;
    for (int step = 0; step < 3; ++step)
      out.push_back(static_cast<float>(train({{"x", Array(x, {8, 4})}, {"y", labels}})["loss"].mean()));
    const std::vector<float> kernel = strategy.read<float>("dense/kernel");
    out.insert(out.end(), kernel.begin(), kernel.end());
    return out;
  };
  const std::vector<float> one = trained("cpu"), two = trained("cpu:units=2");
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-5f * std::max(1.0f, std::fabs(one[i]))) << i;
}

}  // namespace
}  // namespace tenon
