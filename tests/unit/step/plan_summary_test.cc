// What is said of a plan: numbers that can be counted by hand.
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "step/plan/named_plan.h"
#include "step/plan/step_cost.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using Numbers = std::vector<int>;

PlannedBuffer buffer(int first, int last, uint64_t offset, uint64_t bytes) {
  return {.memory = "workspace", .first = first, .last = last, .bytes = bytes, .offset = offset};
}

// Four steps:   0    1    2    3
//   0  [0,100)  ----------
//   1  [100,160)     ----------
//   2  [0,40)                ------   reuses 0
//   3  [40,160)                   -   reuses 0 and 1
StepPlan four_steps() {
  StepPlan plan;
  plan.nodes = 6;
  plan.steps = {
      {.name = "a", .op = "conv", .algorithm = "direct", .nodes = {{"a", "conv"}}, .flops = 8},
      {.name = "b", .op = "own", .algorithm = "gemm", .nodes = {{"b", "dot"}, {"c", "add"}, {"d", "mul"}}},
      {.name = "e", .op = "dot", .algorithm = "gemm", .nodes = {{"e", "dot"}}, .flops = 5, .bytes_accessed = 7},
      {.name = "copy", .op = "copy"}};
  plan.idle = {{"f", "reshape"}};
  plan.buffers = {buffer(0, 1, 0, 100), buffer(1, 2, 100, 60), buffer(2, 3, 0, 40), buffer(3, 3, 40, 120)};
  plan.buffers[2].after = {0};
  plan.buffers[3].after = {0, 1};
  PlannedBuffer result = buffer(0, 3, 0, 1000);
  result.memory = "result";
  plan.buffers.push_back(result);
  plan.memory.workspace = 160;
  return plan;
}

TEST(PlanSummary, CountsStepsThatDoSeveralNodesAndAlgorithms) {
  const PlanSummary s = summary_of(four_steps());
  EXPECT_EQ(s.units, 1);
  EXPECT_EQ(s.fused_steps, 1);
  EXPECT_EQ(s.fused_nodes, 3);
  EXPECT_EQ(s.flops, 13u);
  EXPECT_EQ(s.bytes_accessed, 7u);
  ASSERT_EQ(s.algorithms.size(), 2u);
  EXPECT_EQ(s.algorithms[0].name, "gemm");
  EXPECT_EQ(s.algorithms[0].steps, 2);
  EXPECT_EQ(s.algorithms[1].name, "direct");
}

// Alive are 100, 160, 100 and 160 bytes: of the two steps with most it is the first.
TEST(PlanSummary, FindsTheFirstStepAtWhichMostOfTheWorkspaceIsAlive) {
  const PlanSummary s = summary_of(four_steps());
  EXPECT_EQ(s.buffers, 4);
  EXPECT_EQ(s.buffer_bytes, 320u);
  EXPECT_EQ(s.workspace_bytes, 160u);
  EXPECT_EQ(s.peak_step, 1);
  EXPECT_EQ(s.peak_bytes, 160u);
  EXPECT_EQ(s.alive_at_peak, (Numbers{0, 1}));
}

// Each unit has its own, of which the device says the size.
TEST(PlanSummary, HasTheWorkspaceOfAllUnits) {
  StepPlan plan = four_steps();
  plan.steps[2].unit = 1;
  plan.memory.workspace = 80;
  EXPECT_EQ(summary_of(plan).units, 2);
  EXPECT_EQ(summary_of(plan).workspace_bytes, 160u);
}

TEST(PlanSummary, OfNothingHasNoPeak) {
  const PlanSummary s = summary_of({});
  EXPECT_EQ(s.peak_step, -1);
  EXPECT_EQ(s.buffers, 0);
  EXPECT_TRUE(s.alive_at_peak.empty());
}

TEST(PlanSummary, NamesTheBuffersThatWereLastInABuffersMemory) {
  StepPlan plan = four_steps();
  EXPECT_EQ(memory_reused_of(plan, plan.buffers[0]), Numbers{});
  EXPECT_EQ(memory_reused_of(plan, plan.buffers[3]), (Numbers{0, 1}));
  // All of 2's memory, of which 0 had a part before: that of 2. A longer one reaches behind it.
  plan.buffers.push_back(buffer(4, 4, 8, 32));
  plan.buffers.back().after = {0, 2};
  EXPECT_EQ(memory_reused_of(plan, plan.buffers.back()), Numbers{2});
  plan.buffers.push_back(buffer(5, 5, 0, 64));
  plan.buffers.back().after = {0, 2, 3, 5};
  EXPECT_EQ(memory_reused_of(plan, plan.buffers.back()), (Numbers{2, 3, 5}));
}

