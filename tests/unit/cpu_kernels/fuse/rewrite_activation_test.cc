// A batch norm with the activation behind it, and their gradients.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fused_graph.h"
#include "own_nodes.h"
#include "tenon/op/names.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::testing {
namespace {

using plugin::GraphBuilder;
using plugin::GraphView;
using Shape = std::vector<int64_t>;
using Names = std::vector<std::string>;

// A step of training: x is normed and activated, and the gradient g of that comes back.
class RewritingActivations : public ::testing::Test {
 protected:
  struct Values {
    uint32_t x, gamma, beta, z, mean, var, y;
  };
  uint32_t input(const Shape& dims) {
    return graph_.input(TENON_F32, dims, TENON_ROLE_FEED, "input " + std::to_string(inputs_++));
  }
  uint32_t map() { return graph_.value(TENON_F32, kMap); }
  uint32_t channels() { return graph_.value(TENON_F32, {8}); }

  Values forward(int act) {
    Values v{input(kMap), input({8}), input({8}), map(), channels(), channels(), map()};
    graph_.node("batch_norm", {v.x, v.gamma, v.beta}, {v.z, v.mean, v.var}).attr_f64("eps", 1e-3);
    graph_.node("activation", {v.z}, {v.y}).attr_enum("act", act);
    for (const uint32_t r : {v.y, v.mean, v.var}) graph_.result(r);
    return v;
  }
  void backward(const Values& v, uint32_t t, int act) {
    const uint32_t dz = map(), dx = map(), dgamma = channels(), dbeta = channels();
    graph_.node("activation_grad", {input(kMap), t}, {dz}).attr_enum("act", act);
    graph_.node("batch_norm_grad", {dz, v.x, v.gamma, v.mean, v.var}, {dx, dgamma, dbeta}).attr_f64("eps", 1e-3);
    for (const uint32_t r : {dx, dgamma, dbeta}) graph_.result(r);
  }
  Names rewritten() {
    given_ = graph_.build();
    out_ = cpu::rewrite(GraphView(*given_.graph()), plugin::Env{});
    Names names;
    if (out_.origins.empty()) return names;
    const GraphView view(*out_.graph.graph());
    for (uint32_t i = 0; i < view.n_nodes(); ++i) names.emplace_back(view.node(i).op());
    return names;
  }
  plugin::NodeView node(uint32_t i) const { return GraphView(*out_.graph.graph()).node(i); }

  const Shape kMap{2, 6, 6, 8};
  GraphBuilder graph_;
  plugin::FlatGraph given_;
  plugin::Rewritten out_;
  int inputs_ = 0;
};

TEST_F(RewritingActivations, JoinsWhatClipsForwardAndBackward) {
  for (const int act : {TENON_ACT_RELU, TENON_ACT_RELU6}) {
    graph_ = GraphBuilder();
    const Values v = forward(act);
    backward(v, v.y, act);
    EXPECT_EQ(rewritten(), (Names{"batch_norm", "batch_norm_grad"}));
    for (const uint32_t i : {0u, 1u}) EXPECT_EQ(node(i).enumerator("act"), act);
    EXPECT_EQ(node(1).operand_id(op::batch_norm_grad::y), node(0).result_id(op::batch_norm::out::y));
    EXPECT_EQ(node(1).f64("eps"), 1e-3);
  }
}

// Their gradients need the argument, which the norm's gradient computes of what it reads.
TEST_F(RewritingActivations, JoinsSiluWhereBothSidesOfTheNormAreThere) {
  const Values v = forward(TENON_ACT_SILU);
  backward(v, v.z, TENON_ACT_SILU);
  EXPECT_EQ(rewritten(), (Names{"batch_norm", "cpu.batch_norm_grad"}));
  for (const uint32_t i : {0u, 1u}) EXPECT_EQ(node(i).enumerator("act"), TENON_ACT_SILU);
  EXPECT_EQ(node(1).operand_id(cpu::own::batch_norm_grad::beta), node(0).operand_id(op::batch_norm::beta));
}

TEST_F(RewritingActivations, LeavesSiluWithoutItsGradient) {
  forward(TENON_ACT_SILU);
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingActivations, LeavesSiluWhoseArgumentIsAResult) {
  const Values v = forward(TENON_ACT_SILU);
  backward(v, v.z, TENON_ACT_SILU);
  graph_.result(v.z);
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingActivations, LeavesANormThatAnotherReads) {
  const Values v = forward(TENON_ACT_RELU);
  graph_.result(v.z);
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingActivations, JoinsAnyActivationInInference) {
  const uint32_t x = input(kMap), z = map(), y = map();
  std::vector<uint32_t> operands{x};
  for (int k = 0; k < 4; ++k) operands.push_back(input({8}));
  graph_.node("batch_norm_apply", operands, {z}).attr_f64("eps", 1e-3);
  graph_.node("activation", {z}, {y}).attr_enum("act", TENON_ACT_SILU);
  graph_.result(y);
  EXPECT_EQ(rewritten(), Names{"batch_norm_apply"});
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_SILU);
}

// Squeeze-and-excite's: the broadcast value is in no memory.
TEST_F(RewritingActivations, BroadcastsChannelsWhereTheyAreUsed) {
  const auto spread = [&](const Shape& dims, const Shape& to) {
    const uint32_t y = map();
    graph_.node("broadcast", {input(dims)}, {y}).attr_list("shape", kMap).attr_list("dims", to);
    return y;
  };
  const uint32_t x = input(kMap), gate = spread({2, 1, 1, 8}, {0, 1, 2, 3}), y = map(), dx = map(), sum = map(),
                 z = map();
  graph_.node("mul", {x, gate}, {y});
  graph_.node("mul", {gate, x}, {dx});
  graph_.node("add", {spread({2, 8}, {0, 3}), dx}, {sum});
  graph_.node("mul", {spread({6, 8}, {1, 3}), x}, {z});  // other axes
  for (const uint32_t r : {y, sum, z}) graph_.result(r);
  EXPECT_EQ(rewritten(), (Names{"cpu.mul_channels", "cpu.mul_channels", "cpu.add_channels", "broadcast", "mul"}));
  EXPECT_EQ(node(1).operand_id(0), node(0).operand_id(0));
  EXPECT_EQ(node(1).operand_id(1), node(0).operand_id(1));
}

}  // namespace
}  // namespace tenon::testing
