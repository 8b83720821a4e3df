#include "tenon/step_runner.h"

#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

std::vector<MemoryFeature> batch(int64_t n) {
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t example = 0; example < n; ++example) {
    for (int64_t i = 0; i < kInputs; ++i) x.push_back(input_value(example, i));
    y.push_back(label_value(example));
  }
  return {memory_feature<float>("x", DType::kF32, {kInputs}, x), memory_feature<int32_t>("label", DType::kI32, {}, y)};
}

double known_loss(int64_t n) {
  double loss = 0;
  for (int64_t e = 0; e < n; ++e)
    loss -= std::log(known_probabilities(e)[static_cast<size_t>(label_value(e))]) / static_cast<double>(n);
  return loss;
}

TEST(StepRunner, GivesTheLossOfTheBatchWhereThereIsOne) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval}) {
    StepRunner runner = StepRunner::create(known_model, {}, batch(6), 6, cpu(""), 3, mode).take();
    for (const int steps : {1, 3}) EXPECT_NEAR(runner.run(steps).take(), known_loss(6), 1e-6);
    EXPECT_EQ(runner.parameters(), kInputs * kClasses + kClasses);
  }
}

TEST(StepRunner, PredictsWithoutLabels) {
  const std::vector<MemoryFeature> only_x{batch(6)[0]};
  StepRunner runner = StepRunner::create(known_model, {}, only_x, 6, cpu(""), 3, Mode::kPredict).take();
  EXPECT_EQ(runner.run(3).take(), 0.0f);
  EXPECT_TRUE(StepRunner::create(known_model, {}, batch(6), 6, cpu(""), 1, Mode::kPredict).ok());
}

}  // namespace
}  // namespace tenon
