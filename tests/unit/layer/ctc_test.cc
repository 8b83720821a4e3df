// Connectionist temporal classification beside Keras's (tests/fixtures/numbers.csv): values, gradients, lengths.
#include <gtest/gtest.h>

#include <cmath>

#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/losses.h"
#include "tenon/masking.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

struct CtcPart {
  Shape shape;
  Numbers values;
};
using CtcCase = std::map<std::string, CtcPart>;

std::map<std::string, CtcCase> ctc_cases() {
  std::map<std::string, CtcCase> out;
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv"))
    if (row.at("case").starts_with("ctc"))
      out[row.at("case")][row.at("part")] = {Shape(golden::integers(row.at("shape"))),
                                             golden::numbers(row.at("values"))};
  return out;
}

// The loss of each example, and the gradient of their sum.
struct CtcFound {
  Numbers each, gradient;
};
CtcFound ctc_of(const CtcCase& c, bool lengths, DType labels = DType::kI32) {
  Graph graph;
  const Tensor x = feed(graph, "x", c.at("logits").shape), y = feed(graph, "y", c.at("labels").shape, labels);
  CtcOptions o{.reduction = Reduction::kNone};
  const Shape& each = c.at("each").shape;
  if (lengths) {
    o.label_length = feed(graph, "n", each, DType::kI32);
    o.input_length = feed(graph, "t", each, DType::kI32);
  }
  const Tensor loss = ctc(y, x, o);
  Session session(graph, {loss, gradients(reduce_sum(loss), {x})[0]});
  model_testing::Feeds feeds{{"x", c.at("logits").values}, {"y", c.at("labels").values}};
  if (lengths) {
    feeds["n"] = c.at("label lengths").values;
    feeds["t"] = c.at("input lengths").values;
  }
  const auto values = session.run(feeds);
  return {values[0], values[1]};
}

TEST(Ctc, GivesKerasLossesAndGradients) {
  int tried = 0;
  for (const auto& [name, c] : ctc_cases()) {
    SCOPED_TRACE(name);
    const bool plain = name.find("plain") != std::string::npos;
    if (c.at("each").values[0] > 1e4) continue;  // no alignment
    for (const bool lengths : {false, true}) {
      if (!lengths && !plain) continue;
      const CtcFound f = ctc_of(c, lengths);
      golden::expect_near(f.each, c.at("each").values, 2e-6);
      golden::expect_near(f.gradient, c.at("gradient of the sum").values, 5e-6);
      ++tried;
    }
  }
  EXPECT_EQ(tried, 10);
}

// A table of numbers gives labels as floats.
TEST(Ctc, TakesLabelsThatAreFloats) {
  int tried = 0;
  for (const auto& [name, c] : ctc_cases()) {
    if (name.find("plain") == std::string::npos || c.at("each").values[0] > 1e4) continue;
    SCOPED_TRACE(name);
    const CtcFound f = ctc_of(c, true, DType::kF32);
    golden::expect_near(f.each, c.at("each").values, 2e-6);
    golden::expect_near(f.gradient, c.at("gradient of the sum").values, 5e-6);
    ++tried;
  }
  EXPECT_EQ(tried, 4);
}

TEST(Ctc, WithoutTheLengthsGivesOtherLosses) {
  int tried = 0;
  for (const auto& [name, c] : ctc_cases()) {
    if (name.find("lengths") == std::string::npos) continue;
    EXPECT_GT(std::fabs(ctc_of(c, false).each[0] - c.at("each").values[0]), 0.1) << name;
    ++tried;
  }
  EXPECT_EQ(tried, 2);
}

TEST(Ctc, OfALabelWithoutAlignmentIsLargeAndFinite) {
  int tried = 0;
  for (const auto& [name, c] : ctc_cases()) {
    if (c.at("each").values[0] < 1e4) continue;
    const CtcFound f = ctc_of(c, false);
    golden::expect_near(f.each, c.at("each").values, 1e-4);
    for (const double g : f.gradient) EXPECT_LE(std::fabs(g), 2);
    ++tried;
  }
  EXPECT_EQ(tried, 1);
}

// These are all label sequences that two steps can have: their probabilities add up to 1.
TEST(Ctc, IsAProbability) {
  Graph graph;
  const std::vector<Numbers> labels{{0, 0}, {1, 0}, {2, 0}, {1, 2}, {2, 1}};
  const Tensor x = feed(graph, "x", {5, 2, 3}), y = feed(graph, "y", {5, 2}, DType::kI32);
  Session session(graph, {reduce_sum(exp(-ctc(y, x, {.reduction = Reduction::kNone})))});
  Numbers logits, all;
  for (const Numbers& label : labels) {
    for (const double v : {0.3, -1.0, 2.0, 0.1, 0.7, -0.4}) logits.push_back(v);
    all.insert(all.end(), label.begin(), label.end());
  }
  EXPECT_NEAR(session.run({{"x", logits}, {"y", all}})[0][0], 1, 1e-6);
}

TEST(Ctc, TakesTheMaskOfPredictionsForTheirLengths) {
  const Numbers logits{0.3, -1, 2, 0.1, 0.7, -0.4, 5, 5, -5, 1, 2, 3, 0, 1, 0, 1, 0, 1};
  const auto loss = [&](const Loss& kind, bool mask) {
    Graph graph;
    const Tensor x = feed(graph, "x", {2, 3, 3}), y = feed(graph, "y", {2, 1}, DType::kI32);
    if (mask) set_mask(x, compare(feed(graph, "m", {2, 3}), full(graph, DType::kF32, {2, 3}, 0), CompareKind::kGt));
    Session session(graph, {kind(y, x)});
    model_testing::Feeds feeds{{"x", logits}, {"y", {1, 2}}};
    if (mask) feeds["m"] = {1, 1, 0, 1, 1, 1};
    return session.run(feeds)[0];
  };
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3, 3}), y = feed(graph, "y", {2, 1}, DType::kI32);
  Session session(graph, {ctc(y, x, {.input_length = feed(graph, "t", {2}, DType::kI32)})});
  const Numbers expected = session.run({{"x", logits}, {"y", {1, 2}}, {"t", {2, 3}}})[0];
  golden::expect_near(loss(CTC(), true), expected, 1e-6);
  golden::expect_near(loss("ctc", true), expected, 1e-6);
  EXPECT_GT(std::fabs(loss(CTC(), false)[0] - expected[0]), 0.01);
}

TEST(Ctc, SaysWhatDoesNotFit) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 3}), y = feed(graph, "y", {2, 2}, DType::kI32), z = feed(graph, "z", {2, 2});
  EXPECT_EQ(error_of([&] { ctc(y, z); }), "ctc: predictions are f32[2,2], expected floats [batch, steps, classes]");
  EXPECT_EQ(error_of([&] { ctc(cast(z, DType::kBF16), x); }), "ctc: labels are bf16[2,2], expected integers [2,2]");
  EXPECT_EQ(error_of([&] { ctc(x, x); }), "ctc: labels are f32[2,4,3], expected integers [2,n]");
  EXPECT_EQ(error_of([&] { ctc(y, x, {.input_length = y}); }),
            "ctc: input lengths are i32[2,2], expected integers [2]");
  EXPECT_EQ(error_of([&] { CTC({.from_logits = true}); }), "ctc: from_logits is for cross entropies");
}

}  // namespace
}  // namespace tenon
