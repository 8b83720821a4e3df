// Losses, metrics and predictions of fit, evaluate and predict against Keras 3.15.1 (JAX, f32) on the same data and first weights.
#include <gtest/gtest.h>

#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

TEST(Fit, OfTwoInputsAsKeras) {
  const Symbol a = Input({4}, DType::kF32, "a"), b = Input({3}, DType::kF32, "b");
  DenseOptions rectified = dense_of(4);
  rectified.activation = relu;
  Model model({a, b}, {Dense(dense_of(3))(Concatenate()({Dense(tanh_of(5))(a), Dense(rectified)(b)}))});
  model.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .strategy = Strategy("cpu")});
  const double expected[] = {
      1.0809506, 1.0677855, 1.1793108, 1.0615524, 1.0387058, 1.1737289, 1.0521474, 0.9995547, 1.1476222, 1.0534875,
      0.9648659, 1.123262,  1.0575995, 0.9315222, 1.102366,  1.0568315, 0.8990445, 1.087989,  1.0468156, 0.867407,
      1.0747616, 1.0350027, 0.8353974, 1.0594983, 1.0233724, 0.7982843, 1.0447699, 1.0147266, 0.7596356, 1.0311947,
      1.0049771, 0.724425,  1.0194901, 0.9938878, 0.6925361, 1.0115265, 0.9848319, 0.6607891, 1.0076011, 0.9760168,
      0.6313305, 1.0071954, 0.9617032, 0.5999138, 1.0121068, 0.9510136, 0.5755719, 1.0022098, 0.9402125, 0.5524232};
  for (int step = 0; step < 50; ++step) {
    const int64_t at = step % 3 * 8;
    const Arrays x{{"a", first_input().rows(at, 8)}, {"b", second_input().rows(at, 8)}};
    const Logs logs = model.train_on_batch(x, labels().rows(at, 8));
    EXPECT_NEAR(logs.at("loss"), expected[step], kTolerance) << "step " << step;
  }
}

TEST(Fit, WithAPartialLastBatchAndASplitAsKeras) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions options = epochs(3);
  options.validation_split = 0.25;
  const History h = model.fit(first_input(), labels(), options);
  EXPECT_EQ(h.epoch, (std::vector<int>{0, 1, 2}));
  expect_near(h["accuracy"], {0.3333333, 0.2777778, 0.2777778});
  expect_near(h["loss"], {1.1186285, 1.1157812, 1.1130962});
  expect_near(h["wce"], {1.1085061, 1.10579, 1.1032233});
  expect_near(h["val_accuracy"], {0.3333333, 0.3333333, 0.3333333});
  expect_near(h["val_loss"], {1.1343523, 1.1372404, 1.1400632});
  expect_near(h["val_wce"], {1.1243293, 1.1273376, 1.1302681});
  const Logs found = model.evaluate(first_input(), labels(), {.batch_size = 10, .verbose = Verbose::kSilent});
  expect_near({found.at("loss"), found.at("accuracy"), found.at("wce")}, {1.1168958, 0.2916667, 1.1071008});
  const std::vector<Array> predicted = model.predict(first_input().rows(0, 2));
  ASSERT_EQ(predicted.size(), 1u);
  expect_near(predicted[0].to<double>(), {-0.100453, -0.020281, 0.161514, -0.043197, 0.070776, 0.102897});
}

