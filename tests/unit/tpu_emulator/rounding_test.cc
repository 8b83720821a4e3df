// What rounding writes: which ops, for which operands, in which order. Its numbers are tested on a device
// (tests/integration/device_tpu_test.cc).
#include "rounding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using tenon::plugin::GraphBuilder;
using tenon::plugin::GraphView;
using tenon::plugin::NodeView;

std::vector<std::string> ops_of(const tenon_graph* graph) {
  std::vector<std::string> out;
  const GraphView view(*graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i) out.emplace_back(view.node(i).op());
  return out;
}

const std::vector<std::string> kRounded{"cast", "cast", "abs", "compare", "mul", "select"};

TEST(Rounding, EachOperandOnceHoweverManyProductsReadIt) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 4}, TENON_ROLE_FEED), w = b.input(TENON_F32, {4, 4}, TENON_ROLE_STATE);
  const uint32_t y = b.value(TENON_F32, {8, 4}), z = b.value(TENON_F32, {8, 4});
  b.node("dot", {x, w}, {y}).name("y");
  b.node("dot", {x, w}, {z}).name("z").attr_bool("tb", true);
  b.result(y);
  b.result(z);
  const auto graph = b.build();
  const auto rounded = tpu::round_operands(GraphView(*graph.graph()));
  std::vector<std::string> expected = kRounded;
  expected.insert(expected.end(), kRounded.begin(), kRounded.end());
  expected.push_back("dot");
  expected.push_back("dot");
  EXPECT_EQ(ops_of(rounded.graph.graph()), expected);
  EXPECT_TRUE(GraphView(*rounded.graph.graph()).node(13).flag("tb"));
}

// As much as the gradient of a 2 x 2 pool, four times as large as what comes in, is read by convolutions alone.
TEST(Rounding, PooledGradientsAreRoundedBeforeTheySpread) {
  for (bool overlaps : {false, true}) {
    GraphBuilder b;
    const int64_t size = overlaps ? 3 : 2;
    const uint32_t x = b.input(TENON_F32, {8, 4, 4, 3}, TENON_ROLE_FEED),
                   y = b.input(TENON_F32, {8, 2, 2, 3}, TENON_ROLE_FEED);
    const uint32_t dy = b.input(TENON_F32, {8, 2, 2, 3}, TENON_ROLE_FEED),
                   w = b.input(TENON_F32, {1, 1, 5, 3}, TENON_ROLE_STATE);
    const uint32_t dx = b.value(TENON_F32, {8, 4, 4, 3}), dz = b.value(TENON_F32, {8, 4, 4, 5});
    b.node("max_pool_grad", {x, y, dy}, {dx}).name("dx").attr_list("window", {size, size}).attr_list("strides", {2, 2});
    b.node("conv_grad_input", {dx, w}, {dz}).name("dz");
    b.result(dz);
    const auto graph = b.build();
    const auto rounded = tpu::round_operands(GraphView(*graph.graph()));
    const std::vector<std::string> ops = ops_of(rounded.graph.graph());
    const auto at = std::find(ops.begin(), ops.end(), "max_pool_grad") - ops.begin();
    EXPECT_EQ(at, overlaps ? 0 : 6);
    EXPECT_EQ(ops.size(), 14u);
  }
}

TEST(Rounding, LeavesElementwiseWorkAndBf16ProductsAlone) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 8}, TENON_ROLE_FEED), y = b.value(TENON_F32, {8, 8});
  b.node("exp", {x}, {y}).name("y");
  b.result(y);
  const auto graph = b.build();
  EXPECT_TRUE(tpu::round_operands(GraphView(*graph.graph())).graph.empty());
}

TEST(Rounding, ThreeAndSixPasses) {
  for (const auto& [precision, passes] : {std::pair{TENON_PRECISION_HIGH, 3}, std::pair{TENON_PRECISION_HIGHEST, 6}}) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {8, 4}, TENON_ROLE_FEED), w = b.input(TENON_F32, {4, 4}, TENON_ROLE_STATE);
    const uint32_t y = b.value(TENON_F32, {8, 4});
    b.node("dot", {x, w}, {y}).name("y").attr_enum("precision", precision);
    b.result(y);
    const auto graph = b.build();
    const auto rounded = tpu::round_operands(GraphView(*graph.graph()));
    int dots = 0, sums = 0;
    for (const std::string& op : ops_of(rounded.graph.graph())) dots += op == "dot", sums += op == "add";
    EXPECT_EQ(dots, passes);
    EXPECT_EQ(sums, passes - 1);
  }
}

TEST(Rounding, EpiloguesOfSeveralPassesAreDecomposed) {
  for (const int32_t precision : {TENON_PRECISION_DEFAULT, TENON_PRECISION_HIGH}) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {8, 4}, TENON_ROLE_FEED), w = b.input(TENON_F32, {4, 4}, TENON_ROLE_STATE);
    const uint32_t y = b.value(TENON_F32, {8, 4});
    b.node("dot_bias_act", {x, w, TENON_NONE, TENON_NONE}, {y}).name("y").attr_enum("precision", precision);
    b.result(y);
    const auto graph = b.build();
    EXPECT_EQ(tpu::hides_dots(GraphView(*graph.graph()).node(0)), precision > TENON_PRECISION_DEFAULT);
  }
}

TEST(Rounding, Bf16ResultsLoseTheirSubnormals) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_BF16, {8}, TENON_ROLE_FEED), y = b.value(TENON_BF16, {8}),
                 z = b.value(TENON_BF16, {8});
  b.node("mul", {x, x}, {y}).name("y");
  b.node("reverse", {y}, {z}).name("z").attr_list("axes", {0});
  b.result(z);
  const auto graph = b.build();
  const auto rounded = tpu::round_operands(GraphView(*graph.graph()));
  EXPECT_EQ(ops_of(rounded.graph.graph()),
            (std::vector<std::string>{"mul", "abs", "compare", "mul", "select", "reverse"}));
}

}  // namespace
