// Normalization's adapt(), before and after the layer is in a model: means and variances by hand.
#include <gtest/gtest.h>

#include "tenon/preprocessing.h"
#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Array column(const std::vector<float>& values) { return Array(values, {static_cast<int64_t>(values.size()), 1}); }
// 1 3: mean 2, variance 1. 10 30: mean 20, variance 100.
const Array kSmall = column({1, 3}), kLarge = column({10, 30});

Model around(const Normalization& scale) {
  const Symbol x = Input({1});
  return Model({x}, {scale(x)});
}

TEST(Adapt, OfALayerThatIsInAModelAlready) {
  for (const bool built : {false, true}) {
    Normalization scale;
    Model model = around(scale);
    model.compile({.strategy = Strategy("cpu")});
    if (built) EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{5});
    scale.adapt(kSmall);
    EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{3});
    EXPECT_EQ(model.strategy().read<float>("normalization/mean"), std::vector<float>{2});
    EXPECT_EQ(model.strategy().read<int32_t>("normalization/count"), std::vector<int32_t>{2});
    scale.adapt(kLarge);
    EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{-1.5f});
    EXPECT_EQ(model.strategy().read<float>("normalization/variance"), std::vector<float>{100});
  }
}

TEST(Adapt, OfACopyAndOfWhatGetLayerGives) {
  Normalization scale;
  Normalization copy = scale;
  copy.adapt(kSmall);
  Sequential model({Input({1}), scale});
  model.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{3});
  dynamic_cast<Normalization&>(*model.get_layer(-1)).adapt(kLarge);
  EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{-1.5f});
  Model other = around(copy);
  other.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(other.predict(column({5}))[0].to<float>(), std::vector<float>{-1.5f});
}

TEST(Adapt, ReachesEachStrategyAndReplacesWhatWasLoaded) {
  Normalization scale;
  const auto f = [&](const Features& in) { return Outputs{{"y", scale(in["x"])}}; };
  Strategy one("cpu"), two("cpu", {.dtype_policy = "bfloat16"});
  Function on_one = one.function(f), on_two = two.function(f);
  on_one({{"x", column({5})}}), on_two({{"x", column({5})}});
  scale.adapt(kSmall);
  EXPECT_EQ(on_one({{"x", column({5})}})["y"].item(), 3);
  EXPECT_EQ(on_two({{"x", column({5})}})["y"].item(), 3);
}

// 0 to 9: mean 4.5, variance (10^2 - 1) / 12.
TEST(Adapt, ToADatasetBatchByBatch) {
  std::vector<float> values(10), twice;
  for (int i = 0; i < 10; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i), twice.push_back(0), twice.push_back(1);
  const Arrays arrays{{"x", column(values)}, {"other", Array(twice, {10, 2})}, {"label", Array(values)}};
  for (const bool repeat : {false, true}) {
    const Dataset data = Dataset::from_arrays(arrays, {.batch_size = 4, .training = true, .repeat = repeat});
    Normalization scale, other;
    scale.adapt(data, "x");
    EXPECT_FLOAT_EQ(scale.options().adapted_mean.at(0), 4.5f);
    EXPECT_FLOAT_EQ(scale.options().adapted_variance.at(0), 8.25f);
    EXPECT_EQ(scale.options().adapted_count, 10);
    other.adapt(data, "other");
    EXPECT_EQ(other.options().adapted_mean, (std::vector<float>{0, 1}));
    EXPECT_EQ(message_of([&] { scale.adapt(data); }), "normalization: adapt(): which feature is meant of label, other, x?");
    EXPECT_EQ(message_of([&] { scale.adapt(data, "z"); }),
              "normalization: adapt(): the data have no feature 'z', only label, other, x");
  }
  Normalization pixels({.axis = {}});
  pixels.adapt(Dataset::from_arrays({{"image", Array(std::vector<uint8_t>{0, 2, 4, 6}, {2, 2})}}, {.batch_size = 1}));
  EXPECT_EQ(pixels.options().adapted_mean, std::vector<float>{3});
  EXPECT_EQ(pixels.options().adapted_variance, std::vector<float>{5});
}

TEST(Adapt, SaysWhatIsWrongAndLeavesTheLayer) {
  Normalization given({.mean = {1}, .variance = {4}}), scale;
  EXPECT_EQ(message_of([&] { given.adapt(kSmall); }),
            "normalization: adapt() of a layer that was given its mean and variance");
  Model model = around(scale);
  model.compile({.strategy = Strategy("cpu")});
  scale.adapt(kSmall);
  EXPECT_NE(message_of([&] { scale.adapt(Array({1.0f, 2.0f}, {1, 2})); }).find("'normalization/mean'"), std::string::npos);
  EXPECT_EQ(model.predict(column({5}))[0].to<float>(), std::vector<float>{3});
}

}  // namespace
}  // namespace tenon
