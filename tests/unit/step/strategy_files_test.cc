// Variables of a strategy to files and back, and values that wait for their variables.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/data/temporary_directory.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

const Arrays kBatch = {{"x", Array({1.0f, 2.0f, -1.0f, 0.5f}, {4, 1})}, {"y", Array({3.0f, 1.0f, 0.0f, 2.0f}, {4, 1})}};

Tensor squares(Tensor error) { return reduce_mean(mul(error, error)); }

Outputs fit_line(const Features& in) {
  const Tensor loss = squares(in["y"] - dense(in["x"], {.units = 1}));
  minimize(Adam(0.1), loss);
  return {{"loss", loss}};
}

Function trainer(const Strategy& strategy) { return strategy.function(fit_line, {.mode = Mode::kTrain}); }

Arrays values(const Strategy& strategy) {
  Arrays out;
  for (const auto& v : strategy.variables()) out.emplace(v.name, strategy.read(v.name));
  return out;
}

void expect_same_bits(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    ASSERT_EQ(value.type().str(), b.at(name).type().str());
    EXPECT_TRUE(std::equal(value.bytes().begin(), value.bytes().end(), b.at(name).bytes().begin())) << name;
  }
}

class StrategyFiles : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return directory_ / GetParam(); }
  TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Formats, StrategyFiles, ::testing::Values("state", "state.safetensors"));

TEST_P(StrategyFiles, TrainingGoesOnWithTheSameBits) {
  Strategy one("cpu");
  Function train = trainer(one);
  for (int step = 0; step < 3; ++step) train(kBatch);
  one.save(path());
  for (int step = 0; step < 3; ++step) train(kBatch);

  Strategy other("cpu", {.seed = 7});  // its own first values would be others
  other.load(path());
  EXPECT_EQ(other.waiting(), names(one));
  Function again = trainer(other);
  for (int step = 0; step < 3; ++step) again(kBatch);
  EXPECT_TRUE(other.waiting().empty());
  expect_same_bits(values(one), values(other));
}

TEST_P(StrategyFiles, LoadingGoesBackToWhatWasSaved) {
  Strategy strategy("cpu");
  Function train = trainer(strategy);
  train(kBatch);
  strategy.save(path());
  const Arrays saved = values(strategy);
  train(kBatch);
  strategy.load(path());
  expect_same_bits(values(strategy), saved);
}

TEST_P(StrategyFiles, WhatWaitsIsReadAndSavedToo) {
  Strategy one("cpu");
  trainer(one)(kBatch);
  one.save(path());
  Strategy other("cpu");
  other.load(path());
  EXPECT_EQ(other.read<float>("dense/kernel"), one.read<float>("dense/kernel"));
  other.save(path());
  Strategy third("cpu");
  third.load(path());
  EXPECT_EQ(third.waiting(), names(one));
}

TEST_P(StrategyFiles, AFileOfAnotherModelIsRefusedWhenItsFunctionIsTraced) {
  Strategy one("cpu");
  one.function([](const Features& in) {
    return Outputs{{"y", dense(in["x"], {.units = 1, .name = "other"})}};
  })(kBatch);
  one.save(path());
  Strategy strategy("cpu");
  strategy.load(path());
  EXPECT_EQ(
      message_of([&] { trainer(strategy)(kBatch); }),
      "variable 'dense/kernel' is not in '" + path() + "', which was loaded; nothing has had its 'other/bias' yet");
  EXPECT_TRUE(strategy.variables().empty());
}

TEST_P(StrategyFiles, AFileThatLacksAVariableChangesNothing) {
  Strategy one("cpu");
  one.function([](const Features& in) { return Outputs{{"y", dense(in["x"], {.units = 2})}}; })(kBatch);
  one.save(path());
  Strategy strategy("cpu");
  trainer(strategy)(kBatch);
  const Arrays before = values(strategy);
  EXPECT_EQ(message_of([&] { strategy.load(path()); }),
            "'" + path() +
                "' does not fit: it lacks 'dense/bias/Adam' f32[1], 'dense/bias/Adam_1' f32[1], "
                "'dense/kernel/Adam' f32[1,1], 'dense/kernel/Adam_1' f32[1,1], 'global_step' i64[]; its 'dense/bias' "
                "is f32[2], "
                "expected f32[1], its 'dense/kernel' is f32[1,2], expected f32[1,1]");
  expect_same_bits(values(strategy), before);
}

TEST_P(StrategyFiles, NanIsNotSaved) {
  Strategy strategy("cpu");
  trainer(strategy)(kBatch);
  strategy.save(path());
  strategy.write("dense/bias", Array({std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_EQ(message_of([&] { strategy.save(path()); }),
            "variable 'dense/bias' holds nan or infinity, expected finite numbers");
  strategy.load(path());  // what was saved before is there
  EXPECT_TRUE(std::isfinite(strategy.read<float>("dense/bias")[0]));
}

TEST(StrategyWaiting, AValueIsWrittenBeforeItsVariableIsThere) {
  Strategy strategy("cpu");
  strategy.write("dense/kernel", Array({2.0f}, {1, 1}));
  EXPECT_EQ(strategy.waiting(), Names{"dense/kernel"});
  const Results r = strategy.function([](const Features& in) {
    return Outputs{{"y", dense(in["x"], {.units = 1})}};
  })({{"x", Array({3.0f}, {1, 1})}});
  EXPECT_EQ(r["y"].item(), 6);
}

TEST(StrategyWaiting, AValueOfAnotherTypeIsRefusedWhenTheFunctionIsTraced) {
  Strategy strategy("cpu");
  strategy.write("dense/kernel", Array({2.0f}));
  EXPECT_EQ(message_of([&] { trainer(strategy)(kBatch); }),
            "variable 'dense/kernel' is f32[1,1], and the value that waits for it f32[1]");
  strategy.write("dense/kernel", Array({2.0f}, {1, 1}));  // in its place
  trainer(strategy)(kBatch);
}

}  // namespace
}  // namespace tenon