TEST(Fit, ABoundedBatchGivesKerassNumbersInOneProgramAFunction) {
  for (const bool bounded : {false, true}) {
    int traces = 0;
    DenseOptions first = dense_of(5), last = dense_of(3);
    first.activation = [&](Tensor x) { return ++traces, tanh(x); };
    last.kernel_regularizer = {.l2 = 0.01};
    Sequential model({Dense(first), Dense(last)});
    CompileOptions compile = sgd(0.1);
    compile.bounded_batch = bounded;
    model.compile(compile);
    FitOptions options = epochs(3);
    options.validation_split = 0.25;
    const History h = model.fit(first_input(), labels(), options);
    expect_near(h["loss"], {1.1186285, 1.1157812, 1.1130962});
    expect_near(h["accuracy"], {0.3333333, 0.2777778, 0.2777778});
    expect_near(h["wce"], {1.1085061, 1.10579, 1.1032233});
    const Logs found = model.evaluate(first_input(), labels(), {.batch_size = 10, .verbose = Verbose::kSilent});
    expect_near({found.at("loss"), found.at("accuracy"), found.at("wce")}, {1.1168958, 0.2916667, 1.1071008});
    EXPECT_EQ(model.predict(first_input(), {.batch_size = 10})[0].shape(), (Shape{24, 3}));
    // Validation has one batch of 6; evaluation 10, 10 and 4; training 10 and 8; prediction as evaluation.
    EXPECT_EQ(traces, bounded ? 1 + 1 + 1 + 1 : 1 + 2 + 2 + 2);
  }
}

TEST(Fit, WithSampleWeightsAsKeras) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  std::vector<float> weights;
  for (int64_t i = 0; i < kExamples; ++i) weights.push_back(static_cast<float>(1 + i % 4) / 2);
  const History h = model.fit(FitData(first_input(), labels(), Array(weights)), epochs(3));
  expect_near(h["accuracy"], {0.25, 0.3333333, 0.3333333});
  expect_near(h["loss"], {1.3881727, 1.3860394, 1.3844141});
  expect_near(h["wce"], {1.1024528, 1.1008916, 1.099697});
}

TEST(Fit, WithClassWeightsAsKeras) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions options = epochs(3);
  options.class_weight = {{0, 1.0}, {2, 3.0}};
  const History h = model.fit(first_input(), labels(), options);
  expect_near(h["accuracy"], {0.3333333, 0.375, 0.3333333});
  expect_near(h["loss"], {1.8318809, 1.7279536, 1.6688412});
  expect_near(h["wce"], {1.0930595, 1.030923, 0.9955401});
}

TEST(Fit, OfTwoOutputsByNameAsKeras) {
  const Symbol x = Input({4});
  const Symbol body = Dense(tanh_of(5, "body"))(x);
  Model model({x}, {Dense(dense_of(3, "kind"))(body), Dense(dense_of(1, "size"))(body)});
  model.compile({.optimizer = SGD(0.1),
                 .loss = {{"kind", SparseCategoricalCrossentropy({.from_logits = true})}, {"size", "mse"}},
                 .loss_weights = {{"kind", 1.0}, {"size", 0.5}},
                 .metrics = {{"kind", {"accuracy"}}, {"size", {"mae"}}},
                 .strategy = Strategy("cpu")});
  std::vector<float> size;
  for (int64_t i = 0; i < kExamples; ++i) size.push_back(second_input().row(i).to<float>()[0]);
  const Arrays y{{"kind", labels()}, {"size", Array(size, {kExamples, 1})}};
  const History h = model.fit(first_input(), y, epochs(2));
  expect_near(h["loss"], {1.5792938, 1.5624307});
  expect_near(h["kind_loss"], {1.1133749, 1.1112928});
  expect_near(h["size_loss"], {0.9318379, 0.9022757});
  expect_near(h["kind_accuracy"], {0.3333333, 0.3333333});
  expect_near(h["size_mae"], {0.8246009, 0.8108595});
}

// However many steps one call of the device takes, and on several units.
TEST(Fit, GivesTheSameInCallsOfSeveralSteps) {
  Logs once, eight;
  for (const int steps : {1, 8}) {
    Sequential model = regularized();
    CompileOptions options = sgd(0.1);
    options.steps_per_execution = steps;
    model.compile(options);
    model.fit(first_input(), labels(), epochs(4));
    (steps == 1 ? once : eight) = model.evaluate(first_input(), labels(), {.verbose = Verbose::kSilent});
  }
  EXPECT_EQ(once, eight);
}