ValueId added(Graph& graph, const char* op, std::vector<ValueId> operands, const Type& type, Attrs attrs = {}) {
  const auto node = static_cast<NodeId>(graph.nodes.size());
  const auto value = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({type, node});
  graph.nodes.push_back({.op = op,
                         .operands = std::move(operands),
                         .results = {value},
                         .attrs = std::move(attrs),
                         .name = op + std::to_string(node)});
  return value;
}

// x, and `count` times its rows in reverse.
Graph reversed(int count) {
  Graph graph;
  const Type type{DType::kF32, {16, 64}};
  graph.values.push_back({type});
  graph.inputs.push_back({.value = 0, .role = Role::kFeed, .name = "x"});
  ValueId y = 0;
  for (int i = 0; i < count; ++i) y = added(graph, "reverse", {y}, type, {{"axes", std::vector<int64_t>{0}}});
  graph.results.push_back({.value = y, .name = "y"});
  return graph;
}

// x -> neg -> reshape -> neg -> y, of 4096 bytes each.
TEST(StepCosts, LeaveOutWhatAStepsNodesHandToEachOther) {
  Graph graph;
  const Type type{DType::kF32, {16, 64}}, flat{DType::kF32, {1024}};
  graph.values.push_back({type});
  graph.inputs.push_back({.value = 0, .role = Role::kFeed, .name = "x"});
  const ValueId first = added(graph, "neg", {0}, type);
  const ValueId reshaped = added(graph, "reshape", {first}, flat, {{"shape", std::vector<int64_t>{1024}}});
  graph.results.push_back({.value = added(graph, "neg", {reshaped}, flat), .name = "y"});
  const auto cost = [&](const std::vector<uint32_t>& nodes) {
    const NodeCost c = StepCosts(graph).of(nodes);
    return std::pair(c.flops, c.bytes);
  };
  EXPECT_EQ(cost({}), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(cost({0}), std::pair(uint64_t{1024}, uint64_t{8192}));
  EXPECT_EQ(cost({1}), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(cost({0, 1}), std::pair(uint64_t{1024}, uint64_t{8192}));
  EXPECT_EQ(cost({0, 1, 2}), std::pair(uint64_t{2048}, uint64_t{8192}));
  graph.results.push_back({.value = reshaped, .name = "between"});  // now the first neg's result is written, too
  EXPECT_EQ(cost({0, 1, 2}), std::pair(uint64_t{2048}, uint64_t{12288}));
}

// Two rows of a table of 16, each of 256 bytes, and their numbers.
TEST(StepCosts, CountOfATableWhatAGatherTakes) {
  Graph graph;
  graph.values = {{Type{DType::kF32, {16, 64}}}, {Type{DType::kI32, {2}}}};
  graph.values[1].index = 1;
  graph.inputs = {{.value = 0, .role = Role::kState, .name = "table"},
                  {.value = 1, .role = Role::kFeed, .name = "rows"}};
  const Type rows{DType::kF32, {2, 64}};
  const ValueId taken = added(graph, "gather", {0, 1}, rows, {{"axis", int64_t{0}}});
  graph.results.push_back({.value = added(graph, "neg", {taken}, rows), .name = "y"});
  EXPECT_EQ(StepCosts(graph).of({0}).bytes, 512u + 8 + 512);
  EXPECT_EQ(StepCosts(graph).of({0, 1}).bytes, 512u + 8 + 512);
}

// Values of 4096 bytes, each read by the next step alone: two are alive at a time, the third lies where the first did, and the
// fourth is the result.
TEST(PlanSummary, OfAChainHasTwoOfItsValuesAlive) {
  Result<std::shared_ptr<Device>> device = open_device("cpu");
  ASSERT_TRUE(device.ok()) << device.status().message();
  const StepPlan plan = step_plan(reversed(4), *device, {}).take();
  ASSERT_EQ(plan.steps.size(), 4u);
  for (const PlannedStep& step : plan.steps) {
    EXPECT_EQ(step.flops, 1024u);
    EXPECT_EQ(step.bytes_accessed, 8192u);
  }
  const PlanSummary s = summary_of(plan);
  EXPECT_EQ(s.fused_steps, 0);
  EXPECT_EQ(s.buffers, 3);
  EXPECT_EQ(s.buffer_bytes, 12288u);
  EXPECT_EQ(s.workspace_bytes, 8192u);
  EXPECT_EQ(s.peak_step, 1);
  EXPECT_EQ(s.peak_bytes, 8192u);
  EXPECT_EQ(s.alive_at_peak, (Numbers{0, 1}));
  EXPECT_EQ(plan.buffers[0].offset, plan.buffers[2].offset);
  EXPECT_EQ(memory_reused_of(plan, plan.buffers[2]), Numbers{0});
}

}  // namespace
}  // namespace tenon
