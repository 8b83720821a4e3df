// What goes wrong is one line that says what, where, expected and found, and harms nothing that was there.
#include <limits>

#include "tenon/step_runner.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// The inputs of the examples from place `first` of the stream on are `value`.
Dataset spoilt_from(uint64_t first, float value) {
  const auto fill = [=](int64_t example, const Sample& sample, Slots& out) -> Status {
    for (int i = 0; i < kInputs; ++i)
      out.get<float>(0)[static_cast<size_t>(i)] = sample.index >= first ? value : input_value(example, i);
    out.get<int32_t>(1)[0] = label_value(example);
    return {};
  };
  return Dataset::from_function(12, specs(), fill, training_input(4)).take();
}

TEST(EstimatorError, ALossThatIsNotFiniteStopsAtItsStepAndKeepsTheCheckpoint) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    TemporaryDirectory dir, clean;
    const RunConfig often{.save_checkpoints_steps = 5, .iterations_per_loop = 50};
    Estimator estimator(small_model, cpu(dir.path(), often));
    const auto r = estimator.train({.input = spoilt_from(4 * 7, value), .max_steps = 100});
    ASSERT_FALSE(r.ok());
    EXPECT_MESSAGE(r.status(), "at step 8");
    EXPECT_MESSAGE(r.status(), dir.path());
    EXPECT_EQ(r.status().message().find('\n'), std::string::npos);
    EXPECT_EQ(saved_steps(dir.path()), std::vector<int64_t>{5});

    // It goes on from that checkpoint, in this Estimator as in a new one.
    EXPECT_EQ(estimator.global_step().take(), 5);
    const Dataset data = examples(12, training_input(4));
    EXPECT_EQ(estimator.train({.input = data, .max_steps = 12}).take().global_step, 12);
    Estimator whole(small_model, cpu(clean.path()));
    check(whole.train({.input = data, .max_steps = 12}).status());
    EXPECT_EQ(estimator.variables_hash().take(), whole.variables_hash().take());
  }
}

TEST(EstimatorError, AModelWithoutDirectoryStartsAnewAfterALossThatIsNotFinite) {
  Estimator estimator(small_model, cpu("")), fresh(small_model, cpu(""));
  EXPECT_FALSE(estimator.train({.input = spoilt_from(4 * 2, NAN), .max_steps = 9}).ok());
  EXPECT_EQ(estimator.global_step().take(), 0);
  const Dataset data = examples(12, training_input(4));
  check(estimator.train({.input = data, .max_steps = 4}).status());
  check(fresh.train({.input = data, .max_steps = 4}).status());
  EXPECT_EQ(estimator.variables_hash().take(), fresh.variables_hash().take());
}

TEST(EstimatorError, ADirectoryOfAnotherModelIsRefusedAndStaysAsItWas) {
  TemporaryDirectory dir;
  const Dataset data = examples(12, training_input(4));
  check(
      Estimator(small_model, cpu(dir.path()), {{"units", int64_t{8}}}).train({.input = data, .max_steps = 3}).status());
  const std::string before = dir.read("checkpoint"), index = dir.read("model.ckpt-3.index");
  Estimator other(small_model, cpu(dir.path()), {{"units", int64_t{5}}});
  for (const Status& s : {other.train({.input = data, .max_steps = 6}).status(),
                          other.evaluate({.input = examples(12, evaluation_input(4))}).status()}) {
    ASSERT_FALSE(s.ok());
    EXPECT_MESSAGE(s, dir / "model.ckpt-3");
    EXPECT_MESSAGE(s, "f32[4,8]");
    EXPECT_MESSAGE(s, "f32[4,5]");
  }
  EXPECT_EQ(dir.read("checkpoint"), before);
  EXPECT_EQ(dir.read("model.ckpt-3.index"), index);
}

TEST(EstimatorError, ABatchLargerThanTheDataIsNamed) {
  Estimator estimator(small_model, cpu(""));
  const auto r = estimator.train({.input = examples(3, evaluation_input(8)), .max_steps = 5});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "fewer than 8 examples");
  EXPECT_FALSE(estimator.evaluate({.input = examples(3, evaluation_input(8))}).ok());  // nothing was trained
}

TEST(EstimatorError, EvaluatingAndPredictingNeedACheckpoint) {
  TemporaryDirectory dir;
  const Dataset data = examples(8, evaluation_input(4));
  Estimator estimator(small_model, cpu(dir.path())), memory(small_model, cpu(""));
  for (const Status& s : {estimator.evaluate({.input = data}).status(),
                          estimator.predict(data, [](int64_t, const auto&) { return Status(); })}) {
    EXPECT_EQ(s.code(), Code::kUnavailable);
    EXPECT_MESSAGE(s, dir.path());
  }
  EXPECT_MESSAGE(memory.evaluate({.input = data}).status(), "not trained");
  EXPECT_EQ(dir.entries(), 0u);
}

