// Which features are the targets, by name, and what is trained where there are none.
#include <gtest/gtest.h>

#include "tenon/variables.h"
#include "unit/model/fit_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Array squares() { return Array(pattern(kExamples, 3, 7, 3, 4), {kExamples, 1}); }

double mean_square(const Array& a) {
  double sum = 0;
  for (const double v : a.to<double>()) sum += v * v / static_cast<double>(a.elements());
  return sum;
}

DenseOptions zeros_of(std::string name) { return {.units = 1, .kernel_initializer = zeros(), .name = std::move(name)}; }

// Every prediction is 0: the loss is the mean square of the targets.
TEST(Targets, OfASequentialHaveTheNameOfItsLastLayer) {
  for (const bool input : {false, true})
    for (const std::string name : {"out", ""}) {
      Sequential model;
      if (input) model.add(Input({4}));
      model.add(Dense(zeros_of(name)));
      const std::string called = name.empty() ? "dense" : name;
      model.compile({.optimizer = SGD(0), .loss = {{called, "mse"}}, .strategy = Strategy("cpu")});
      EXPECT_NEAR(model.fit(first_input(), squares(), epochs(1))["loss"][0], mean_square(squares()), kTolerance);
      EXPECT_EQ(model.output_names(), std::vector<std::string>{called});
      if (input || !name.empty()) {
        EXPECT_NEAR(model.fit(first_input(), Arrays{{called, squares()}}, epochs(1))["loss"][0], mean_square(squares()),
                    kTolerance);
      }
      EXPECT_EQ(message_of([&] {
                  model.compile({.loss = {{"other", "mse"}}, .strategy = model.strategy()});
                  model.fit(first_input(), squares(), epochs(1));
                }),
                "compile: loss names the output 'other'; the model has " + called);
    }
}

TEST(Targets, AreFoundByTheNamesThatLayersGetThemselves) {
  const Symbol x = Input({4});
  Model model({x}, {Dense(zeros_of(""))(x), Dense(zeros_of(""))(x)});
  model.compile({.optimizer = SGD(0), .loss = {{"dense", "mse"}, {"dense_1", "mae"}}, .strategy = Strategy("cpu")});
  const Array ones(std::vector<float>(kExamples, 1.0f), {kExamples, 1});
  const History h = model.fit(first_input(), Arrays{{"dense", squares()}, {"dense_1", ones}}, epochs(1));
  EXPECT_NEAR(h["dense_loss"][0], mean_square(squares()), kTolerance);
  EXPECT_NEAR(h["dense_1_loss"][0], 1, kTolerance);
  EXPECT_EQ(message_of([&] {
              model.fit(first_input(), Arrays{{"dense", squares()}, {"dense_2", ones}}, epochs(1));
            }),
            "the data have no target of the model's output 'dense_1', which 'mean_absolute_error' needs; there are the "
            "features "
            "dense, dense_2");
  EXPECT_EQ(
      message_of([&] {
        model.fit(first_input(), Arrays{{"a", squares()}, {"b", ones}}, epochs(1));
      }),
      "the data have no targets of the model's 2 outputs, dense, dense_1, which are called as the outputs or y_0, "
      "y_1, ..; there are the features a, b");
}

Model of_two_outputs() {
  const Symbol x = Input({4});
  const Symbol p = Dense(zeros_of("p"))(x), q = Dense(zeros_of("q"))(x);
  return Model({x}, {p, q});
}

// Keras: `metrics=["mae", "mse"]` gives "p_mae" and "q_mse".
TEST(Targets, OfSeveralOutputsHaveAMetricEachInTheirOrder) {
  Model model = of_two_outputs();
  model.compile({.optimizer = SGD(0), .loss = {"mse", "mae"}, .metrics = {"mae", "mse"}, .strategy = Strategy("cpu")});
  const Array twos(std::vector<float>(kExamples, 2.0f), {kExamples, 1}),
      threes(std::vector<float>(kExamples, -3.0f), {kExamples, 1});
  const History h = model.fit(first_input(), std::vector<Array>{twos, threes}, epochs(1));
  const std::map<std::string, std::vector<double>> expected = {
      {"loss", {7}}, {"p_loss", {4}}, {"p_mae", {2}}, {"q_loss", {3}}, {"q_mse", {9}}};
  EXPECT_EQ(h.history, expected);
}

// Keras writes the one over the other.
TEST(Targets, HaveNoMetricThatIsCalledAsOneOfValidation) {
  Sequential model({Dense(zeros_of("out"))});
  const auto fitted = [&](const std::string& metric, double split) {
    model.compile({.loss = "mse",
                   .metrics = {"mae", Metric(metric, [](Tensor y, Tensor p, Tensor) { return mean(y - p); })},
                   .strategy = Strategy("cpu")});
    FitOptions options = epochs(1);
    options.validation_split = split;
    return message_of([&] { model.fit(first_input(), squares(), options); });
  };
  for (const std::string of : {"loss", "mae"})
    EXPECT_EQ(fitted("val_" + of, 0.5), "fit: what training measures as 'val_" + of +
                                            "' is what validation calls its '" + of + "'; expected another name");
  EXPECT_EQ(fitted("val_loss", 0), "no error");
  EXPECT_EQ(fitted("val_mse", 0.5), "no error");
}

