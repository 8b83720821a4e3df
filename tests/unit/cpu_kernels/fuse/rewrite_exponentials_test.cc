// Which exponentials of lines, times a factor, cpu.so computes by one kernel.
#include "rewriting_graph.h"

#include <gtest/gtest.h>

#include "own_nodes.h"

namespace tenon::testing {
namespace {

class RewritingExponentials : public ::testing::Test, protected RewritingGraph {
 protected:
  uint32_t map() { return graph.value(TENON_F32, kMap); }
  uint32_t spread(uint32_t v, const Shape& to) {
    const uint32_t y = map();
    graph.node("broadcast", {v}, {y}).attr_list("shape", kMap).attr_list("dims", to);
    return y;
  }
  // exp(x - shift).
  uint32_t exponential(uint32_t shift) {
    const uint32_t difference = map(), e = map();
    graph.node("sub", {x_, shift}, {difference});
    graph.node("exp", {difference}, {e});
    return e;
  }
  uint32_t times(uint32_t a, uint32_t b) {
    const uint32_t y = map();
    graph.node("mul", {a, b}, {y});
    graph.result(y);
    return y;
  }

  const Shape kMap{4, 5, 6};
  uint32_t x_ = input(kMap);
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
  EXPECT_TRUE(stays());
}

TEST_F(RewritingExponentials, LeavesAFactorOfOtherLines) {
  times(spread(input({6}), {2}), exponential(spread(input({4}), {0})));
  EXPECT_TRUE(stays());
}

TEST_F(RewritingExponentials, LeavesAFactorOfEachElement) {
  times(input(kMap), exponential(spread(input({4}), {0})));
  EXPECT_TRUE(stays());
}

TEST_F(RewritingExponentials, LeavesAShiftThatIsRepeatedAlongItsOwnAxes) {
  times(input({}), exponential(spread(input({4, 1}), {0, 1})));
  EXPECT_TRUE(stays());
}

TEST_F(RewritingExponentials, LeavesAnExponentialThatOthersRead) {
  const uint32_t e = exponential(spread(input({4}), {0}));
  times(input({}), e);
  graph.result(e);
  EXPECT_TRUE(stays());
}

}  // namespace
}  // namespace tenon::testing
