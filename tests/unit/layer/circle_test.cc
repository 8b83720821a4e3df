// The circle loss beside Keras's (tests/fixtures/numbers.csv): values, means over those that count, gradients.
#include <gtest/gtest.h>

#include <cmath>

#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/losses.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;
using CircleCase = std::map<std::string, Numbers>;

// "circle [0, 1] {'gamma': 2.0, 'remove_diagonal': False}"
CircleOptions circle_options(const std::string& name) {
  CircleOptions o;
  const auto number = [&](const char* key, double missing) {
    const size_t at = name.find(key);
    return at == std::string::npos ? missing : std::stod(name.substr(name.find(':', at) + 1));
  };
  o.gamma = number("gamma", 80);
  o.margin = number("margin", 0.4);
  o.remove_diagonal = name.find("'remove_diagonal': False") == std::string::npos;
  return o;
}

std::map<std::string, CircleCase> circle_cases() {
  std::map<std::string, CircleCase> out;
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv"))
    if (row.at("case").starts_with("circle")) out[row.at("case")][row.at("part")] = golden::numbers(row.at("values"));
  return out;
}

// The loss, and its gradient by the embeddings.
std::vector<Numbers> circle_of(const CircleCase& c, CircleOptions o, Reduction reduction) {
  const auto batch = static_cast<int64_t>(c.at("labels").size());
  Graph graph;
  const Tensor x = feed(graph, "x", {batch, 3}), y = feed(graph, "y", {batch}, DType::kI32);
  o.reduction = reduction;
  const Tensor loss = circle(y, x, o);
  Session session(graph, {loss, gradients(reduce_sum(loss), {x})[0]});
  return session.run({{"x", c.at("embeddings")}, {"y", c.at("labels")}});
}

TEST(Circle, GivesKerasLossesAndGradients) {
  int tried = 0;
  for (const auto& [name, c] : circle_cases()) {
    SCOPED_TRACE(name);
    const CircleOptions o = circle_options(name);
    golden::expect_near(circle_of(c, o, Reduction::kNone)[0], c.at("each"), 5e-6);
    const std::vector<Numbers> mean = circle_of(c, o, Reduction::kSumOverBatchSize);
    golden::expect_near(mean[0], c.at("mean"), 5e-6);
    ++tried;
    if (!o.remove_diagonal) continue;  // the distance to itself is 0, where the gradient jumps
    golden::expect_near(mean[1], c.at("gradient of the mean"), 2e-5);
  }
  EXPECT_EQ(tried, 5);
}

TEST(Circle, OfOtherOptionsIsAnother) {
  const CircleCase c = circle_cases().at("circle [0, 1, 0, 1, 0, 2] {'gamma': 2.0}");
  for (const CircleOptions& o : {CircleOptions{.gamma = 2.1}, {.gamma = 2, .margin = 0.41}})
    EXPECT_GT(std::fabs(circle_of(c, o, Reduction::kSumOverBatchSize)[0][0] - c.at("mean")[0]), 1e-3);
}

TEST(Circle, IsMadeByItsNameAndTakesAColumnOfLabels) {
  const CircleCase c = circle_cases().at("circle [0, 1, 0, 1, 2] {}");
  Graph graph;
  const Tensor x = feed(graph, "x", {5, 3}), y = feed(graph, "y", {5, 1}, DType::kI32);
  Session session(graph, {Loss("circle")(y, x), Circle({.gamma = 2})(y, x)});
  const auto values = session.run({{"x", c.at("embeddings")}, {"y", c.at("labels")}});
  golden::expect_near(values[0], c.at("mean"), 5e-6);
  EXPECT_NE(values[1][0], values[0][0]);
}

TEST(Circle, SaysWhatDoesNotFit) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3}), y = feed(graph, "y", {2}, DType::kI32), z = feed(graph, "z", {2});
  EXPECT_EQ(error_of([&] { circle(cast(z, DType::kBF16), x); }), "circle: labels are bf16[2], expected integers [2]");
  EXPECT_EQ(error_of([&] { circle(x, x); }), "circle: labels are f32[2,3], expected integers [2]");
  EXPECT_EQ(error_of([&] { circle(y, z); }), "circle: embeddings are f32[2], expected floats [batch, size]");
}

}  // namespace
}  // namespace tenon