// As Keras refuses them, and as early as the outputs are known.
TEST(Targets, OfAnotherNumberThanTheOutputsAreAnErrorOfCompile) {
  const auto compiled = [](Model model, CompileOptions options) {
    options.strategy = Strategy("cpu");
    return message_of([&] { model.compile(options); });
  };
  EXPECT_EQ(
      compiled(of_two_outputs(), {.loss = "mse", .metrics = {"mae"}}),
      "compile: metrics has 1 entry, and the model 2 outputs; expected one each, or those of each output by its name");
  EXPECT_EQ(
      compiled(of_two_outputs(), {.loss = "mse", .weighted_metrics = {"mae", "mse", "mape"}}),
      "compile: weighted_metrics has 3 entries, and the model 2 outputs; expected one each, or those of each output "
      "by its name");
  EXPECT_EQ(compiled(of_two_outputs(), {.loss = {"mse", "mse", "mse"}}),
            "compile: loss has 3 entries, and the model 2 outputs");
  EXPECT_EQ(compiled(of_two_outputs(), {.loss = "mse", .loss_weights = {{"r", 1.0}}}),
            "compile: loss_weights names the output 'r'; the model has p, q");
  const Symbol x = Input({4});
  EXPECT_EQ(compiled(Model({x}, {Dense(1)(x)}), {.loss = {"mse", "mae"}}),
            "compile: loss has 2 entries, and the model one output");
}

// Keras: an output that a dict of losses does not name has no loss, and its targets may be missing.
TEST(Targets, OfOutputsWithoutALossMayBeMissing) {
  const Symbol x = Input({4});
  Model model({x}, {Dense(dense_of(1, "kept"))(x), Dense(zeros_of("trained"))(x)});
  model.compile({.optimizer = SGD(0.1), .loss = {{"trained", "mse"}}, .strategy = Strategy("cpu")});
  const Dataset data =
      Dataset::from_arrays({{"image", first_input()}, {"trained", squares()}}, {.batch_size = kExamples});
  const EvaluateOptions silent{.batch_size = kExamples, .verbose = Verbose::kSilent};
  EXPECT_NEAR(model.evaluate(data, silent).at("loss"), mean_square(squares()), kTolerance);
  EXPECT_NEAR(model.evaluate(first_input(), Arrays{{"trained", squares()}}, silent).at("loss"), mean_square(squares()),
              kTolerance);
  const std::vector<float> kept = model.strategy().read<float>("kept/kernel");
  const History h = model.fit(data, {.epochs = 3, .verbose = Verbose::kSilent});
  EXPECT_LT(h["loss"][2], h["loss"][0]);
  EXPECT_EQ(model.strategy().read<float>("kept/kernel"), kept);
  model.compile({.loss = {{"trained", "mse"}}, .metrics = {{"kept", {"mae"}}}, .strategy = model.strategy()});
  EXPECT_EQ(
      message_of([&] { model.evaluate(data, silent); }),
      "the data have no target of the model's output 'kept', which 'mae' needs; there are the features image, trained");
}

// An autoencoder that says itself what it is trained for: with a kernel of 0 the mean square of its input, and from there
// each step of gradient descent makes it less.
struct Autoencoder : Layer {
  Dense code{{.units = 4, .kernel_initializer = zeros()}};
  Tensor call(Tensor x) override {
    const Tensor y = code(x);
    add_loss(reduce_mean(square(y - x)));
    return y;
  }
};

TEST(Targets, AreNotNeededWhereLayersAddTheLoss) {
  const Dataset data = Dataset::from_arrays({{"features", first_input()}}, {.batch_size = 12});
  for (const bool in_memory : {true, false}) {
    Sequential model({Autoencoder()});
    model.compile({.optimizer = SGD(0.1), .strategy = Strategy("cpu")});
    const EvaluateOptions silent{.batch_size = 12, .verbose = Verbose::kSilent};
    const auto measured = [&] {
      return (in_memory ? model.evaluate(first_input(), {}, silent) : model.evaluate(data, silent)).at("loss");
    };
    EXPECT_NEAR(measured(), mean_square(first_input()), kTolerance);
    const History h = in_memory ? model.fit(first_input(), {}, epochs(5)) : model.fit(data, epochs(5));
    EXPECT_EQ(h.history.size(), 1u);
    EXPECT_LT(h["loss"][4], 0.9 * mean_square(first_input()));
    EXPECT_LT(measured(), h["loss"][4]);
    EXPECT_EQ(model.train_on_batch(first_input(), {}).size(), 1u);
    EXPECT_EQ(message_of([&] {
                model.train_on_batch(first_input(), {}, {}, {{0, 2.0}});
              }),
              "class_weight is of targets, and the data have none");
  }
}

