// ScheduleFreeAdamW: twenty steps of Keras's on JAX and of the paper's formulas (tests/fixtures/numbers.csv), and its averages.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/optimizer/optimizer_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

constexpr int kFreeSteps = 20;
constexpr const char* kAverageOfW = "w/ExponentialMovingAverage";

// "as_paper ScheduleFreeAdamW {'learning_rate': 0.1, 'warmup_steps': 8}"
ScheduleFreeAdamWOptions schedule_free_options(const std::string& name) {
  ScheduleFreeAdamWOptions o;
  const auto number = [&](const char* key, double missing) {
    const size_t at = name.find(key);
    return at == std::string::npos ? missing : std::stod(name.substr(name.find(':', at) + 1));
  };
  o.learning_rate = number("learning_rate", 0.0025);
  o.beta_1 = number("beta_1", o.beta_1);
  o.beta_2 = number("beta_2", o.beta_2);
  o.warmup_steps = static_cast<int>(number("warmup_steps", 0));
  o.weight_decay = number("weight_decay", 0);
  return o;
}

Numbers gradient_of(int n) { return {std::sin(n) + 0.3, std::cos(2.0 * n)}; }

struct Trained {
  Numbers variable, average;  // after each step
};
Trained trained_by(const Optimizer& optimizer) {
  Graph graph;
  const Tensor g = feed(graph, "g", {2}), w = variable(g, "w", {2}, values_initializer({1, -2}));
  optimizer.apply({g}, {w});
  Session session(graph, {});
  Trained out;
  const auto add = [&](Numbers& all, const char* name) {
    all.insert(all.end(), session.state(name).begin(), session.state(name).end());
  };
  for (int n = 0; n < kFreeSteps; ++n) {
    session.run({{"g", gradient_of(n)}});
    add(out.variable, "w");
    add(out.average, kAverageOfW);
  }
  return out;
}

TEST(ScheduleFreeAdamW, TakesTheStepsOfKerasAndOfThePaper) {
  int tried = 0;
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv")) {
    const std::string& name = row.at("case");
    if (name.find("ScheduleFreeAdamW") == std::string::npos) continue;
    SCOPED_TRACE(name + " " + row.at("part"));
    const Trained t = trained_by(ScheduleFreeAdamW(schedule_free_options(name)));
    const bool average = row.at("part") == "average";
    golden::expect_near(average ? t.average : t.variable, golden::numbers(row.at("values")), 5e-6);
    ++tried;
  }
  EXPECT_EQ(tried, 10);
}

// Steps made at the low rates of a warm-up count less: without it, and with all alike as in Keras, the average is another.
TEST(ScheduleFreeAdamW, OfOtherOptionsTakesOtherSteps) {
  const Numbers plain = trained_by(ScheduleFreeAdamW(0.1)).average;
  for (const ScheduleFreeAdamWOptions& o :
       {ScheduleFreeAdamWOptions{.learning_rate = 0.1, .warmup_steps = 8}, {.learning_rate = 0.1, .weight_decay = 0.5}})
    EXPECT_GT(std::fabs(trained_by(ScheduleFreeAdamW(o)).average.back() - plain.back()), 1e-3);
  ScheduleFreeAdamWOptions still{.learning_rate = 0.1, .weight_decay = 0.5, .exclude_from_weight_decay = {"w"}};
  EXPECT_EQ(trained_by(ScheduleFreeAdamW(still)).average, plain);
}

TEST(ScheduleFreeAdamW, OfARateOfZeroStaysWhereItIs) {
  const Trained t = trained_by(ScheduleFreeAdamW(0));
  for (size_t i = 0; i < t.variable.size(); ++i) {
    EXPECT_EQ(t.variable[i], i % 2 ? -2 : 1);
    EXPECT_EQ(t.average[i], i % 2 ? -2 : 1);
  }
}

// What it trains and what is to be evaluated are not the same, and averages() gives the second.
TEST(ScheduleFreeAdamW, GivesItsAverages) {
  const Optimizer optimizer = ScheduleFreeAdamW(0.1);
  Graph graph;
  const Tensor g = feed(graph, "g", {2}), w = variable(g, "w", {2}, values_initializer({1, -2}));
  const Tensor before = optimizer.averages({w})[0];
  optimizer.apply({g}, {w});
  Session session(graph, {before, optimizer.averages({w})[0]});
  const auto first = session.run({{"g", gradient_of(0)}});
  EXPECT_EQ(first[0], (Numbers{1, -2}));
  session.run({{"g", gradient_of(1)}});
  const auto third = session.run({{"g", gradient_of(2)}});
  EXPECT_EQ(third[1], session.state(kAverageOfW));
  EXPECT_GT(std::fabs(third[1][0] - session.state("w")[0]), 1e-3);
}

// Accumulated: of two calls' mean, as one call of it.
TEST(ScheduleFreeAdamW, CountsUpdatesNotCalls) {
  const Optimizer two = ScheduleFreeAdamW({.learning_rate = 0.1, .gradient_accumulation_steps = 2});
  const Numbers twice = optimizer_testing::trained(two, {1}, {1}, {{0.5}, {1.5}, {-2}, {0}});
  const Numbers once = optimizer_testing::trained(ScheduleFreeAdamW(0.1), {1}, {1}, {{1}, {-1}});
  EXPECT_EQ(twice[0], 1);
  EXPECT_NEAR(twice[1], once[0], 1e-6);
  EXPECT_EQ(twice[2], twice[1]);
  EXPECT_NEAR(twice[3], once[1], 1e-6);
}

TEST(ScheduleFreeAdamW, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { ScheduleFreeAdamW({.beta_2 = 1}); }), "ScheduleFreeAdamW: beta_2 is 1, expected less than 1");
  EXPECT_EQ(error_of([] { ScheduleFreeAdamW({.use_ema = true}); }),
            "ScheduleFreeAdamW: use_ema is set, and it keeps an average of its own");
}

}  // namespace
}  // namespace tenon
