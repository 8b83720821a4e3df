// What initializers draw from, against tests/golden/initializers.csv; the draws: tests/unit/train/initialize_test.cc.
#include "tenon/initializer.h"

#include <gtest/gtest.h>

#include "tenon/layers.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::feed;

void expect_limits(const Initializer& init, double limit) {
  EXPECT_EQ(init.kind, Initializer::Kind::kUniform);
  golden::expect_near({init.a, init.b}, {-limit, limit}, 1e-8);
}

void expect_generator(const Initializer& init, double deviation) {
  EXPECT_EQ(init.kind, Initializer::Kind::kTruncatedNormal);
  golden::expect_near({init.a, init.b}, {0, deviation}, 1e-8);
}

TEST(Initializers, DrawFromWhatKerasDrawsFrom) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("initializers.csv")) {
    // attention's fans are its own, below; the row beside it is the generic rule
    if (row.at("layer").find("MultiHeadAttention") == 0) continue;
    SCOPED_TRACE(row.at("layer"));
    const Shape shape(golden::integers(row.at("shape")));
    const auto n = [&](const char* column) { return std::stod(row.at(column)); };
    expect_limits(glorot_uniform(shape), n("glorot_uniform_limit"));
    expect_generator(glorot_normal(shape), n("glorot_normal_raw"));
    expect_limits(he_uniform(shape), n("he_uniform_limit"));
    expect_generator(he_normal(shape), n("he_normal_raw"));
    expect_limits(lecun_uniform(shape), n("lecun_uniform_limit"));
    expect_generator(lecun_normal(shape), n("lecun_normal_raw"));
    ++seen;
  }
  EXPECT_EQ(seen, 14);
}

TEST(Initializers, TakeTheirScaleAndFan) {
  const Shape kernel{3, 3, 16, 32};  // fans 144 and 288
  EXPECT_NEAR(variance_scaling(2, FanMode::kFanOut, Distribution::kUntruncatedNormal, kernel).b, std::sqrt(2.0 / 288),
              1e-12);
  EXPECT_NEAR(variance_scaling(1, FanMode::kFanAvg, Distribution::kUntruncatedNormal, kernel).b, std::sqrt(1.0 / 216),
              1e-12);
  EXPECT_EQ(variance_scaling(1, FanMode::kFanIn, Distribution::kUntruncatedNormal, {}).b, 1);
}

TEST(Initializers, IdentityIsOnTheDiagonal) {
  EXPECT_EQ(identity_initializer({2, 3}, 0.5).values, (std::vector<float>{0.5, 0, 0, 0, 0.5, 0}));
  EXPECT_EQ(identity_initializer({2, 2}).values, (std::vector<float>{1, 0, 0, 1}));
  Graph graph;
  dense(feed(graph, "x", {1, 2}), {.units = 2, .kernel_initializer = identity_initializer});
  EXPECT_EQ(graph.find_variable("dense/kernel")->initializer.values, (std::vector<float>{1, 0, 0, 1}));
  EXPECT_THROW(identity_initializer({2, 2, 2}), Error);
}

const Initializer& initializer_of(const Graph& graph, const char* name) {
  const Variable* v = graph.find_variable(name);
  EXPECT_NE(v, nullptr) << name;
  return v->initializer;
}

// glorot_uniform's limits by layer, from the same file.
TEST(Initializers, OfLayersSeeTheShapeThatKerasSees) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 8, 8, 16});
  conv2d(x, {.filters = 32, .kernel = 3, .groups = 4});
  depthwise_conv2d(x, {.kernel = 3, .depth_multiplier = 2});
  separable_conv2d(x, {.filters = 32, .kernel = 3});
  conv2d_transpose(x, {.filters = 32, .kernel = 3});
  expect_limits(initializer_of(graph, "conv2d/kernel"), 0.136082763);
  expect_limits(initializer_of(graph, "depthwise_conv2d/kernel"), 0.19245009);
  expect_limits(initializer_of(graph, "separable_conv2d/depthwise_kernel"), 0.198029509);
  expect_limits(initializer_of(graph, "separable_conv2d/pointwise_kernel"), 0.353553391);
  expect_limits(initializer_of(graph, "conv2d_transpose/kernel"), 0.11785113);
}

// Attention's kernels are drawn as the matrices that they are, with the fans of the file's rows (4 heads of 8, 32 in).
TEST(Initializers, OfAttentionSeeMatrices) {
  for (const golden::Row& row : golden::rows("initializers.csv")) {
    if (row.at("layer").find("MultiHeadAttention") != 0) continue;
    SCOPED_TRACE(row.at("layer"));
    const bool output = row.at("layer").find("attention_output") != std::string::npos;
    const auto n = [&](const char* column) { return std::stod(row.at(column)); };
    for (const std::string part : {"query", "key", "value", "attention_output"}) {
      if (output != (part == "attention_output")) continue;
      const auto drawn_by = [&](InitializerRule rule) {
        Graph graph;
        const Tensor x = feed(graph, "x", {2, 5, 32});
        multi_head_attention(x, x, {.num_heads = 4, .key_dim = 8, .kernel_initializer = rule});
        return initializer_of(graph, ("multi_head_attention/" + part + "/kernel").c_str());
      };
      expect_limits(drawn_by(&glorot_uniform), n("glorot_uniform_limit"));
      expect_generator(drawn_by(&glorot_normal), n("glorot_normal_raw"));
      expect_limits(drawn_by(&he_uniform), n("he_uniform_limit"));
      expect_generator(drawn_by(&lecun_normal), n("lecun_normal_raw"));
    }
  }
}

}  // namespace
}  // namespace tenon
