// What a program says of its plan: steps, the nodes that they do, and where values lie.
#include <string>

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

// By its number among the inputs; other pieces of the workspace hold none.
TEST(PlanDescription, NamesTheScalarThatAPieceOfTheWorkspaceHolds) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED), k = b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  const uint32_t y = b.value(TENON_I64, {kPlanned});
  b.node("toy.plus", {x, k}, {y});
  b.result(add_to(b, "reverse", y));
  const Described d(b);
  std::vector<uint32_t> of_scalars, others;
  for (uint32_t i = 0; i < d.plan.n_buffers; ++i)
    if (d.plan.buffers[i].memory == TENON_PLAN_WORKSPACE)
      (i == d.plan.values[0].buffer ? others : of_scalars).push_back(d.plan.buffers[i].index);
  EXPECT_EQ(of_scalars, std::vector<uint32_t>{1});
  EXPECT_EQ(others, std::vector<uint32_t>{TENON_NONE});
}

// "node/result/unit" of each value.
TEST(PlanDescription, NamesTheNodeAndTheResultThatAValueIs) {
  const auto values = [](const Described& d) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < d.plan.n_values; ++i)
      out.push_back(std::to_string(d.plan.values[i].node) + "/" + std::to_string(d.plan.values[i].result) + "/" +
                    std::to_string(d.plan.values[i].unit));
    return out;
  };
  GraphBuilder two;
  const uint32_t x = two.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED), y = add_to(two, "reverse", x),
                 sum = two.value(TENON_I64, {kPlanned}), difference = two.value(TENON_I64, {kPlanned});
  two.node("toy.both", {x, y}, {sum, difference});
  two.result(sum);
  two.result(difference);
  EXPECT_EQ(values(Described(two)), (std::vector<std::string>{"0/0/0", "1/0/0", "1/1/0"}));

  GraphBuilder fused;
  const uint32_t before = add_to(fused, "neg", fused.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED));
  fused.result(add_to(fused, "neg", add_to(fused, "toy.second", add_to(fused, "toy.first", before))));
  const Described d(fused);
  EXPECT_EQ(values(d), (std::vector<std::string>{"0/0/0", "2/0/0", "3/0/0"}));
  for (uint32_t i = 0; i < d.plan.n_steps; ++i) EXPECT_EQ(d.plan.steps[i].unit, 0u);
}

// Nothing is left to do for the second toy.first, which nobody reads.
TEST(PlanDescription, NamesNoNodeThatIsNotDone) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED);
  const uint32_t fused = add_to(b, "toy.second", add_to(b, "toy.first", x));
  add_to(b, "toy.first", x);
  b.result(fused);
  const Described d(b);
  ASSERT_EQ(d.plan.n_steps, 1u);
  EXPECT_EQ(d.nodes_of(0), (std::vector<uint32_t>{0, 1}));
}

TEST(PlanDescription, SaysWhereInABufferAPartOfItLies) {
  GraphBuilder b;
  const uint32_t x = add_to(b, "reverse", b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED));
  const uint32_t part = b.value(TENON_I64, {kPlanned / 2});
  b.node("slice", {x}, {part}).attr_list("start", {3}).attr_list("limit", {3 + kPlanned / 2});
  const uint32_t reversed = b.value(TENON_I64, {kPlanned / 2});
  b.node("reverse", {part}, {reversed}).attr_list("axes", {0});
  b.result(reversed);
  const int64_t one = 1;
  b.constant(TENON_I64, {5}, &one, 8);
  const uint32_t constant = b.constant(TENON_I64, {4}, &one, 8), shaped = b.value(TENON_I64, {2, 2});
  b.node("reshape", {constant}, {shaped}).attr_list("shape", {2, 2});
  const uint32_t sum = b.value(TENON_I64, {2, 2});
  b.node("add", {shaped, shaped}, {sum});
  b.result(sum);
  const Described d(b);
  ASSERT_EQ(d.plan.n_values, 5u);
  EXPECT_EQ(d.plan.values[0].buffer, d.plan.values[1].buffer);
  EXPECT_EQ(d.plan.values[0].offset, 0u);
  EXPECT_EQ(d.plan.values[1].offset, 3u * 8);
  EXPECT_EQ(d.plan.values[2].offset, 0u);
  EXPECT_EQ(d.buffer_of(3).memory, TENON_PLAN_CONSTANT);
  EXPECT_EQ(d.plan.values[3].offset, 64u);  // behind 40 bytes
  EXPECT_EQ(d.plan.values[3].bytes, 32u);
}

