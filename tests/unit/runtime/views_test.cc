// What lies in the memory of another value.
#include "runtime/plan/views.h"

#include <gtest/gtest.h>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {
namespace {

// Whether x[start:start+2*stride:stride] of a vector, which is then negated, lies in x.
bool slice_lies_in_operand(int64_t start, int64_t stride) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {4}, TENON_ROLE_FEED), part = b.value(TENON_I64, {2}),
                 y = b.value(TENON_I64, {2});
  b.node("slice", {x}, {part})
      .name("part")
      .attr_list("start", {start})
      .attr_list("size", {2})
      .attr_list("stride", {stride});
  b.node("neg", {part}, {y}).name("y");
  b.result(y);
  const FlatGraph flat = b.build();
  return find_views(GraphView(*flat.graph())).idle[0];
}

TEST(Views, AreSlicesThatLeaveNothingOut) {
  EXPECT_TRUE(slice_lies_in_operand(0, 1));
  EXPECT_TRUE(slice_lies_in_operand(2, 1));
  EXPECT_FALSE(slice_lies_in_operand(0, 2));
}

}  // namespace
}  // namespace tenon::plugin
