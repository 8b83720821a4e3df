// The Estimator trains on and evaluates chains of verbs, whose number of examples nobody knows before they have been read.
#include "tenon/callbacks.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

constexpr int64_t kChainRows = 23;

Dataset counted_rows() {
  std::vector<float> x;
  std::vector<int32_t> labels;
  for (int64_t example = 0; example < kChainRows; ++example) {
    for (int64_t i = 0; i < kInputs; ++i) x.push_back(input_value(example, i));
    labels.push_back(label_value(example));
  }
  return Dataset::from_arrays({{"x", Array(x, {kChainRows, kInputs})}, {"label", Array(labels)}});
}

// The same, but nobody knows how many.
Dataset chain_rows() {
  return counted_rows().filter([](const Element&) { return true; });
}

Element with_noise(Element e, const Sample& sample) {
  SampleRandom random = sample.random();
  std::vector<float> x = e.at("x").to<float>();
  for (float& value : x) value += random.uniform(-0.5f, 0.5f);
  return {{"x", Array(x)}, {"label", e.at("label")}};
}

Dataset training_chain() { return chain_rows().map(with_noise).shuffle(10).repeat().batch(4); }

struct ChainTraining {
  std::vector<float> losses;  // of each step
  std::string hash;           // of the weights
  int64_t step = 0;
};

// Trains to each of these steps (0: to the end of the data), with an Estimator of its own each time.
ChainTraining train_on_chain(const ModelFn& model, const Dataset& data, std::initializer_list<int64_t> stops,
                             const std::string& model_dir = "") {
  ChainTraining out;
  for (const int64_t stop : stops) {
    LambdaCallback collect({.on_train_batch_end = [&](TrainingRun& run, int64_t, const Logs&) {
      out.losses.insert(out.losses.end(), run.losses().begin(), run.losses().end());
    }});
    Estimator estimator(model, cpu(model_dir));
    Result<TrainResult> result = estimator.train({.input = data, .max_steps = stop, .hooks = {collect}});
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) continue;
    out.step = result.take().global_step;
    out.hash = estimator.variables_hash().take();
  }
  return out;
}

TEST(EstimatorChains, GoOnWhereACheckpointStood) {
  TemporaryDirectory directory;
  const ChainTraining whole = train_on_chain(small_model, training_chain(), {40});
  const ChainTraining parts = train_on_chain(small_model, training_chain(), {3, 11, 40}, directory.path());
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.hash, whole.hash);
}

// The same examples, in the same order, as batches that drop the remainder: on all devices a step is a whole batch.
TEST(EstimatorChains, LeaveOutWhatIsNoWholeBatch) {
  const ChainTraining whole =
      train_on_chain(small_model, examples(kChainRows, {.batch_size = 4, .drop_remainder = true}), {0});
  EXPECT_EQ(whole.step, 5);
  for (const Dataset& data : {chain_rows().batch(4), chain_rows().batch(4, true), counted_rows().take(-1).batch(4)}) {
    const ChainTraining found = train_on_chain(small_model, data, {0});
    EXPECT_EQ(found.step, 5);
    EXPECT_EQ(found.losses, whole.losses);
    EXPECT_EQ(found.hash, whole.hash);
  }
}

// Batches of 4, 4, 4, 4, 4 and 3 again and again: training does not end at the 3.
TEST(EstimatorChains, GoOnBehindARestWhereBatchesRepeat) {
  const ChainTraining dropped = train_on_chain(small_model, chain_rows().batch(4, true).repeat(), {12});
  const ChainTraining found = train_on_chain(small_model, chain_rows().batch(4).repeat(), {12});
  EXPECT_EQ(found.step, 12);
  EXPECT_EQ(found.losses, dropped.losses);
  EXPECT_EQ(found.hash, dropped.hash);
  EXPECT_EQ(train_on_chain(small_model, chain_rows().batch(4).repeat(2), {0}).step, 10);
  TemporaryDirectory directory;
  const ChainTraining parts =
      train_on_chain(small_model, chain_rows().batch(4).repeat(), {5, 6, 10, 12}, directory.path());
  EXPECT_EQ(parts.losses, dropped.losses);
  EXPECT_EQ(parts.hash, dropped.hash);
}

TEST(EstimatorChains, SayThatThereIsNoWholeBatch) {
  for (const Dataset& data : {chain_rows().take(3).batch(4), chain_rows().take(3).batch(4).repeat()})
    EXPECT_EQ(Estimator(small_model, cpu("")).train({.input = data, .max_steps = 9}).status().message(),
              "the input has fewer than 4 examples, one batch");
}

TEST(EstimatorChains, EvaluateEachExampleOnce) {
  Estimator estimator(known_model, cpu(""));
  check(estimator.train({.input = training_chain(), .steps = 1}).status());
  double loss = 0, right = 0;
  for (int64_t example = 0; example < kChainRows; ++example) {
    const std::vector<double> p = known_probabilities(example);
    const auto label = static_cast<size_t>(label_value(example));
    loss -= std::log(p[label]) / kChainRows;
    right += std::max_element(p.begin(), p.end()) - p.begin() == static_cast<int64_t>(label);
  }
  for (const Dataset& data :
       {chain_rows().batch(4), chain_rows().batch(kChainRows), counted_rows().take(-1).batch(10)}) {
    const EvalResult found = estimator.evaluate({.input = data}).take();
    EXPECT_EQ(found.examples, kChainRows);
    EXPECT_NEAR(found.at("loss"), loss, 1e-6);
    EXPECT_NEAR(found.at("accuracy"), right / kChainRows, 1e-6);
  }
  EXPECT_EQ(estimator.evaluate({.input = chain_rows().batch(4, true)}).take().examples, 20);
}

