// The Estimator trains on and evaluates chains of verbs, whose number of examples nobody knows before they have been read.
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

Dataset rows() {
  std::vector<float> x;
  std::vector<int32_t> labels;
  for (int64_t example = 0; example < 23; ++example) {
    for (int64_t i = 0; i < kInputs; ++i) x.push_back(input_value(example, i));
    labels.push_back(label_value(example));
  }
  return Dataset::from_arrays({{"x", Array(x, {23, kInputs})}, {"label", Array(labels)}}).filter([](const Element&) {
    return true;
  });
}

Element with_noise(Element e, const Sample& sample) {
  SampleRandom random = sample.random();
  auto* x = reinterpret_cast<float*>(e.at("x").bytes().data());
  for (int i = 0; i < kInputs; ++i) x[i] += random.uniform(-0.5f, 0.5f);
  return e;
}

Dataset training_rows() { return rows().map(with_noise).shuffle(10).repeat().batch(4); }

std::string chain_hash_after(const std::string& dir, std::initializer_list<int64_t> stops) {
  std::string hash;
  for (const int64_t stop : stops) {
    Estimator estimator(small_model, cpu(dir));
    EXPECT_EQ(estimator.train({.input = training_rows(), .max_steps = stop}).take().global_step, stop);
    hash = estimator.variables_hash().take();
  }
  return hash;
}

TEST(EstimatorChains, GoOnWhereACheckpointStood) {
  TemporaryDirectory whole, parts;
  EXPECT_EQ(chain_hash_after(parts.path(), {3, 11, 40}), chain_hash_after(whole.path(), {40}));
}

TEST(EstimatorChains, AnEpochThatNobodyCountedEndsTraining) {
  Estimator estimator(small_model, cpu(""));
  EXPECT_EQ(estimator.train({.input = rows().batch(4), .max_steps = 100}).take().global_step, 6);
}

TEST(EstimatorChains, EvaluateEachExampleOnce) {
  Estimator estimator(known_model, cpu(""));
  const auto evaluated = [&](const Dataset& data) { return estimator.evaluate({.input = data}).take(); };
  const EvalResult counted = evaluated(examples(23, evaluation_input(4))), chain = evaluated(rows().batch(4));
  EXPECT_EQ(chain.examples, 23);
  EXPECT_EQ(chain.at("loss"), counted.at("loss"));
  EXPECT_EQ(chain.at("accuracy"), counted.at("accuracy"));
}

}  // namespace
}  // namespace tenon