// Example 5 of 12 has a label that is not in [0, 3).
Dataset with_label(int32_t label, InputOptions options) {
  std::vector<float> x(12 * kInputs, 1);
  std::vector<int32_t> y(12, 1);
  y[5] = label;
  return Dataset::from_memory({memory_feature<float>("x", DType::kF32, {kInputs}, x),
                               memory_feature<int32_t>("label", DType::kI32, {}, y)},
                              options)
      .take();
}

TEST(EstimatorError, ALabelOutOfRangeIsNamedWithItsExampleOnEveryPath) {
  for (const int32_t label : {3, -1, INT32_MAX, INT32_MIN}) {
    TemporaryDirectory dir;
    Estimator estimator(small_model, cpu(dir.path()));
    const std::string message =
        "example 5: feature 'label' is " + std::to_string(label) + ", expected 0 to 2 for softmax_cross_entropy '";
    EXPECT_MESSAGE(estimator.train({.input = with_label(label, training_input(4)), .max_steps = 3}).status(), message);
    EXPECT_MESSAGE(estimator.train({.input = with_label(label, evaluation_input(4)), .max_steps = 3}).status(),
                   message);
    check(estimator.train({.input = examples(12, training_input(4)), .max_steps = 5}).status());
    EXPECT_MESSAGE(estimator.evaluate({.input = with_label(label, evaluation_input(4))}).status(), message);
    EXPECT_MESSAGE(estimator.evaluate({.input = with_label(label, evaluation_input(9))}).status(), message);
    EXPECT_MESSAGE(estimator.evaluate({.input = with_label(label, evaluation_input(64))}).status(), message);
    // A prediction does not look at labels.
    check(estimator.predict(with_label(label, evaluation_input(4)), [](int64_t, const auto&) { return Status(); }));
    const std::vector<float> x(4 * kInputs);
    const std::vector<int32_t> y{0, 1, 2, label};
    const auto runner = StepRunner::create(
        small_model, {},
        {memory_feature<float>("x", DType::kF32, {kInputs}, x), memory_feature<int32_t>("label", DType::kI32, {}, y)},
        4, cpu(""), 1);
    EXPECT_MESSAGE(runner.status(), "example 3: feature 'label' is " + std::to_string(label));
  }
}

TEST(EstimatorError, AnIndexOutOfRangeIsNamedAndAnIgnoredLabelIsNot) {
  const ModelFn words = [](const Features& features, const Tensor& labels, Mode mode, const Params&) {
    const Tensor x = flatten(embedding(features["words"], {.input_dim = 10, .output_dim = 4}));
    const Tensor logits = dense(x, {.units = kClasses});
    EstimatorSpec spec{.mode = mode, .predictions = {{"classid", argmax(logits)}}};
    if (mode == Mode::kPredict) return spec;
    spec.loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true, .ignore_class = 255});
    if (mode == Mode::kTrain) spec.train_op = minimize(SGD(0.1), spec.loss);
    return spec;
  };
  const auto data = [](int64_t index, int64_t label, bool minor) {
    std::vector<int64_t> ids(8 * 3, 9), y(8, 2);
    ids[6 * 3 + 1] = index;
    y[7] = label;
    MemoryFeature feature = memory_feature<int64_t>("words", DType::kI64, {3}, ids);
    feature.spec.batch_minor = minor;
    return Dataset::from_memory({feature, memory_feature<int64_t>("label", DType::kI64, {1}, y)}, evaluation_input(4))
        .take();
  };
  const auto train = [&](const Dataset& input) { return Estimator(words, cpu("")).train({.input = input}).status(); };
  EXPECT_TRUE(train(data(0, 255, false)).ok());
  for (const int64_t index : {int64_t{10}, int64_t{-1}, int64_t{1} << 40}) {
    const Status s = train(data(index, 0, false));
    EXPECT_MESSAGE(s, "example 6: feature 'words' is " + std::to_string(index) + ", expected 0 to 9 for gather '");
  }
  EXPECT_MESSAGE(train(data(0, 3, false)), "example 7: feature 'label' is 3, expected 0 to 2");
  // Three words a column: the batch is the last axis, so that the model reads them transposed.
  const ModelFn transposed = [&](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    Features rows;
    rows.set("words", transpose(features["words"], {1, 0}));
    return words(rows, labels, mode, params);
  };
  EXPECT_MESSAGE(Estimator(transposed, cpu("")).train({.input = data(10, 0, true)}).status(),
                 "example 6: feature 'words' is 10");
}

