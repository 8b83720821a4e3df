// Which exponentials of lines, times a factor, cpu.so computes by one kernel.
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

class RewritingExponentials : public ::testing::Test {
 protected:
  uint32_t input(const Shape& dims) { return graph_.input(TENON_F32, dims, TENON_ROLE_FEED); }
  uint32_t map() { return graph_.value(TENON_F32, kMap); }
  uint32_t spread(uint32_t v, const Shape& to) {
    const uint32_t y = map();
    graph_.node("broadcast", {v}, {y}).attr_list("shape", kMap).attr_list("dims", to);
    return y;
  }
  // exp(x - shift).
  uint32_t exponential(uint32_t shift) {
    const uint32_t difference = map(), e = map();
    graph_.node("sub", {x_, shift}, {difference});
    graph_.node("exp", {difference}, {e});
    return e;
  }
  uint32_t times(uint32_t a, uint32_t b) {
    const uint32_t y = map();
    graph_.node("mul", {a, b}, {y});
    graph_.result(y);
    return y;
  }
  // The names of the nodes after rewriting; none where the graph stayed as it was.
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

  const Shape kMap{4, 5, 6};
  GraphBuilder graph_;
  uint32_t x_ = input(kMap);
  plugin::FlatGraph given_;
  plugin::Rewritten out_;
};

TEST_F(RewritingExponentials, JoinsThoseOfRowsWithAFactorEach) {
  times(spread(input({4}), {0}), exponential(spread(input({4}), {0})));
  EXPECT_EQ(rewritten(), Names{"cpu.exp_of_rows"});
  EXPECT_EQ(node(0).in(cpu::own::exp_of_rows::g).dims().vec(), Shape{4});
}

TEST_F(RewritingExponentials, JoinsThoseOfRowsWithOneFactor) {
  times(exponential(spread(input({4, 5}), {0, 1})), input({}));
  EXPECT_EQ(rewritten(), Names{"cpu.exp_of_rows"});
}

TEST_F(RewritingExponentials, LeavesColumns) {
  times(input({}), exponential(spread(input({4, 6}), {0, 2})));
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingExponentials, LeavesAFactorOfOtherLines) {
  times(spread(input({6}), {2}), exponential(spread(input({4}), {0})));
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingExponentials, LeavesAFactorOfEachElement) {
  times(input(kMap), exponential(spread(input({4}), {0})));
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingExponentials, LeavesAShiftThatIsRepeatedAlongItsOwnAxes) {
  times(input({}), exponential(spread(input({4, 1}), {0, 1})));
  EXPECT_EQ(rewritten(), Names{});
}

TEST_F(RewritingExponentials, LeavesAnExponentialThatOthersRead) {
  const uint32_t e = exponential(spread(input({4}), {0}));
  times(input({}), e);
  graph_.result(e);
  EXPECT_EQ(rewritten(), Names{});
}

}  // namespace
}  // namespace tenon::testing
