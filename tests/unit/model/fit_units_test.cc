// fit, evaluate and predict on devices of several units.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "tenon/noise.h"
#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

// On units of a device a batch is dealt over them.
TEST(Fit, OnSeveralUnitsGivesTheSame) {
  std::vector<double> losses[2];
  for (const char* device : {"cpu", "cpu:units=2"}) {
    Sequential model = regularized();
    CompileOptions options = sgd(0.1);
    options.strategy = Strategy(device);
    model.compile(options);
    FitOptions fit = epochs(3);
    fit.batch_size = 8;
    losses[options.strategy->num_replicas_in_sync() - 1] = model.fit(first_input(), labels(), fit)["loss"];
    EXPECT_EQ(model.predict(first_input().rows(0, 3))[0].shape(), (Shape{3, 3}));
  }
  expect_near(losses[1], losses[0]);
}

// Losses, metrics, weights, moments and what is dropped are those of one unit.
TEST(Fit, OnSeveralUnitsTrainsOnALastBatchThatDoesNotDivide) {
  const auto trained = [](const std::string& device, int64_t rows, bool bounded, const FitOptions& options) {
    Sequential model({Dense(tanh_of(6)), Dropout(0.4), ActivityRegularization({.l2 = 0.1}), Dense(dense_of(3))});
    if (rows < 8) model.add(BatchNormalization({.momentum = 0.5}));  // a batch that is dealt has each unit's moments
    CompileOptions compile = sgd(0.1);
    compile.strategy = Strategy(device, {.seed = 3});
    compile.bounded_batch = bounded;
    model.compile(compile);
    std::vector<float> weights;
    for (int64_t i = 0; i < rows; ++i) weights.push_back(static_cast<float>(1 + i % 4) / 2);
    const Array x = first_input().rows(0, rows), y = labels().rows(0, rows);
    const FitData data = options.class_weight.empty() ? FitData(x, y, Array(weights)) : FitData(x, y);
    std::vector<double> seen = model.fit(data, options)["loss"];
    for (const char* name : {"accuracy", "wce"})
      for (const double value : model.fit(data, options)[name]) seen.push_back(value);
    for (const std::string& weight : model.weights())
      for (const float value : model.strategy().read<float>(weight)) seen.push_back(value);
    return seen;
  };
  for (const int64_t rows : {3, 8, 15, 19})
    for (const bool bounded : {false, true})
      for (const bool by_class : {false, true}) {
        FitOptions options = epochs(3);
        options.batch_size = 8;
        if (by_class) options.class_weight = {{1, 2.0}};
        SCOPED_TRACE(cat(rows, " rows", bounded ? " in one program" : "", by_class ? ", weighed by class" : ""));
        expect_near(trained("cpu:units=4", rows, bounded, options), trained("cpu", rows, bounded, options));
      }
}

// What attention drops, and whole channels, are drawn by other ops.
TEST(Fit, OnSeveralUnitsDropsInALastBatchWhatOneUnitDrops) {
  const auto losses = [](const std::string& device) {
    const Symbol x = Input({3, 4});
    const Symbol seen = AnyLayer(SpatialDropout1D(0.5))(x);
    const Symbol y = AnyLayer(MultiHeadAttention({.num_heads = 2, .key_dim = 2, .dropout = 0.5}))({seen, seen});
    Model model({x}, {Dense(dense_of(3))(Flatten()(y))});
    CompileOptions compile = sgd(0.1);
    compile.strategy = Strategy(device, {.seed = 3});
    model.compile(compile);
    FitOptions options = epochs(4);
    options.batch_size = 8;
    return model.fit(Array(pattern(7 * 12, 7, 11, 5, 4), {7, 3, 4}), labels().rows(0, 7), options)["loss"];
  };
  const std::vector<double> one = losses("cpu");
  expect_near(losses("cpu:units=4"), one);
  EXPECT_NE(one[1], one[0]);
}

TEST(OnBatch, OnSeveralUnitsTakesAnyNumberOfRows) {
  const auto seen = [](const std::string& device) {
    Sequential model({Dense(tanh_of(6)), Dropout(0.4), Dense(dense_of(3))});
    CompileOptions compile = sgd(0.1);
    compile.strategy = Strategy(device, {.seed = 3});
    compile.steps_per_execution = 2;
    model.compile(compile);
    std::vector<double> out;
    for (const int64_t rows : {5, 8, 1, 5, 7}) {
      const Array x = first_input().rows(0, rows), y = labels().rows(0, rows);
      for (const Logs& logs : {model.train_on_batch(x, y), model.test_on_batch(x, y)})
        for (const auto& [name, value] : logs) out.push_back(value);
      for (const double value : model.predict_on_batch(x)[0].to<double>()) out.push_back(value);
    }
    return out;
  };
  expect_near(seen("cpu:units=4"), seen("cpu"));
}

