// A batch norm with the activation behind it, and their gradients.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::testing {
namespace {

// A step of training: x is normed and activated, and the gradient g of that comes back.
class RewritingActivations : public ::testing::Test, protected RewritingGraph {
 protected:
  struct Values {
    uint32_t x, gamma, beta, z, mean, var, y;
  };
  uint32_t map() { return graph.value(TENON_F32, kMap); }
  uint32_t channels() { return graph.value(TENON_F32, {8}); }

  Values forward(int act) {
    Values v{input(kMap), input({8}), input({8}), map(), channels(), channels(), map()};
    graph.node("batch_norm", {v.x, v.gamma, v.beta}, {v.z, v.mean, v.var}).attr_f64("eps", 1e-3);
    graph.node("activation", {v.z}, {v.y}).attr_enum("act", act);
    for (const uint32_t r : {v.y, v.mean, v.var}) graph.result(r);
    return v;
  }
  void backward(const Values& v, uint32_t t, int act) {
    const uint32_t dz = map(), dx = map(), dgamma = channels(), dbeta = channels();
    graph.node("activation_grad", {input(kMap), t}, {dz}).attr_enum("act", act);
    graph.node("batch_norm_grad", {dz, v.x, v.gamma, v.mean, v.var}, {dx, dgamma, dbeta}).attr_f64("eps", 1e-3);
    for (const uint32_t r : {dx, dgamma, dbeta}) graph.result(r);
  }

  const Shape kMap{2, 6, 6, 8};
};

TEST_F(RewritingActivations, JoinsWhatClipsForwardAndBackward) {
  for (const int act : {TENON_ACT_RELU, TENON_ACT_RELU6}) {
    graph = GraphBuilder();
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
  EXPECT_TRUE(stays());
}

TEST_F(RewritingActivations, LeavesSiluWhoseArgumentIsAResult) {
  const Values v = forward(TENON_ACT_SILU);
  backward(v, v.z, TENON_ACT_SILU);
  graph.result(v.z);
  EXPECT_TRUE(stays());
}

TEST_F(RewritingActivations, LeavesANormThatAnotherReads) {
  const Values v = forward(TENON_ACT_RELU);
  graph.result(v.z);
  EXPECT_TRUE(stays());
}

TEST_F(RewritingActivations, JoinsAnyActivationInInference) {
  const uint32_t x = input(kMap), z = map(), y = map();
  std::vector<uint32_t> operands{x};
  for (int k = 0; k < 4; ++k) operands.push_back(input({8}));
  graph.node("batch_norm_apply", operands, {z}).attr_f64("eps", 1e-3);
  graph.node("activation", {z}, {y}).attr_enum("act", TENON_ACT_SILU);
  graph.result(y);
  EXPECT_EQ(rewritten(), Names{"batch_norm_apply"});
  EXPECT_EQ(node(0).enumerator("act"), TENON_ACT_SILU);
}

// Squeeze-and-excite's: the broadcast value is in no memory.
TEST_F(RewritingActivations, BroadcastsChannelsWhereTheyAreUsed) {
  const auto spread = [&](const Shape& dims, const Shape& to) {
    const uint32_t y = map();
    graph.node("broadcast", {input(dims)}, {y}).attr_list("shape", kMap).attr_list("dims", to);
    return y;
  };
  const uint32_t x = input(kMap), gate = spread({2, 1, 1, 8}, {0, 1, 2, 3}), y = map(), dx = map(), sum = map(),
                 z = map();
  graph.node("mul", {x, gate}, {y});
  graph.node("mul", {gate, x}, {dx});
  graph.node("add", {spread({2, 8}, {0, 3}), dx}, {sum});
  graph.node("mul", {spread({6, 8}, {1, 3}), x}, {z});  // other axes
  for (const uint32_t r : {y, sum, z}) graph.result(r);
  EXPECT_EQ(rewritten(), (Names{"cpu.mul_channels", "cpu.mul_channels", "cpu.add_channels", "broadcast", "mul"}));
  EXPECT_EQ(node(1).operand_id(0), node(0).operand_id(0));
  EXPECT_EQ(node(1).operand_id(1), node(0).operand_id(1));
}

}  // namespace
}  // namespace tenon::testing