struct Watching : Callback {
  std::vector<std::string> seen;
  void on_train_begin(TrainingRun&) override { seen.push_back("train begins"); }
  void on_epoch_begin(TrainingRun&, int epoch) override { seen.push_back("epoch " + std::to_string(epoch)); }
  void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) override {
    seen.push_back("batch " + std::to_string(batch) + " step " + std::to_string(run.step()));
    EXPECT_GT(logs.at("loss"), 0);
  }
  void on_test_end(TrainingRun&, const Logs&) override { seen.push_back("tested"); }
  void on_epoch_end(TrainingRun&, int, Logs& logs) override {
    EXPECT_TRUE(logs.contains("val_loss"));
    logs["added"] = 7;
  }
  void on_train_end(TrainingRun&, const Logs& logs) override {
    seen.push_back("ends with " + std::to_string(logs.size()));
  }
};

TEST(Fit, CallsBackOnceAnExecution) {
  Sequential model = regularized();
  CompileOptions options = sgd(0.1);
  options.steps_per_execution = 2;
  model.compile(options);
  Watching watching;
  FitOptions fit = epochs(1);
  fit.batch_size = 8;
  fit.callbacks = {watching};
  fit.validation_data = FitData(first_input(), labels());
  const History h = model.fit(first_input(), labels(), fit);
  EXPECT_EQ(watching.seen, (std::vector<std::string>{"train begins", "epoch 0", "batch 1 step 2", "batch 2 step 3",
                                                     "tested", "ends with 7"}));
  EXPECT_EQ(h["added"], std::vector<double>{7});
}

TEST(Fit, StopsWhereACallbackSaysSo) {
  struct Stop : Callback {
    void on_train_batch_end(TrainingRun& run, int64_t, const Logs&) override { run.stop(); }
  };
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions fit = epochs(5);
  fit.callbacks = {Stop()};
  const History h = model.fit(first_input(), labels(), fit);
  EXPECT_EQ(h.epoch, std::vector<int>{0});
  EXPECT_EQ(model.strategy().read("global_step").item(), 1);
}

TEST(Fit, ReadsAndSetsTheLearningRateAndTheWeights) {
  struct Change : Callback {
    void on_epoch_begin(TrainingRun& run, int epoch) override { run.set_learning_rate(epoch == 0 ? 0 : 0.5); }
    void on_epoch_end(TrainingRun& run, int, Logs& logs) override {
      logs["learning_rate"] = run.learning_rate();
      kernels.push_back(run.read("dense/kernel").to<float>());
    }
    std::vector<std::vector<float>> kernels;
  };
  Sequential model = regularized();
  model.compile(sgd(0.1));
  Change change;
  FitOptions fit = epochs(2);
  fit.callbacks = {change};
  const History h = model.fit(first_input(), labels(), fit);
  EXPECT_EQ(h["learning_rate"], (std::vector<double>{0, 0.5}));
  EXPECT_EQ(change.kernels[0], pattern(20, 5, 7, 3, 8));
  EXPECT_NE(change.kernels[1], change.kernels[0]);
}

TEST(Fit, GoesOnWhereTheDataStoppedWithStepsPerEpoch) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions fit = epochs(2);
  fit.batch_size = 8;
  fit.steps_per_epoch = 2;
  const History h = model.fit(first_input(), labels(), fit);
  EXPECT_EQ(model.strategy().read("global_step").item(), 3);  // the data have three batches
  EXPECT_EQ(h.epoch.size(), 2u);
}

// The average begins with the weight behind the first update, as in Keras: with momentum 1 it stays there.
TEST(Fit, LeavesTheAveragesInTheModel) {
  std::vector<float> kernels[2];
  for (const bool averaged : {false, true}) {
    Sequential model = regularized();
    CompileOptions options = sgd(0.1);
    if (averaged) options.optimizer = SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 1});
    model.compile(options);
    FitOptions fit = epochs(averaged ? 2 : 1);
    fit.steps_per_epoch = averaged ? 0 : 1;
    model.fit(first_input(), labels(), fit);
    kernels[averaged] = model.strategy().read<float>("dense/kernel");
  }
  EXPECT_EQ(kernels[1], kernels[0]);
}