// The third is computed over the first, the piece of the second is its own.
TEST(Info, NamesTheNodeThatFirstWritesAnAllocation) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED), first = add_to(b, "reverse", x),
                 second = add_to(b, "reverse", x), third = add_to(b, "neg", first),
                 sum = b.value(TENON_I64, {kPlanned});
  b.node("add", {second, third}, {sum});
  b.result(add_to(b, "reverse", sum));
  Toy toy;
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  ASSERT_EQ(toy.compile(b, options, &program, &info).code, TENON_OK);
  ASSERT_EQ(info.n_allocations, 2u);
  EXPECT_EQ(info.allocations[0].node, 0u);
  EXPECT_EQ(info.allocations[1].node, 1u);
  toy.table.program_destroy(program);
}

TEST(Info, CountsConstantsAsCode) {
  GraphBuilder b;
  const int64_t one = 1;
  const uint32_t first = b.constant(TENON_I64, {5}, &one, 8), second = b.constant(TENON_I64, {4}, &one, 8);
  b.result(first);
  b.result(second);
  Toy toy;
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  ASSERT_EQ(toy.compile(b, options, &program, &info).code, TENON_OK);
  EXPECT_EQ(info.code_bytes, 64u + 32u);
  toy.table.program_destroy(program);
}

// It is alive to the end, for the state is written then.
TEST(Info, NamesTheLastNodeForAnAllocationThatIsAliveToTheEnd) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_I64, {kPlanned}, TENON_ROLE_STATE);
  b.result(add_to(b, "reverse", s), TENON_MODE_LAST, 1);
  b.result(add_to(b, "reverse", s));
  Toy toy;
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  ASSERT_EQ(toy.compile(b, options, &program, &info).code, TENON_OK);
  ASSERT_EQ(info.n_allocations, 1u);
  EXPECT_EQ(info.allocations[0].first, 0u);
  EXPECT_EQ(info.allocations[0].last, 1u);
  toy.table.program_destroy(program);
}

// It lies in no piece of memory that its parts have; what is read behind it has an axis of 1 in front.
TEST(PlanDescription, HasAStepForAJoinAlongAnInnerAxis) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {2, 4}, TENON_ROLE_FEED), row = b.input(TENON_I64, {1, 8}, TENON_ROLE_FEED);
  const auto reversed = [&](uint32_t v, const std::vector<int64_t>& dims) {
    const uint32_t y = b.value(TENON_I64, dims);
    b.node("reverse", {v}, {y}).attr_list("axes", {0});
    return y;
  };
  const uint32_t first = reversed(x, {2, 4}), second = reversed(x, {2, 4}), joined = b.value(TENON_I64, {2, 8});
  b.node("concat", {first, second}, {joined}).attr_i64("axis", 1);
  const uint32_t behind = reversed(row, {1, 8});
  b.result(reversed(joined, {2, 8}));
  b.result(behind);
  const Described d(b);
  ASSERT_EQ(d.plan.n_steps, 5u);
  EXPECT_STREQ(d.plan.steps[2].op, "concat");
}

TEST(PlanDescription, KnowsNoFlags) {
  GraphBuilder b;
  b.result(add_to(b, "neg", b.input(TENON_I64, {kPlanned}, TENON_ROLE_FEED)));
  const Described d(b);
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 31}) {
    tenon_plan plan{};
    plan.struct_size = sizeof plan;
    plan.flags = flags;
    EXPECT_EQ(d.toy.table.describe(d.program, &plan).code, TENON_UNSUPPORTED);
  }
}

}  // namespace
}  // namespace tenon::plugin::testing
