// Two rewritings, one after the other, told as one. Maps of nodes and values are written by hand.
#include <gtest/gtest.h>

#include "tenon/plugin/matcher.h"

namespace tenon::plugin::testing {
namespace {

using Ids = std::vector<uint32_t>;

FlatGraph one_node(std::string_view op) {
  GraphBuilder b;
  const uint32_t a = b.input(TENON_F32, {}, TENON_ROLE_FEED), y = b.value(TENON_F32, {});
  b.node(op, {a}, {y});
  b.result(y);
  return b.build();
}

std::string_view only_op(const GraphView& graph) { return graph.node(0).op(); }

std::string_view only_op(const Rewritten& rewritten) { return only_op(GraphView(*rewritten.graph.graph())); }

// Four nodes became two: 0 and 1 are now node 0, 2 is gone, and 3 is node 1.
Rewritten first_rewritten() { return {one_node("first"), {1, 3}, {0, 0, TENON_NONE, 1}, {0, 2, TENON_NONE, 4}}; }
// These two became three: 1 is now nodes 0 and 2, 0 is gone, and node 1 is new.
Rewritten second_rewritten() { return {one_node("second"), {1, 0, 1}, {TENON_NONE, 2}, {3, TENON_NONE, 1, 0, 2}}; }

TEST(Joined, LeadsFromTheLastGraphToTheFirst) {
  const Rewritten both = joined(first_rewritten(), second_rewritten());
  EXPECT_EQ(only_op(both), "second");
  EXPECT_EQ(both.origins, (Ids{3, 1, 3}));
  EXPECT_EQ(both.values, (Ids{4, TENON_NONE, 2, 0, TENON_NONE}));
  EXPECT_EQ(both.done_by, (Ids{TENON_NONE, TENON_NONE, TENON_NONE, 2}));
}

TEST(Joined, IsTheOneThatRewroteWhereTheOtherDidNot) {
  const Rewritten early = joined(first_rewritten(), {}), late = joined({}, second_rewritten());
  EXPECT_EQ(only_op(early), "first");
  EXPECT_EQ(early.origins, first_rewritten().origins);
  EXPECT_EQ(early.done_by, first_rewritten().done_by);
  EXPECT_EQ(early.values, first_rewritten().values);
  EXPECT_EQ(only_op(late), "second");
  EXPECT_EQ(late.origins, second_rewritten().origins);
  EXPECT_EQ(late.done_by, second_rewritten().done_by);
  EXPECT_EQ(late.values, second_rewritten().values);
  EXPECT_TRUE(joined({}, {}).graph.empty());
}

TEST(GraphAfter, IsTheGivenOneWhereNothingWasRewritten) {
  const FlatGraph given = one_node("given");
  const Rewritten made = first_rewritten(), none;
  EXPECT_EQ(only_op(graph_after(made, GraphView(*given.graph()))), "first");
  EXPECT_EQ(only_op(graph_after(none, GraphView(*given.graph()))), "given");
}

TEST(CopyAttributes, TakesAllOfThem) {
  GraphBuilder from;
  from.node("from", {}, {})
      .attr_i64("axis", 2)
      .attr_f64("eps", 0.5)
      .attr_list("low", {1, 2})
      .attr_bytes("name", "xy", 2);
  const FlatGraph given = from.build();
  GraphBuilder to;
  copy_attributes(to.node("to", {}, {}), GraphView(*given.graph()).node(0));
  const FlatGraph made = to.build();
  const NodeView node = GraphView(*made.graph()).node(0);
  ASSERT_EQ(node.attributes(), 4);
  EXPECT_EQ(node.i64("axis"), 2);
  EXPECT_EQ(node.f64("eps"), 0.5);
  EXPECT_EQ(node.list("low").vec(), (std::vector<int64_t>{1, 2}));
  ASSERT_EQ(node.find("name")->count, 2u);
  EXPECT_EQ(node.graph().attr_data(*node.find("name"))[1], 'y');
}

}  // namespace
}  // namespace tenon::plugin::testing
