// Layers that disturb activations: by how much, and when.
#include "tenon/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

constexpr int kCount = 40000;

Numbers disturbed(const std::function<Tensor(Tensor)>& layer, double x, Mode mode = Mode::kTrain) {
  Graph graph;
  graph.mode = mode;
  Session session(graph, {layer(feed(graph, "x", {kCount}))});
  return session.run({{"x", Numbers(kCount, x)}, {"seed", {5}}, {"global_step", {0}}})[0];
}

struct Moments {
  double mean, deviation, skew;
};
Moments moments(const Numbers& values) {
  double mean = 0, square = 0, cube = 0;
  for (double v : values) mean += v / kCount;
  for (double v : values) square += (v - mean) * (v - mean) / kCount, cube += std::pow(v - mean, 3) / kCount;
  return {mean, std::sqrt(square), cube / std::pow(square, 1.5)};
}

TEST(GaussianNoise, HasMeanZeroAndItsDeviation) {
  const Moments m = moments(disturbed([](Tensor x) { return gaussian_noise(x, {.stddev = 0.5}); }, 3));
  EXPECT_NEAR(m.mean, 3, 4 * 0.5 / std::sqrt(kCount));
  EXPECT_NEAR(m.deviation, 0.5, 4 * 0.5 / std::sqrt(2.0 * kCount));
  EXPECT_NEAR(m.skew, 0, 4 * std::sqrt(6.0 / kCount));
}

TEST(GaussianDropout, KeepsTheMeanAndHasADropoutsDeviation) {
  const Moments m = moments(disturbed([](Tensor x) { return gaussian_dropout(x, {.rate = 0.2}); }, 2));
  EXPECT_NEAR(m.mean, 2, 4 * 1.0 / std::sqrt(kCount));
  EXPECT_NEAR(m.deviation, 2 * std::sqrt(0.25), 4 * 1.0 / std::sqrt(2.0 * kCount));
}

// Mean 0 and variance 1 of x stay; a constant becomes two values, with probabilities 0.3 and 0.7.
TEST(AlphaDropout, HasTwoValuesOfAConstant) {
  const Numbers y = disturbed([](Tensor x) { return alpha_dropout(x, {.rate = 0.3}); }, 0);
  const double limit = -1.7580993408473766;
  const double a = 1 / std::sqrt(0.7 * (1 + 0.3 * limit * limit)), b = -a * limit * 0.3;
  int low = 0;
  for (double v : y) {
    const bool is_low = v < 0;
    low += is_low;
    EXPECT_NEAR(v, is_low ? a * limit + b : b, 1e-6);
  }
  EXPECT_NEAR(low, 0.3 * kCount, 4 * std::sqrt(kCount * 0.21));
}

TEST(Noise, IsTheIdentityUnlessTraining) {
  const Numbers same(kCount, 3);
  EXPECT_EQ(disturbed([](Tensor x) { return gaussian_noise(x, {.stddev = 1}); }, 3, Mode::kEval), same);
  EXPECT_EQ(disturbed([](Tensor x) { return gaussian_dropout(x, {.rate = 0.5}); }, 3, Mode::kPredict), same);
  EXPECT_EQ(disturbed([](Tensor x) { return alpha_dropout(x, {.rate = 0.5}); }, 3, Mode::kEval), same);
  EXPECT_EQ(disturbed([](Tensor x) { return gaussian_noise(x, {.stddev = 0}); }, 3), same);
}

TEST(ActivityRegularization, AddsToTheLossForEachExample) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 2});
  const Tensor y = activity_regularization(x, {.l1 = 0.1, .l2 = 0.01});
  EXPECT_EQ(y, x);
  Session session(graph, {added_losses(graph)});
  EXPECT_NEAR(session.run({{"x", {1, -2, 3, -4}}})[0][0], (0.1 * 10 + 0.01 * 30) / 2, 1e-6);
}

TEST(Noise, SaysWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2});
  EXPECT_EQ(error_of([&] { gaussian_noise(x, {.stddev = -1, .name = "n"}); }),
            "gaussian_noise 'n': stddev is -1, expected 0 or more");
  EXPECT_EQ(error_of([&] { alpha_dropout(x, {.rate = 1, .name = "a"}); }),
            "alpha_dropout 'a': rate is 1, expected 0 to less than 1");
}

}  // namespace
}  // namespace tenon
