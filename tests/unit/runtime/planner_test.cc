// Where a plan lets kernels write.
#include "runtime/plan/planner.h"

#include <gtest/gtest.h>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {
namespace {

// A kernel whose first result may lie in its first operand, and the second in the second.
Kernel make_two(const NodeView&, const Env&) {
  Kernel k;
  k.in_place = {{0, 0}, {1, 1}};
  return k;
}

// The plan of two states that become the results, which are aliases of these inputs.
Plan plan_of(uint32_t first_alias, uint32_t second_alias) {
  KernelTable table;
  table.add(
      "toy.two", [](const NodeView&) { return take(); }, make_two);
  GraphBuilder b;
  const uint32_t s = b.input(TENON_I64, {8}, TENON_ROLE_STATE), t = b.input(TENON_I64, {8}, TENON_ROLE_STATE);
  const uint32_t x = b.value(TENON_I64, {8}), y = b.value(TENON_I64, {8});
  b.node("toy.two", {s, t}, {x, y}).name("two");
  b.result(x, TENON_MODE_LAST, first_alias);
  b.result(y, TENON_MODE_LAST, second_alias);
  const FlatGraph flat = b.build();
  return make_plan(GraphView(*flat.graph()), table, Env{});
}

TEST(Planner, LetsAResultLieInTheOperandThatTheKernelNamesForIt) {
  const Plan same = plan_of(1, 2), crossed = plan_of(2, 1);
  EXPECT_EQ(same.steps[0].results[0].base, kBaseFirstInput);
  EXPECT_EQ(same.steps[0].results[1].base, kBaseFirstInput + 1);
  EXPECT_NE(crossed.steps[0].results[0].base, kBaseFirstInput + 1);
  EXPECT_NE(crossed.steps[0].results[1].base, kBaseFirstInput);
}

}  // namespace
}  // namespace tenon::plugin