// Several batches in a call, of which the last has fewer rows.
TEST(Predict, OnSeveralUnitsGivesWhatOneUnitGives) {
  const auto predicted = [](const std::string& device, int steps) {
    Sequential model({Dense(tanh_of(6)), Dense(dense_of(3))});
    CompileOptions compile = sgd(0.1);
    compile.strategy = Strategy(device, {.seed = 3});
    compile.steps_per_execution = steps;
    model.compile(compile);
    const Array all = model.predict(first_input().rows(0, 23), {.batch_size = 4})[0];
    EXPECT_EQ(all.shape(), (Shape{23, 3}));
    return all.to<double>();
  };
  const std::vector<double> one = predicted("cpu", 1);
  for (const int steps : {1, 2, 4, 10}) {
    SCOPED_TRACE(steps);
    expect_near(predicted("cpu:units=2", steps), one);
    expect_near(predicted("cpu:units=4", steps), one);
  }
}

TEST(Fit, OnSeveralUnitsShufflesAndWantsBatchesThatDivide) {
  const auto losses = [](const std::string& device, int64_t batch, int64_t rows) {
    Sequential model = regularized();
    CompileOptions compile = sgd(0.1);
    compile.strategy = Strategy(device);
    model.compile(compile);
    FitOptions options = epochs(3);
    options.batch_size = batch;
    options.shuffle = true;
    return model.fit(first_input().rows(0, rows), labels().rows(0, rows), options)["loss"];
  };
  expect_near(losses("cpu:units=4", 8, 23), losses("cpu", 8, 23));
  expect_near(losses("cpu:units=4", 32, 23), losses("cpu", 32, 23));
  EXPECT_EQ(message_of([&] { losses("cpu:units=4", 10, 23); }),
            "fit: batches of 10 rows must be divisible by number of replicas 4");
}

// A last batch that does not divide is measured whole: 5 and 7 rows are one sum and one weighted mean.
TEST(Evaluate, OnSeveralUnitsMeasuresALastBatchAsOneUnitDoes) {
  const auto seen = [](const std::string& device, int64_t rows, const Loss& loss) {
    Sequential model({Dense(dense_of(3))});
    CompileOptions options = sgd(0.1);
    options.loss = loss;
    options.strategy = Strategy(device, {.seed = 3});
    model.compile(options);
    const Array x = first_input().rows(0, rows), y = labels().rows(0, rows);
    std::vector<float> weights;
    for (int64_t i = 0; i < rows; ++i) weights.push_back(static_cast<float>(i % 5));
    const FitData data(x, y, Array(weights));
    FitOptions fit = epochs(1);
    fit.batch_size = 8;
    fit.validation_split = 0.4;
    return std::vector<double>{model.evaluate(data, {.batch_size = 8, .verbose = Verbose::kSilent}).at("loss"),
                               model.fit(data, fit)["val_loss"][0]};
  };
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMeanWithSampleWeight})
    for (const int64_t rows : {5, 13, 23}) {
      const Loss loss = SparseCategoricalCrossentropy({.from_logits = true, .reduction = reduction});
      SCOPED_TRACE(rows);
      expect_near(seen("cpu:units=4", rows, loss), seen("cpu", rows, loss));
    }
}

TEST(Evaluate, OnSeveralUnitsWantsBatchesThatDivide) {
  Sequential model = regularized();
  CompileOptions compile = sgd(0.1);
  compile.strategy = Strategy("cpu:units=4");
  model.compile(compile);
  const std::string why = ": batches of 3 rows must be divisible by number of replicas 4";
  const FitData data(first_input(), labels());
  EXPECT_EQ(message_of([&] { model.evaluate(data, {.batch_size = 3}); }), "evaluate" + why);
  EXPECT_EQ(model.predict(first_input(), {.batch_size = 3, .steps = 2})[0].dim(0), 6);
  EXPECT_EQ(model.predict(first_input(), {.batch_size = 9, .steps = 3})[0].dim(0), kExamples);
  FitOptions fit = epochs(1);
  fit.batch_size = 8;
  fit.validation_data = data;
  fit.validation_batch_size = 3;
  EXPECT_EQ(message_of([&] { model.fit(data, fit); }), "fit: validation_data" + why);
}

TEST(Evaluate, OnSeveralUnitsCountsEachExampleOnce) {
  for (const int64_t rows : {1, 5, 10, 19}) {
    std::vector<Logs> found;
    for (const char* device : {"cpu", "cpu:units=4"}) {
      Sequential model = regularized();
      CompileOptions options = sgd(0.1);
      options.strategy = Strategy(device);
      model.compile(options);
      EvaluateOptions evaluate{.batch_size = 8, .verbose = Verbose::kSilent};
      evaluate.steps = (rows + 7) / 8;
      found.push_back(model.evaluate(first_input().rows(0, rows), labels().rows(0, rows), evaluate));
    }
    for (const auto& [name, value] : found[0]) EXPECT_NEAR(found[1].at(name), value, kTolerance) << name << rows;
  }
}

}  // namespace
}  // namespace tenon