TEST(EstimatorChains, TrainAndEvaluateInTurn) {
  TemporaryDirectory directory;
  Estimator estimator(small_model, cpu(directory.path()));
  int evaluations = 0;
  estimator.set_events({.on_evaluate = [&](int64_t, const EvalResult& result) {
    ++evaluations;
    EXPECT_EQ(result.examples, kChainRows);
  }});
  check(train_and_evaluate(estimator, {.input = training_chain(), .max_steps = 12, .steps_between_evals = 6},
                           {.input = chain_rows().batch(4)})
            .status());
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(estimator.variables_hash().take(), train_on_chain(small_model, training_chain(), {12}).hash);
}

// ---- batches of several shapes ----

// Sequences of 1 to 9 numbers; a class that depends on their sum.
Dataset sequences() {
  return Dataset::range(0, 40).map([](Element e) {
    const auto i = e.at("x").to<int64_t>()[0];
    std::vector<float> x(static_cast<size_t>(i * 7 % 9 + 1), static_cast<float>(i % 5 - 2) / 4);
    return Element{{"x", Array(x)}, {"label", Array(static_cast<int32_t>(i % kClasses))}};
  });
}

constexpr int64_t kShortest = 4, kLongest = 10;  // lengths below them, of two buckets of 6 and 3 rows

Dataset bucketed(const Dataset& of, bool drop_remainder) {
  return of.bucket_by_sequence_length([](const Element& e) { return e.at("x").dim(0); }, {kShortest, kLongest},
                                      {6, 3, 1}, {.pad_to_bucket_boundary = true, .drop_remainder = drop_remainder});
}

// What a step of training on these batches, one after the other, has as its losses: softmax regression by hand.
std::vector<double> losses_by_hand(const Dataset& batches, double rate, std::vector<double> kernel) {
  std::vector<double> bias(kClasses), out;
  for (const Element& batch : batches) {
    const std::vector<double> x = batch.at("x").to<double>();
    const std::vector<int32_t> labels = batch.at("label").to<int32_t>();
    const size_t rows = labels.size(), time = x.size() / rows;
    std::vector<double> to_kernel(kClasses), to_bias(kClasses);
    double loss = 0;
    for (size_t row = 0; row < rows; ++row) {
      double sum = 0, all = 0;
      for (size_t t = 0; t < time; ++t) sum += x[row * time + t];
      std::vector<double> p(kClasses);
      for (size_t c = 0; c < p.size(); ++c) all += p[c] = std::exp(sum * kernel[c] + bias[c]);
      for (size_t c = 0; c < p.size(); ++c) {
        const double is = static_cast<size_t>(labels[row]) == c ? 1 : 0,
                     error = (p[c] / all - is) / static_cast<double>(rows);
        loss -= is * std::log(p[c] / all) / static_cast<double>(rows);
        to_kernel[c] += error * sum;
        to_bias[c] += error;
      }
    }
    for (size_t c = 0; c < kClasses; ++c) kernel[c] -= rate * to_kernel[c], bias[c] -= rate * to_bias[c];
    out.push_back(loss);
  }
  return out;
}

// Sees the sum over time alone, which padding does not change.
EstimatorSpec sequence_model(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor sum = reduce_sum(features["x"], {1}, true);
  return classify(dense(sum, {.units = kClasses, .kernel_initializer = values_initializer({0.5f, -0.25f, 0.125f})}),
                  labels, mode, SGD(0.1));
}

TEST(EstimatorChains, TrainOnBucketsOfSeveralSizes) {
  for (const bool drop : {false, true}) {
    const Dataset data = bucketed(sequences(), drop);
    const std::vector<double> expected = losses_by_hand(data, 0.1, {0.5, -0.25, 0.125});
    const ChainTraining found = train_on_chain(sequence_model, data, {0});
    EXPECT_EQ(found.step, std::ssize(expected));
    ASSERT_EQ(found.losses.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.losses[i], expected[i], 1e-5) << i;
  }
}

TEST(EstimatorChains, GoOnBetweenBucketsWhereACheckpointStood) {
  TemporaryDirectory directory;
  const Dataset data = bucketed(sequences().shuffle(15).repeat(), true);
  const ChainTraining whole = train_on_chain(sequence_model, data, {30});
  const ChainTraining parts = train_on_chain(sequence_model, data, {1, 7, 20, 30}, directory.path());
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.hash, whole.hash);
}

TEST(EstimatorChains, EvaluateBucketsLikeOneShape) {
  Estimator estimator(sequence_model, cpu(""));
  check(estimator.train({.input = bucketed(sequences(), true), .steps = 1}).status());
  const EvalResult one =
      estimator.evaluate({.input = sequences().padded_batch(40, {.padded_shapes = {{"x", {9}}}})}).take();
  const EvalResult several = estimator.evaluate({.input = bucketed(sequences(), false)}).take();
  EXPECT_EQ(several.examples, 40);
  EXPECT_NEAR(several.at("loss"), one.at("loss"), 1e-6);
  EXPECT_NEAR(several.at("accuracy"), one.at("accuracy"), 1e-6);
}

}  // namespace
}  // namespace tenon