// What it trains is between the average and the steps, and is not what fit() leaves.
TEST(Fit, LeavesTheAverageOfScheduleFreeTrainingInTheModel) {
  Sequential model = regularized();
  CompileOptions options = sgd(0.1);
  options.optimizer = ScheduleFreeAdamW(0.1);
  model.compile(options);
  const std::vector<double> losses = model.fit(first_input(), labels(), epochs(4))["loss"];
  EXPECT_LT(losses.back(), losses.front());
  const auto read = [&](const char* name) { return model.strategy().read<float>(name); };
  EXPECT_EQ(read("dense/kernel"), read("dense/kernel/ExponentialMovingAverage"));
  EXPECT_NE(read("dense/kernel"), read("dense/kernel/ScheduleFreeAdamW"));
}

TEST(Fit, TellsTheRateOfASchedule) {
  struct Rates : Callback {
    void on_epoch_end(TrainingRun& run, int, Logs& logs) override { logs["learning_rate"] = run.learning_rate(); }
  };
  Sequential model = regularized();
  CompileOptions options = sgd(0.1);
  options.optimizer = SGD(ExponentialDecay(0.1, 3, 0.5));  // halves each epoch of three batches
  model.compile(options);
  FitOptions fit = epochs(2);
  fit.callbacks = {Rates()};
  const std::vector<double> rates = model.fit(first_input(), labels(), fit)["learning_rate"];
  EXPECT_NEAR(rates[1] / rates[0], 0.5, 1e-6);
}

TEST(Fit, KeepsEachFunctionsClassWeights) {
  Sequential model = regularized();
  model.compile(sgd(0));
  const std::map<int64_t, double> tenfold = {{0, 10}, {1, 10}, {2, 10}};
  const double plain = model.train_on_batch(first_input(), labels()).at("wce");
  FitOptions weighted = epochs(1);
  weighted.class_weight = tenfold;
  const auto fitted = [&](const FitOptions& o) { return model.fit(first_input(), labels(), o)["loss"][0]; };
  const double once = fitted(epochs(1));
  const double batch = model.train_on_batch(first_input(), labels(), {}, tenfold).at("loss");
  EXPECT_GT(fitted(weighted), 5 * once);
  EXPECT_GT(batch, 5 * once);
  EXPECT_NEAR(model.train_on_batch(first_input(), labels()).at("wce"), plain, kTolerance);
  EXPECT_NEAR(fitted(epochs(1)), once, kTolerance);
}

TEST(Fit, CountsEpochsWhoseStepsDivideTheData) {
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions fit = epochs(4);
  fit.steps_per_epoch = 2;  // of four batches
  EXPECT_EQ(model.fit(batches_of_six(), fit).epoch.size(), 4u);
  EXPECT_EQ(model.strategy().read("global_step").item(), 8);
}

TEST(Fit, BeginsAnewWhereACallWasStopped) {
  struct StopsAt : Callback {
    void on_train_batch_end(TrainingRun& run, int64_t batch, const Logs&) override {
      if (batch == 1) run.stop();
    }
    void on_test_batch_end(TrainingRun&, int64_t batch, const Logs&) override {
      if (batch == 1) throw std::runtime_error("enough");
    }
  };
  Sequential model = regularized();
  model.compile(sgd(0));
  const Dataset data = batches_of_six();
  const double all = model.evaluate(data, {.verbose = Verbose::kSilent}).at("loss");
  EXPECT_THROW(model.evaluate(data, {.verbose = Verbose::kSilent, .callbacks = {StopsAt()}}), Error);
  EXPECT_EQ(model.evaluate(data, {.verbose = Verbose::kSilent}).at("loss"), all);
  FitOptions stopped = epochs(1);
  stopped.callbacks = {StopsAt()};
  model.fit(data, stopped);
  EXPECT_NEAR(model.fit(data, epochs(1))["loss"][0], all, kTolerance);
}

