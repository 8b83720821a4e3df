// Numbers of one dtype as another, and which dtypes a kernel takes.
#include "tenon/plugin/element.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/typed_table.h"

namespace tenon::plugin {
namespace {

TEST(Convert, SaturatesAtTheEndsOfTheIntegersAndNowhereElse) {
  EXPECT_EQ(convert<int32_t>(-2147483647.0), -2147483647);
  EXPECT_EQ(convert<int32_t>(-2147483648.0), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(-2147483648.5), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(-1e300), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(2147483646.0), 2147483646);
  EXPECT_EQ(convert<int32_t>(2147483647.0), INT32_MAX);
  EXPECT_EQ(convert<int32_t>(2147483648.0), INT32_MAX);
  EXPECT_EQ(convert<int64_t>(-9223372036854774784.0), -9223372036854774784);
  EXPECT_EQ(convert<int64_t>(9223372036854774784.0), 9223372036854774784);
  EXPECT_EQ(convert<int64_t>(INFINITY), INT64_MAX);
  EXPECT_EQ(convert<int32_t>(std::nan("")), 0);
  EXPECT_EQ(convert<uint8_t>(254.9f), 254);
  EXPECT_EQ(convert<uint8_t>(-0.9f), 0);
}

// The op is a backend's own: nothing else checks its dtypes.
TEST(TypedTable, TakesTheDtypesThatItHasKernelsForAndNoOthers) {
  GraphBuilder b;
  const uint32_t number = b.input(TENON_I64, {}, TENON_ROLE_FEED), x = b.input(TENON_F32, {}, TENON_ROLE_FEED);
  b.node("toy.scaled", {number, x}, {b.value(TENON_F32, {})}).name("scaled");
  const FlatGraph flat = b.build();
  const NodeView node = GraphView(*flat.graph()).node(0);
  EXPECT_EQ(takes<Integers>()(node).answer, TENON_TAKE);
  EXPECT_EQ(takes<Floats>(1)(node).answer, TENON_TAKE);
  const Verdict verdict = takes<Floats>()(node);
  EXPECT_EQ(verdict.answer, TENON_REFUSE);
  EXPECT_EQ(verdict.reason, "toy.scaled: no kernel for i64");
}

}  // namespace
}  // namespace tenon::plugin
