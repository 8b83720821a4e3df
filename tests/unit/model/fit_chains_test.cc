// Data whose number of batches nobody knows before they have been read, and batches of several shapes.
#include <gtest/gtest.h>

#include "tenon/callbacks.h"
#include "tenon/ops.h"
#include "tenon/preprocessing.h"
#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

// The examples of batches_of_six(), one by one.
Dataset examples() { return Dataset::from_arrays({{"x", first_input()}, {"y", labels()}}).take(kExamples); }
Dataset uncounted() {
  return examples().filter([](const Element&) { return true; }).batch(6);
}

struct SeesSteps : Callback {
  void on_epoch_begin(TrainingRun& run, int) override { steps.push_back(run.steps_per_epoch()); }
  void on_test_begin(TrainingRun& run) override { steps.push_back(run.steps_per_epoch()); }
  std::vector<int64_t> steps;
};

TEST(FitOfChains, UncountedDataTrainLikeCountedOnes) {
  ASSERT_EQ(uncounted().batches(), kUnknownCardinality);
  std::vector<std::vector<double>> losses;
  for (const Dataset& data : {batches_of_six(), uncounted()}) {
    Sequential model = regularized();
    model.compile(sgd(0.1));
    SeesSteps sees;
    FitOptions options = epochs(3);
    options.callbacks = {sees};
    losses.push_back(model.fit(data, options)["loss"]);
    losses.push_back({model.evaluate(data, {.verbose = Verbose::kSilent, .callbacks = {sees}}).at("loss")});
    losses.push_back(model.predict(data, {.verbose = Verbose::kSilent})[0].to<double>());
    const bool counted = data.batches() > 0;
    EXPECT_EQ(sees.steps, (std::vector<int64_t>{counted ? 4 : 0, 4, 4, counted ? 4 : 0}));
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(losses[i], losses[i + 3]);
  EXPECT_EQ(losses[2].size(), static_cast<size_t>(kExamples) * 3);
}

// Keras prints "N/Unknown" in the first epoch alone.
TEST(FitOfChains, TheBarKnowsTheStepsFromTheSecondEpochOn) {
  Sequential model = regularized();
  model.compile(sgd(0));
  FitOptions options = epochs(2);
  options.verbose = Verbose::kBar;
  testing::internal::CaptureStdout();
  model.fit(uncounted(), options);
  const std::string shown = testing::internal::GetCapturedStdout();
  const size_t second = shown.find("Epoch 2/2");
  ASSERT_NE(second, std::string::npos);
  EXPECT_NE(shown.substr(0, second).find("1/Unknown"), std::string::npos);
  EXPECT_NE(shown.substr(0, second).find("4/4"), std::string::npos);
  EXPECT_EQ(shown.substr(second).find("Unknown"), std::string::npos);
}

TEST(FitOfChains, RepeatedDataNeedStepsPerEpoch) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  const Dataset data = uncounted().repeat();
  EXPECT_EQ(message_of([&] { model.fit(data, epochs(1)); }),
            "fit: the data repeat for ever: steps_per_epoch says where an epoch ends");
  FitOptions options = epochs(2);
  options.steps_per_epoch = 5;
  EXPECT_EQ(model.fit(data, options)["loss"].size(), 2u);
  EXPECT_EQ(message_of([&] { model.evaluate(data, {.verbose = Verbose::kSilent}); }),
            "evaluate: the data repeat for ever: steps says how many batches to take");
}

TEST(FitOfChains, DataWithoutAnElementAreToldOf) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  const Dataset none = examples().filter([](const Element&) { return false; }).batch(6);
  EXPECT_EQ(message_of([&] { model.fit(none, epochs(1)); }), "the data have no elements");
}

TEST(FitOfChains, NormalizationAdaptsToUncountedData) {
  Normalization counted, other;
  counted.adapt(batches_of_six(), "x");
  other.adapt(uncounted(), "x");
  Sequential a({counted}), b({other});
  const Array x = first_input();
  EXPECT_EQ(a.predict(x, {.verbose = Verbose::kSilent})[0].to<float>(),
            b.predict(x, {.verbose = Verbose::kSilent})[0].to<float>());
  EXPECT_EQ(message_of([&] { other.adapt(uncounted().repeat(), "x"); }),
            "normalization: adapt(): the data repeat for ever");
}

