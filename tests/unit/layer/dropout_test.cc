// Dropout: how much it drops, what it does to the rest, and when it draws alike.
#include <gtest/gtest.h>

#include "tenon/layer_classes.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

Numbers dropped(double rate, Mode mode, double seed, double step, const char* name = "dropout") {
  Graph graph;
  graph.mode = mode;
  const Tensor x = feed(graph, "x", {100, 100});
  Session session(graph, {dropout(x, {.rate = rate, .name = name})});
  return session.run({{"x", Numbers(10000, 1)}, {"seed", {seed}}, {"global_step", {step}}})[0];
}

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  const Numbers y = dropped(0.25, Mode::kTrain, 1, 0);
  int zeros = 0;
  for (double v : y) {
    if (v == 0)
      ++zeros;
    else
      EXPECT_NEAR(v, 4.0 / 3, 1e-6);
  }
  EXPECT_NEAR(zeros, 2500, 4 * std::sqrt(10000 * 0.25 * 0.75));
}

TEST(Dropout, DependsOnSeedStepAndNameAlone) {
  const Numbers y = dropped(0.5, Mode::kTrain, 1, 0);
  EXPECT_EQ(dropped(0.5, Mode::kTrain, 1, 0), y);
  EXPECT_NE(dropped(0.5, Mode::kTrain, 2, 0), y);
  EXPECT_NE(dropped(0.5, Mode::kTrain, 1, 1), y);
  EXPECT_NE(dropped(0.5, Mode::kTrain, 1, 0, "other"), y);
}

TEST(Dropout, IsTheIdentityUnlessTraining) {
  const Numbers x(10000, 1);
  EXPECT_EQ(dropped(0.5, Mode::kEval, 1, 0), x);
  EXPECT_EQ(dropped(0.5, Mode::kPredict, 1, 0), x);
  EXPECT_EQ(dropped(0, Mode::kTrain, 1, 0), x);
}

TEST(Dropout, OfRateOneDropsEverything) { EXPECT_EQ(dropped(1, Mode::kTrain, 1, 0), Numbers(10000, 0)); }

TEST(Dropout, AddsAResidualAfterwardsInEveryMode) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval}) {
    Graph graph;
    graph.mode = mode;
    const Tensor x = feed(graph, "x", {100, 100}), r = feed(graph, "r", {100, 100});
    Session session(graph, {dropout(x, {.rate = 0.5, .residual = r})});
    const Numbers dry = dropped(0.5, mode, 1, 0);
    const Numbers y =
        session.run({{"x", Numbers(10000, 1)}, {"r", Numbers(10000, 0.25)}, {"seed", {1}}, {"global_step", {0}}})[0];
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], dry[i] + 0.25);
  }
}

// Half of the 40 channels of 50 examples of ones become 0, the others 2, each at all of its places.
void expect_whole_channels(const Shape& shape, Tensor (*dropout)(Tensor, double)) {
  Graph graph;
  const Tensor x = feed(graph, "x", shape);
  Session session(graph, {dropout(x, 0.5)});
  const auto places = static_cast<size_t>(x.elements() / (50 * 40));
  const Numbers y = session.run({{"x", Numbers(2000 * places, 1)}, {"seed", {3}}, {"global_step", {0}}})[0];
  int zeros = 0;
  for (size_t n = 0; n < 50; ++n)
    for (size_t c = 0; c < 40; ++c) {
      const double first = y[n * places * 40 + c];
      EXPECT_TRUE(first == 0 || first == 2) << first;
      zeros += first == 0;
      for (size_t p = 1; p < places; ++p) EXPECT_EQ(y[(n * places + p) * 40 + c], first);
    }
  EXPECT_NEAR(zeros, 1000, 4 * std::sqrt(2000 * 0.25));
}

TEST(SpatialDropout, DropsWholeMaps) { expect_whole_channels({50, 2, 2, 40}, spatial_dropout2d); }

TEST(SpatialDropout, OfSequencesDropsAChannelOfAllSteps) { expect_whole_channels({50, 4, 40}, spatial_dropout1d); }

TEST(SpatialDropout, ExpectsItsRank) {
  Graph graph;
  EXPECT_THROW(spatial_dropout1d(feed(graph, "image", {2, 2, 2, 2}), 0.5), Error);
}

}  // namespace
}  // namespace tenon
