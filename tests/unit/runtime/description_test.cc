// What a program says of its plan: steps, the nodes that they do, and where values lie.
#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

constexpr int64_t kPlanned = 8;
constexpr uint64_t kPlannedBytes = 8 * kPlanned;

uint32_t add_to(GraphBuilder& b, const char* op, uint32_t x) {
  const uint32_t y = b.value(TENON_I64, {kPlanned});
  b.node(op, {x}, {y});
  if (std::string_view(op) == "reverse") b.attr_list("axes", {0});
  return y;
}

// A program and what it says.
struct Described {
  explicit Described(const GraphBuilder& b) {
    tenon_options options{};
    options.struct_size = sizeof options;
    EXPECT_EQ(toy.compile(b, options, &program).code, TENON_OK);
    plan.struct_size = sizeof plan;
    EXPECT_EQ(toy.table.describe(program, &plan).code, TENON_OK);
  }
  ~Described() { toy.table.program_destroy(program); }

  const tenon_plan_buffer& buffer_of(uint32_t value) const { return plan.buffers[plan.values[value].buffer]; }
  std::vector<uint32_t> nodes_of(uint32_t step) const {
    const tenon_range& range = plan.steps[step].nodes;
    return {plan.nodes + range.first, plan.nodes + range.first + range.count};
  }

  Toy toy;
  tenon_program* program = nullptr;
  tenon_plan plan{};
};

TEST(PlanDescription, NamesTheNodesThatABackendsOwnNodeDoes) {
  GraphBuilder b;
  const uint32_t before = add_to(b, "neg", b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED));
  b.result(add_to(b, "neg", add_to(b, "toy.second", add_to(b, "toy.first", before))));
  const Described d(b);
  ASSERT_EQ(d.plan.n_steps, 3u);
  EXPECT_STREQ(d.plan.steps[1].op, "toy.fused");
  EXPECT_EQ(d.plan.steps[1].node, 2u);
  EXPECT_EQ(d.nodes_of(0), std::vector<uint32_t>{0});
  EXPECT_EQ(d.nodes_of(1), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(d.nodes_of(2), std::vector<uint32_t>{3});
}

// The first reversed value is dead when the third is made, which nothing else reads until the end.
TEST(PlanDescription, GivesTheMemoryOfADeadValueToALaterOne) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED);
  b.result(add_to(b, "reverse", add_to(b, "reverse", add_to(b, "reverse", add_to(b, "reverse", x)))));
  const Described d(b);
  ASSERT_EQ(d.plan.n_values, 4u);
  const tenon_plan_buffer &first = d.buffer_of(0), &second = d.buffer_of(1), &third = d.buffer_of(2);
  EXPECT_EQ(first.memory, TENON_PLAN_WORKSPACE);
  EXPECT_EQ(first.bytes, kPlannedBytes);
  EXPECT_EQ(first.offset, third.offset);
  EXPECT_NE(first.offset, second.offset);
  EXPECT_EQ(first.first, 0u);
  EXPECT_EQ(first.last, 1u);
  EXPECT_EQ(third.first, 2u);
  EXPECT_EQ(d.buffer_of(3).memory, TENON_PLAN_RESULT);
}

TEST(PlanDescription, PutsValuesThatAreComputedInPlaceIntoOneBuffer) {
  GraphBuilder b;
  const uint32_t state = b.input(TENON_I64, {kPlanned}, TENON_ROLE_STATE);
  const uint32_t reversed = add_to(b, "reverse", state);
  b.result(add_to(b, "reverse", add_to(b, "neg", reversed)));
  b.result(add_to(b, "neg", state), TENON_MODE_LAST, 1);
  const Described d(b);
  EXPECT_EQ(d.plan.values[0].buffer, d.plan.values[1].buffer);
  EXPECT_EQ(d.buffer_of(3).memory, TENON_PLAN_INPUT);
  EXPECT_EQ(d.buffer_of(3).index, 0u);
}

TEST(PlanDescription, HasNoStepForAReshape) {
  GraphBuilder b;
  const uint32_t x = add_to(b, "reverse", b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED));
  const uint32_t y = b.value(TENON_I64, {2, kPlanned / 2}), z = b.value(TENON_I64, {kPlanned});
  b.node("reshape", {x}, {y}).attr_list("shape", {2, kPlanned / 2});
  b.node("reshape", {y}, {z}).attr_list("shape", {kPlanned});
  b.result(add_to(b, "reverse", z));
  const Described d(b);
  EXPECT_EQ(d.plan.n_steps, 2u);
  EXPECT_EQ(d.plan.n_nodes, 2u);
  EXPECT_EQ(d.plan.values[0].buffer, d.plan.values[2].buffer);
  EXPECT_EQ(d.buffer_of(2).last, 1u);
}

TEST(PlanDescription, CopiesAResultThatIsAnInputByWayOfTheWorkspace) {
  GraphBuilder b;
  b.result(b.input(TENON_I64, {kPlanned}, TENON_ROLE_STATE));
  const Described d(b);
  ASSERT_EQ(d.plan.n_steps, 2u);
  EXPECT_STREQ(d.plan.steps[0].op, "copy");
  EXPECT_EQ(d.plan.steps[0].node, TENON_NONE);
  ASSERT_EQ(d.plan.n_buffers, 1u);
  EXPECT_EQ(d.plan.buffers[0].first, 0u);
  EXPECT_EQ(d.plan.buffers[0].last, 1u);
}

}  // namespace
}  // namespace tenon::plugin::testing