// ---- batches of several shapes ----

// Sums x[batch, time] over time, so that padding with 0 changes nothing.
struct SumOfTime : LayerOf<SumOfTime> {
  Tensor call(Tensor x) override { return reduce_sum(x, {1}, true); }
};

// Lengths 1 .. 20, and the sum as a target.
Dataset sequences() {
  return Dataset::range(0, 60).map([](Element e) {
    const auto i = e.at("x").to<int64_t>()[0];
    std::vector<float> x(static_cast<size_t>(i * 7 % 20 + 1));
    float sum = 0;
    for (size_t k = 0; k < x.size(); ++k) sum += x[k] = static_cast<float>(i % 5) / 4 + static_cast<float>(k) / 16;
    return Element{{"x", Array(x)}, {"y", Array(std::vector<float>{sum / 3})}};
  });
}
int64_t length_of(const Element& e) { return e.at("x").dim(0); }
// Many short ones in a batch: more numbers than a batch of long ones has.
Dataset bucketed() {
  return sequences().bucket_by_sequence_length(length_of, {6, 12, 21}, {16, 8, 2, 1},
                                               {.padded_shapes = {{"y", {1}}}, .pad_to_bucket_boundary = true});
}

CompileOptions mse() { return {.optimizer = SGD(0.001), .loss = "mse", .strategy = Strategy("cpu")}; }

TEST(FitOfChains, BucketsOfAnySizesAreEvaluatedLikeOneShape) {
  const Dataset one_shape = sequences().padded_batch(60, {.padded_shapes = {{"x", {20}}, {"y", {1}}}});
  Sequential model({SumOfTime(), Dense(dense_of(1))});
  model.compile(mse());
  const auto loss = [&](const Dataset& data) { return model.evaluate(data, {.verbose = Verbose::kSilent}).at("loss"); };
  EXPECT_NEAR(loss(bucketed()), loss(one_shape), 1e-5);
  const double before = loss(one_shape);
  const History history = model.fit(bucketed(), epochs(4));
  EXPECT_LT(loss(one_shape), before);
  EXPECT_LT(history["loss"][3], history["loss"][0]);
  std::vector<double> found = model.predict(bucketed(), {.verbose = Verbose::kSilent})[0].to<double>();
  std::vector<double> expected = model.predict(one_shape, {.verbose = Verbose::kSilent})[0].to<double>();
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  expect_near(found, expected);
}

TEST(FitOfChains, FunctionsTakeBucketsOneShapeAfterTheOther) {
  const Strategy strategy("cpu");
  Function sums = strategy.function(
      [](const Features& in) {
        return Outputs{{"sum", reduce_sum(in["x"], {0, 1})}};
      },
      {.remainder = Remainder::kWhole});
  const Dataset data = bucketed();
  double found = 0, expected = 0;
  for (Results r = sums(data); r; r = sums(data)) found += r["sum"].item();
  for (const Element& e : sequences()) expected += e.at("x").sum();
  EXPECT_NEAR(found, expected, 1e-3);
}

TEST(FitOfChains, UnitsShareBatchesOfBucketsThatTheyDivide) {
  Sequential model({SumOfTime(), Dense(dense_of(1))});
  CompileOptions options = mse();
  options.strategy = Strategy("tpu-emulator:v2-8,dots=f32");
  model.compile(options);
  const Dataset data = sequences().bucket_by_sequence_length(
      length_of, {11, 21}, {16, 8, 8},
      {.padded_shapes = {{"y", {1}}}, .pad_to_bucket_boundary = true, .drop_remainder = true});
  EXPECT_EQ(model.predict(data, {.verbose = Verbose::kSilent})[0].dim(0) % 8, 0);
  EXPECT_EQ(model.fit(data, epochs(2))["loss"].size(), 2u);
  EXPECT_EQ(message_of([&] { model.predict(bucketed(), {.verbose = Verbose::kSilent}); }).substr(0, 40),
            "predict: batches of buckets have multipl");
}

}  // namespace
}  // namespace tenon