TEST(Targets, AreNeededByALossAndAMetric) {
  Sequential model({Dense(zeros_of("out"))});
  model.compile({.loss = "mse", .strategy = Strategy("cpu")});
  EXPECT_EQ(message_of([&] { model.fit(first_input(), {}, epochs(1)); }),
            "the data have no target: none of the features x is called y or label");
  Sequential measured({Autoencoder()});
  measured.compile({.metrics = {"mae"}, .strategy = Strategy("cpu")});
  EXPECT_EQ(message_of([&] { measured.fit(first_input(), {}, epochs(1)); }),
            "the data have no target: none of the features x is called y or label");
}

// As Keras refuses it.
TEST(Targets, OfSeveralOutputsHaveNoClassWeights) {
  const Symbol x = Input({4});
  Model model({x}, {Dense(dense_of(3, "a"))(x), Dense(dense_of(3, "b"))(x)});
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy("cpu")});
  FitOptions fit = epochs(1);
  fit.class_weight = {{0, 5.0}};
  EXPECT_EQ(
      message_of([&] {
        model.fit(first_input(), std::vector<Array>{labels(), labels()}, fit);
      }),
      "class_weight is for a model with one output, and this one has 2; a sample_weight weighs the examples of all");
}

// As Keras refuses them.
TEST(Targets, HaveClassWeightsOrSampleWeights) {
  Sequential model({Input({4}), Dense(dense_of(3))});
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy("cpu")});
  FitOptions fit = epochs(1);
  fit.class_weight = {{0, 5.0}};
  const std::vector<float> ones(static_cast<size_t>(labels().dim(0)), 1);
  const FitData weighted(first_input(), labels(), Array(ones));
  EXPECT_EQ(message_of([&] { model.fit(weighted, fit); }),
            "class_weight and sample_weight exclude each other, as in Keras; multiply them");
}

// A layer is traced once for each program.
TEST(Targets, WithClassWeightsInTurnAreTracedOnceForEach) {
  int traces = 0;
  DenseOptions counting = dense_of(3);
  counting.activation = [&](Tensor t) { return ++traces, t; };
  Sequential model({Dense(counting)});
  model.compile(sgd(0));
  for (int i = 0; i < 6; ++i) model.train_on_batch(first_input(), labels(), {}, {{0, 1.0 + i % 2}});
  EXPECT_EQ(traces, 2);
}

// Weights 1, 2, 1, 2, .. of p, and 1 or 3 each of q: the losses of targets 2 and 3 are 4 * 1.5 and 9 * 3.
TEST(Targets, OfEachOutputHaveWeightsOfTheirOwn) {
  const auto constant = [](float v) { return Array(std::vector<float>(kExamples, v), {kExamples, 1}); };
  std::vector<float> ones_and_twos;
  for (int64_t i = 0; i < kExamples; ++i) ones_and_twos.push_back(i % 2 ? 2.0f : 1.0f);
  const Array w(ones_and_twos), threes(std::vector<float>(kExamples, 3.0f));
  const std::vector<Array> targets{constant(2), constant(3)};
  const auto losses = [&](const Examples& weights, const Examples& y) {
    Model model = of_two_outputs();
    model.compile({.optimizer = SGD(0), .loss = "mse", .weighted_metrics = {"mae", "mae"}, .strategy = Strategy("cpu")});
    const Logs once = model.evaluate(FitData{first_input(), y, weights}, {.verbose = Verbose::kSilent});
    const History h = model.fit(FitData{first_input(), y, weights}, epochs(1));
    EXPECT_NEAR(h["loss"][0], once.at("loss"), kTolerance);
    EXPECT_NEAR(model.test_on_batch(first_input(), y, weights).at("loss"), once.at("loss"), kTolerance);
    return std::pair(once.at("p_loss"), once.at("q_loss"));
  };
  const auto expect = [&](const Examples& weights, double p, double q) {
    for (const Examples& y : {Examples(targets), Examples(Arrays{{"p", targets[0]}, {"q", targets[1]}})}) {
      const auto found = losses(weights, y);
      EXPECT_NEAR(found.first, p, kTolerance);
      EXPECT_NEAR(found.second, q, kTolerance);
    }
  };
  expect(w, 6, 13.5);
  expect(std::vector<Array>{w, threes}, 6, 27);
  expect(std::vector<Array>{Array(), threes}, 4, 27);
  expect(Arrays{{"q", threes}}, 4, 27);
  expect(Arrays{{"q", threes}, {"p", w}}, 6, 27);
  EXPECT_EQ(message_of([&] { losses(Arrays{{"r", threes}}, targets); }),
            "the feature 'sample_weight_r' is of no output of the model; its outputs are p, q, numbers 0 to 1");
}

}  // namespace
}  // namespace tenon
