// What is read of a node's attributes.
#include "tenon/plugin/op_attributes.h"

#include <gtest/gtest.h>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {
namespace {

// The header's promise: of another kind, the default; never the bits of the one as the other.
TEST(NodeView, GivesTheDefaultForAnAttributeOfAnotherKind) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_FEED), y = b.value(TENON_F32, {2});
  b.node("neg", {x}, {y}).attr_f64("f", 2.5).attr_i64("i", 7).attr_list("l", {1, 2});
  b.result(y);
  const FlatGraph flat = b.build();
  const NodeView node = GraphView(*flat.graph()).node(0);
  EXPECT_EQ(node.f64("f"), 2.5);
  EXPECT_EQ(node.i64("i"), 7);
  EXPECT_EQ(node.enumerator("f", 5), 5);
  EXPECT_EQ(node.list("l").size(), 2u);
  EXPECT_EQ(node.f64("i", -1), -1);
  EXPECT_EQ(node.i64("f", -1), -1);
  EXPECT_EQ(node.i64("l", -1), -1);
  EXPECT_EQ(node.list("f").size(), 0u);
}

// No more than its name and its kind may be there, and its kind may be none.
TEST(NodeView, GivesTheDefaultForAnAttributeWithoutANumber) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_FEED), y = b.value(TENON_F32, {2});
  b.node("neg", {x}, {y}).attr_i64("i", 7);
  b.result(y);
  const FlatGraph from = b.build();
  const GraphView view(*from.graph());
  tenon_attr none = view.node(0).attribute(0), of_no_kind = none;
  none.count = 0;
  of_no_kind.type = 0;
  for (const tenon_attr& a : {none, of_no_kind}) {
    GraphBuilder c;
    const uint32_t z = c.input(TENON_F32, {2}, TENON_ROLE_FEED);
    c.node("neg", {z}, {c.value(TENON_F32, {2})}).attr(view, a);
    const FlatGraph flat = c.build();
    EXPECT_EQ(GraphView(*flat.graph()).node(0).i64("i", -1), -1);
  }
}

// The attributes of another version, or of an op that is not published, are not known: a backend without a kernel for
// such an op leaves it to the host to take it apart.
TEST(UnknownAttribute, IsOfPublishedOpsOfVersion1) {
  const auto unknown = [](const char* op, uint32_t version) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_FEED), y = b.value(TENON_F32, {2});
    b.node(op, {x}, {y}, version).attr_i64("axis", 0).attr_i64("tenon.hint", 1).attr_i64("more", 1);
    b.result(y);
    const FlatGraph flat = b.build();
    return std::string(unknown_attribute(GraphView(*flat.graph()).node(0)));
  };
  EXPECT_EQ(unknown("softmax", 1), "more");
  EXPECT_EQ(unknown("softmax", 2), "");
  EXPECT_EQ(unknown("acme.softmax", 1), "");
}

// Dtypes and numbers of enums that Tenon does not have, as a message names them.
std::string unknown_of(const GraphBuilder& b) {
  const FlatGraph flat = b.build();
  return unknown_value(GraphView(*flat.graph()).node(0));
}

TEST(UnknownValue, IsADtypeOfAnOperandOrResult) {
  for (const int32_t dtype : {TENON_BOOL + 1, 77, -1}) {
    GraphBuilder of_operand;
    const uint32_t x = of_operand.value(dtype, {2}), y = of_operand.value(TENON_F32, {2});
    of_operand.node("acme.op", {y, x}, {y});
    EXPECT_EQ(unknown_of(of_operand), "dtype " + std::to_string(dtype));
    GraphBuilder of_result;
    const uint32_t a = of_result.value(TENON_F32, {2}), b = of_result.value(dtype, {2});
    of_result.node("acme.op", {a}, {a, b, a});
    EXPECT_EQ(unknown_of(of_result), "dtype " + std::to_string(dtype));
  }
}

TEST(UnknownValue, IsANumberThatNoEnumHas) {
  const auto unknown = [](const char* op, const char* name, int32_t type, int64_t value) {
    GraphBuilder b;
    const uint32_t x = b.value(TENON_F32, {2});
    b.node(op, {x}, {x}).attr(name, type, value);
    return unknown_of(b);
  };
  EXPECT_EQ(unknown("reduce", "kind", TENON_ATTR_ENUM, TENON_REDUCE_MIN), "");
  EXPECT_EQ(unknown("reduce", "kind", TENON_ATTR_ENUM, 17), "kind = 17");
  EXPECT_EQ(unknown("reduce", "kind", TENON_ATTR_ENUM, int64_t{1} << 32), "kind = 4294967296");
  EXPECT_EQ(unknown("acme.op", "kind", TENON_ATTR_ENUM, 17), "");
  EXPECT_EQ(unknown("reduce", "tenon.hint", TENON_ATTR_ENUM, 17), "");
  EXPECT_EQ(unknown("cast", "to", TENON_ATTR_DTYPE, 42), "to = dtype 42");
  EXPECT_EQ(unknown("cast", "to", TENON_ATTR_DTYPE, int64_t{1} << 32), "to = dtype 4294967296");
  EXPECT_EQ(unknown("cast", "to", TENON_ATTR_DTYPE, 0), "to = dtype 0");
  EXPECT_EQ(unknown("cast", "to", TENON_ATTR_DTYPE, TENON_BOOL), "");
  EXPECT_EQ(unknown("dot", "out", TENON_ATTR_DTYPE, 0), "");  // the operands'
  EXPECT_EQ(unknown("argmax", "kind", TENON_ATTR_I64, 2), "");
}

// A backend that puts several nodes in the place of one gives each a name of its own.
TEST(GraphBuilder, NumbersNodesOfOneOrigin) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_FEED);
  for (int i = 0; i < 3; ++i) b.node("neg", {x}, {b.value(TENON_F32, {2})}).name_after("dense");
  const FlatGraph flat = b.build();
  const GraphView view(*flat.graph());
  EXPECT_EQ(view.node(0).name(), "dense");
  EXPECT_EQ(view.node(1).name(), "dense_1");
  EXPECT_EQ(view.node(2).name(), "dense_2");
}

}  // namespace
}  // namespace tenon::plugin