TEST(Fit, MeasuresBehindACallThatFailed) {
  Sequential model = regularized();
  model.compile(sgd(0));
  const double loss = model.fit(first_input(), labels(), epochs(1))["loss"][0];
  EXPECT_THROW(model.fit(first_input(), Array(std::vector<float>(48), {24, 2}), epochs(1)), Error);
  EXPECT_NEAR(model.fit(first_input(), labels(), epochs(1))["loss"][0], loss, kTolerance);
}

TEST(Fit, KnowsAnInputFromAnOutputOfItsName) {
  double losses[2];
  for (const bool same : {false, true}) {
    const Symbol in = Input({4}, DType::kF32, "pix");
    Model model({in}, {Dense(dense_of(4, same ? "pix" : "out"))(in)});
    model.compile({.optimizer = SGD(0), .loss = "mse", .strategy = Strategy("cpu")});
    const Array target(pattern(kExamples * 4, 3, 7, 3, 4), {kExamples, 4});
    losses[same] = model.fit(first_input(), target, epochs(1))["loss"][0];
  }
  EXPECT_EQ(losses[1], losses[0]);
}

TEST(Fit, CompilesCopiesTogetherAndWithinACallback) {
  struct Again : Callback {
    explicit Again(Model& m) : model(m) {}
    void on_train_batch_end(TrainingRun&, int64_t, const Logs&) override { model.compile(sgd(0.1)); }
    Model& model;
  };
  Sequential model = regularized();
  Sequential copy = model;
  model.compile(sgd(0.1));
  FitOptions fit = epochs(1);
  fit.callbacks = {Again(model)};
  EXPECT_EQ(copy.fit(first_input(), labels(), fit).epoch.size(), 1u);
}

TEST(Fit, EndsQuietlyWhereItIsStoppedBeforeTheFirstBatch) {
  struct Stop : Callback {
    void on_epoch_begin(TrainingRun& run, int) override { run.stop(); }
  };
  Sequential model = regularized();
  model.compile(sgd(0.1));
  FitOptions fit = epochs(3);
  fit.callbacks = {Stop()};
  EXPECT_TRUE(model.fit(first_input(), labels(), fit).epoch.empty());
}

TEST(FitErrors, NameWhatIsWrong) {
  Sequential model = regularized();
  const auto fit = [&](FitData data, FitOptions options = {}) {
    options.verbose = Verbose::kSilent;
    return message_of([&] { model.fit(data, options); });
  };
  EXPECT_EQ(fit(FitData(first_input(), labels())),
            "fit: the model was not compiled: compile() says loss and optimizer");
  model.compile(sgd(0.1));
  EXPECT_EQ(fit(FitData(first_input(), labels().rows(0, 20))), "fit: 'x' has 24 examples, and 'y' has 20");
  EXPECT_EQ(fit(FitData(Array(std::vector<float>{}, {0, 4}), Array(std::vector<int32_t>{}))),
            "fit: 'x' has no examples");
  EXPECT_EQ(fit(FitData(first_input(), labels()), {.epochs = -1}), "fit: epochs is -1, expected 0 or more");
  EXPECT_EQ(fit(FitData(first_input(), labels()), {.validation_split = 1}),
            "fit: validation_split is 1, expected 0 to less than 1");
  EXPECT_EQ(fit(FitData(first_input(), labels().rows(0, 20)), {.validation_split = 0.5}),
            "fit: 'x' has 24 examples, and 'y' has 20");
  EXPECT_EQ(fit(FitData(first_input(), labels()), {.callbacks = {static_cast<Callback*>(nullptr)}}),
            "callback 0 is null");
  struct Throws : Callback {
    void on_epoch_end(TrainingRun&, int, Logs&) override { throw std::runtime_error("the disk is gone"); }
  };
  EXPECT_EQ(fit(FitData(first_input(), labels()), {.callbacks = {Throws()}}), "Throws: the disk is gone");
}

}  // namespace
}  // namespace tenon