TEST(EstimatorError, AMissingCheckpointIsNamed) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path()));
  const auto r = estimator.evaluate({.input = examples(8, evaluation_input(4)), .checkpoint = dir / "model.ckpt-7"});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "model.ckpt-7");
}

TEST(EstimatorError, AnUnknownDeviceIsNamed) {
  Estimator estimator(small_model, {.device = "abacus"});
  const auto r = estimator.train({.input = examples(8, training_input(4)), .max_steps = 1});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "abacus");
  EXPECT_EQ(r.status().message().find('\n'), std::string::npos);
}

TEST(EstimatorError, AVariableOfAnotherTypeInAnotherModeIsRefused) {
  const ModelFn model = [](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    Params other = params;
    other.set("units", int64_t{mode == Mode::kTrain ? 8 : 6});
    return small_model(features, labels, mode, other);
  };
  Estimator estimator(model, cpu(""));
  check(estimator.train({.input = examples(8, training_input(4)), .max_steps = 2}).status());
  const auto r = estimator.evaluate({.input = examples(8, evaluation_input(4))});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "dense/");
  EXPECT_MESSAGE(r.status(), "another mode");
  EXPECT_EQ(estimator.train({.input = examples(8, training_input(4)), .max_steps = 4}).take().global_step, 4);
}

TEST(EstimatorError, AParameterThatItsTypeDoesNotHoldIsRefused) {
  const Params params{{"units", 1e12}, {"seed", INT64_MAX}, {"ratio", 0.5}};
  const auto message = [&](auto get) {
    try {
      get();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message([&] { params.get<int>("units"); }), "params 'units' is 1e+12, expected a number of 32 bits");
  EXPECT_EQ(message([&] { params.get<int>("seed"); }),
            "params 'seed' is 9223372036854775807, expected a number of 32 bits");
  EXPECT_EQ(params.get<int64_t>("seed"), INT64_MAX);
  EXPECT_EQ(params.get<int64_t>("units"), 1000000000000);
  EXPECT_EQ(params.get<double>("ratio"), 0.5);
}

TEST(EstimatorError, MistakesOfTheModelFunctionAreErrorsOfTheCall) {
  const auto status_of = [](ModelFn model) {
    return Estimator(std::move(model), cpu(""))
        .train({.input = examples(8, training_input(4)), .max_steps = 1})
        .status();
  };
  EXPECT_MESSAGE(status_of([](const Features& f, const Tensor&, Mode, const Params&) {
                   return EstimatorSpec{.predictions = {{"y", f["pixels"]}}};
                 }),
                 "pixels");
  EXPECT_MESSAGE(status_of([](const Features&, const Tensor&, Mode, const Params&) { return EstimatorSpec{}; }),
                 "loss");
  EXPECT_MESSAGE(status_of([](const Features& f, const Tensor& labels, Mode, const Params&) {
                   return EstimatorSpec{.loss = sparse_categorical_crossentropy(labels, dense(f["x"], {.units = 3}),
                                                                                {.from_logits = true})};
                 }),
                 "train_op");
  EXPECT_MESSAGE(status_of([](const Features& f, const Tensor&, Mode, const Params&) {
                   return EstimatorSpec{.loss = reshape(f["x"], {2, 8})};
                 }),
                 "f32[2,8]");
}

TEST(EstimatorError, AnErrorOfTheInputEndsTrainingAndSavesWhatWasDone) {
  TemporaryDirectory dir;
  const auto fill = [](int64_t, const Sample& sample, Slots& out) -> Status {
    if (sample.index == 30) return Status(Code::kUnavailable, "the disk went away");
    std::fill_n(out.get<float>(0).data(), kInputs, 1.0f);
    out.get<int32_t>(1)[0] = 0;
    return {};
  };
  Estimator estimator(small_model, cpu(dir.path(), {.save_checkpoints_steps = 5}));
  const auto r =
      estimator.train({.input = Dataset::from_function(12, specs(), fill, training_input(4)).take(), .max_steps = 20});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), "the disk went away");
  EXPECT_EQ(saved_steps(dir.path()), (std::vector<int64_t>{5, 7}));  // 30 examples are 7 batches and a half
}

TEST(EstimatorError, AModelDirectoryThatIsAFileIsNamed) {
  TemporaryDirectory dir;
  const std::string file = dir.write("taken", "text");
  const auto r = Estimator(small_model, cpu(file)).train({.input = examples(8, training_input(4)), .max_steps = 1});
  ASSERT_FALSE(r.ok());
  EXPECT_MESSAGE(r.status(), file);
  EXPECT_EQ(dir.read("taken"), "text");
}

}  // namespace
}  // namespace tenon
