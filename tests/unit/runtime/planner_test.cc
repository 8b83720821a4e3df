// Where a plan lets kernels write.
#include "runtime/plan/planner.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <string>
#include <vector>

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

// A kernel whose result may lie in its operand where they are of one size.
Plan plan_in_place(const GraphBuilder& b) {
  KernelTable table;
  const auto make = [](const NodeView&, const Env&) {
    Kernel k;
    k.in_place = {{0, 0}};
    return k;
  };
  table.add(
      "toy.one", [](const NodeView&) { return take(); }, make);
  const FlatGraph flat = b.build();
  return make_plan(GraphView(*flat.graph()), table, Env{});
}

TEST(Planner, LetsAResultLieInAStateWhateverIsNumberedBehindIt) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_I64, {8}, TENON_ROLE_STATE);
  b.input(TENON_I64, {4}, TENON_ROLE_FEED);
  const uint32_t x = b.value(TENON_I64, {8});
  b.node("toy.one", {s}, {x}).name("one");
  b.result(x, TENON_MODE_LAST, 1);
  const Plan plan = plan_in_place(b);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].results[0].base, kBaseFirstInput);
}

// The kernel reads the first half of the state and writes all of it.
TEST(Planner, LetsNoResultLieInAStateOfWhichTheNodeReadsAPart) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_I64, {8}, TENON_ROLE_STATE), part = b.value(TENON_I64, {4}),
                 x = b.value(TENON_I64, {8});
  b.node("slice", {s}, {part}).name("part").attr_list("start", {0}).attr_list("size", {4}).attr_list("stride", {1});
  b.node("toy.one", {part}, {x}).name("one");
  b.result(x, TENON_MODE_LAST, 1);
  const Plan plan = plan_in_place(b);
  EXPECT_EQ(plan.steps[0].operands[0].base, kBaseFirstInput);
  EXPECT_NE(plan.steps[0].results[0].base, kBaseFirstInput);
}

// While it lives, new memory is full of ones, so that what is read and was never written is no zero.
struct NoZeros {
#ifdef M_PERTURB
  NoZeros() { mallopt(M_PERTURB, 0xFE); }
  ~NoZeros() { mallopt(M_PERTURB, 0); }
#else
  NoZeros() {}
#endif
};

// Five: there is room for more steps behind the last.
TEST(Planner, TakesScratchForItsNodesAndForNoMore) {
  KernelTable table;
  const auto make = [](const NodeView&, const Env&) {
    Kernel k;
    k.threads = 2;
    k.scratch_bytes = 128;
    k.thread_scratch_bytes = 64;
    return k;
  };
  table.add(
      "toy.scratch", [](const NodeView&) { return take(); }, make);
  GraphBuilder b;
  uint32_t x = b.input(TENON_I64, {8}, TENON_ROLE_FEED);
  for (int i = 0; i < 5; ++i) {
    const uint32_t y = b.value(TENON_I64, {8});
    b.node("toy.scratch", {x}, {y}).name("n" + std::to_string(i));
    x = y;
  }
  b.result(x);
  const FlatGraph flat = b.build();
  Env env;
  env.threads = 8;
  const NoZeros poison;
  const Plan plan = make_plan(GraphView(*flat.graph()), table, env);
  EXPECT_EQ(plan.memory.blocks.size(), 4u + 5u);  // values but the result, and scratch
  EXPECT_EQ(plan.thread_scratch_bytes, 64u);
  EXPECT_EQ(plan.threads, 2u);
  EXPECT_EQ(plan.arena_bytes(), 2 * 64u + 128 + 2 * 64);  // two values and scratch at a time
}

// In memory a third node lies behind the two of the graph, whose results are nowhere.
TEST(Planner, PlacesTheResultsOfItsNodesAndOfNoMore) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {8}, TENON_ROLE_FEED), y = b.value(TENON_I64, {8}), z = b.value(TENON_I64, {8});
  b.node("toy.any", {x}, {y}).name("first");
  b.node("toy.any", {y}, {z}).name("second");
  b.node("toy.any", {z}, {z}).name("behind");
  b.result(z);
  const FlatGraph flat = b.build();
  tenon_graph two = *flat.graph();
  std::vector<uint8_t> data(two.data, two.data + two.data_size);
  two.data = data.data();
  two.nodes.count = 2;
  reinterpret_cast<tenon_node*>(data.data() + two.nodes.at)[2].results.first = 1u << 30;
  KernelTable table;
  table.add(
      "toy.any", [](const NodeView&) { return take(); }, [](const NodeView&, const Env&) { return Kernel(); });
  const Plan plan = make_plan(GraphView(two), table, Env{});
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.memory.blocks.size(), 1u);  // y
}

}  // namespace
}  // namespace tenon::plugin
