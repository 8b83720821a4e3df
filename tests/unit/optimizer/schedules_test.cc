// Learning-rate schedules against tests/golden/schedules.csv.
#include <gtest/gtest.h>

#include <optional>

#include "base/strings.h"
#include "unit/optimizer/optimizer_testing.h"

namespace tenon {
namespace {

using golden::Arguments;
using golden::flag;
using golden::number;
using model_testing::error_of;
using model_testing::Numbers;

constexpr double kSteps[] = {0, 1, 5, 9, 10, 11, 15, 20, 25, 30, 50, 100};

// TensorFlow 1 spells the same formulas with the step as second argument.
std::optional<LearningRate> schedule_of(const std::string& call) {
  const size_t bracket = call.find('(');
  const std::string name = call.substr(0, bracket);
  Arguments a = golden::arguments(call.substr(bracket + 1, call.rfind(')') - bracket - 1));
  if (name == "piecewise_constant" || name == "PiecewiseConstantDecay")
    return PiecewiseConstantDecay({10, 20}, {0.1, 0.05, 0.01});
  if (a.count("1") && a.at("1") == "gs")
    for (int i = 1; i < 4; ++i)
      a.count(std::to_string(i + 1)) ? void(a[std::to_string(i)] = a[std::to_string(i + 1)])
                                     : void(a.erase(std::to_string(i)));
  const auto positional = [&](int i) { return number(a, std::to_string(i), 0); };
  const double first = positional(0), steps = positional(1), rate = positional(2), alpha = number(a, "alpha", 0);
  if (name == "ExponentialDecay" || name == "exponential_decay")
    return ExponentialDecay(first, steps, rate, flag(a, "staircase"));
  if (name == "natural_exp_decay") return ExponentialDecay(first, steps, std::exp(-rate));
  if (name == "InverseTimeDecay" || name == "inverse_time_decay")
    return InverseTimeDecay(first, steps, rate, flag(a, "staircase"));
  if (name == "PolynomialDecay" || name == "polynomial_decay")
    return PolynomialDecay(first, steps, number(a, "end_learning_rate", 1e-4), number(a, "power", 1), flag(a, "cycle"));
  if (name == "CosineDecay" && a.count("warmup_target"))
    return CosineDecay(first, steps, alpha, number(a, "warmup_target", 0), number(a, "warmup_steps", 0));
  if (name == "CosineDecay" || name == "cosine_decay") return CosineDecay(first, steps, alpha);
  if (name == "CosineDecayRestarts" || name == "cosine_decay_restarts")
    return CosineDecayRestarts(first, steps, number(a, "t_mul", 2), number(a, "m_mul", 1), alpha);
  if (name == "linear_cosine_decay") return LinearCosineDecay(first, steps);
  return {};
}

TEST(Schedules, GiveKerasRates) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("schedules.csv")) {
    SCOPED_TRACE(row.at("schedule"));
    const std::optional<LearningRate> schedule = schedule_of(row.at("schedule"));
    ASSERT_TRUE(schedule.has_value());
    Graph graph;
    const Tensor step = model_testing::feed(graph, "step", {});
    model_testing::Session session(graph, {(*schedule)(step)});
    for (double s : kSteps) {
      const double expected = std::stod(row.at(cat("step", static_cast<int64_t>(s))));
      EXPECT_NEAR(session.run({{"step", {s}}})[0][0], expected, 1e-8 + 1e-5 * expected) << "step " << s;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 25);
}

TEST(Schedules, CountUpdatesFromTheVariableGlobalStep) {
  Graph graph;
  const Tensor g = model_testing::feed(graph, "g", {1}), w = variable(g, "w", {1}, zeros());
  minimize(SGD(PiecewiseConstantDecay({9}, {1, 0.5})), reduce_sum(w * g));
  model_testing::Session session(graph, {});
  session.set_state("global_step", {9});
  session.run({{"g", {1}}});
  EXPECT_EQ(session.state("w"), Numbers{-1});
  session.run({{"g", {1}}});
  EXPECT_EQ(session.state("w"), Numbers{-1.5});
  EXPECT_EQ(session.state("global_step"), Numbers{11});
}

TEST(Schedules, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { ExponentialDecay(0.1, 0, 0.5); }),
            "ExponentialDecay: decay_steps is 0, expected more than 0");
  EXPECT_EQ(error_of([] {
              PiecewiseConstantDecay({1, 2}, {1, 2});
            }),
            "PiecewiseConstantDecay: has 2 values, expected 3");
  EXPECT_EQ(error_of([] {
              PiecewiseConstantDecay({2, 1}, {1, 2, 3});
            }),
            "PiecewiseConstantDecay: boundary 1 follows 2, expected a larger one");
  Graph graph;
  const Tensor g = model_testing::feed(graph, "g", {1}), w = variable(g, "w", {1}, zeros());
  const LearningRate vector([](Tensor step) { return broadcast_to(step, {2}); });
  EXPECT_EQ(error_of([&] { minimize(SGD(vector), reduce_sum(w * g)); }),
            "learning rate schedule gave f32[2], expected f32[]");
}

}  // namespace
}  // namespace tenon
