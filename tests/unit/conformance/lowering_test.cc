#include "conformance/host/lowering.h"

#include "unit/conformance/cases.h"

namespace tenon::conformance {
namespace {

// d = twice(x) + twice_and_copy(x), where twice_and_copy has a second result, its operand, and an absent operand.
FlatGraph whole() {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_STATE, "x");
  const uint32_t twice = b.value(TENON_F32, {2}), other = b.value(TENON_F32, {2}), copy = b.value(TENON_F32, {2});
  const uint32_t sum = b.value(TENON_F32, {2}), all = b.value(TENON_F32, {2});
  b.node("twice", {x}, {twice}).name("first", "model/first");
  b.node("twice_and_copy", {TENON_NONE, twice}, {other, TENON_NONE, copy}).name("second");
  b.node("add", {other, copy}, {sum}).name("sum");
  b.node("add", {sum, x}, {all}).name("all");
  b.result(all);
  b.result(copy, TENON_MODE_LAST, 1);
  return b.build();
}

std::vector<Decomposition> decompositions() {
  const float two = 2;
  GraphBuilder first, second;
  const uint32_t x = first.input(TENON_F32, {2}, TENON_ROLE_STATE), y = first.value(TENON_F32, {2});
  first.node("mul", {x, first.constant(TENON_F32, {}, &two, 4)}, {y}).name("mul");
  first.result(y);
  const uint32_t v = second.input(TENON_F32, {2}, TENON_ROLE_STATE), w = second.value(TENON_F32, {2});
  second.node("add", {v, v}, {w});
  second.result(w);
  second.result(v);
  std::vector<Decomposition> out(2);
  out[0].graph = first.build();
  out[1].node = 1;
  out[1].graph = second.build();
  return out;
}

std::vector<std::string> names(const FlatGraph& g) {
  std::vector<std::string> out;
  const GraphView view(*g.graph());
  for (uint32_t i = 0; i < view.n_nodes(); ++i) out.emplace_back(view.node(i).name());
  return out;
}

TEST(Lowering, InlinesDecompositions) {
  const FlatGraph g = inline_decompositions(*whole().graph(), decompositions(), {true, true, false, false});
  EXPECT_EQ(names(g), (std::vector<std::string>{"first/mul", "second/0", "sum", "all"}));
  std::vector<Tensor> results;
  ASSERT_EQ(reference::evaluate_graph(*g.graph(), {floats({2}, {1, 10})}, reference::Rounding::kDtype, results), "");
  EXPECT_EQ(results[0].f, (std::vector<double>{4 + 2 + 1, 40 + 20 + 10}));
  EXPECT_EQ(results[1].f, (std::vector<double>{2, 20}));
  EXPECT_EQ(GraphView(*g.graph()).result(1).alias, 1u);
}

TEST(Lowering, KeepsTheNodesThatStayWhole) {
  const FlatGraph g = inline_decompositions(*whole().graph(), decompositions(), {true, false, false, false});
  const GraphView view(*g.graph());
  EXPECT_EQ(names(g), (std::vector<std::string>{"first/mul", "second", "sum", "all"}));
  EXPECT_EQ(view.text(view.raw_node(0).origin), "model/first");
  EXPECT_FALSE(view.node(1).has(0));
  EXPECT_TRUE(view.node(1).has(1));
  EXPECT_FALSE(view.node(1).has_result(1));
}

TEST(Lowering, SaysWhichNodeHasNoDecomposition) {
  EXPECT_EQ(failure_of([] {
              inline_decompositions(*whole().graph(), {}, {false, true, false, false});
            }),
            "twice_and_copy 'second' has no decomposition");
}

TEST(Lowering, CopiesAttributesAndConstants) {
  GraphBuilder b;
  const uint8_t blob[] = {1, 2, 3};
  const double table[] = {0.5, -1};
  const uint32_t x = b.input(TENON_F32, {4, 2}, TENON_ROLE_FEED, "x"), c = b.constant(TENON_F64, {2}, table, 16);
  const uint32_t y = b.value(TENON_F32, {4, 2}, "y");
  b.node("any", {x, c}, {y}, 3).name("n").attr_i64("i", -5).attr_f64("f", 0.1).attr_bool("b", true).attr_enum("e", 7);
  b.attr_list("l", {1, 2, 3}).attr_list("empty", {}).attr_bytes("blob", blob, 3).attr_bytes("byte", blob + 1, 1);
  b.result(y, TENON_MODE_EACH);
  const FlatGraph g = inline_decompositions(*b.build().graph(), {}, {false});
  const GraphView view(*g.graph());
  const plugin::NodeView n = view.node(0);
  EXPECT_EQ(n.version(), 3u);
  EXPECT_EQ(n.i64("i"), -5);
  EXPECT_EQ(n.f64("f"), 0.1);
  EXPECT_TRUE(n.flag("b"));
  EXPECT_EQ(n.find("b")->type, TENON_ATTR_BOOL);
  EXPECT_EQ(n.enumerator("e"), 7);
  EXPECT_EQ(n.list("l").vec(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(n.find("empty") && n.list("empty").empty());
  EXPECT_EQ(n.find("blob")->count, 3u);
  EXPECT_EQ(std::memcmp(view.attr_data(*n.find("blob")), blob, 3), 0);
  EXPECT_EQ(*view.attr_data(*n.find("byte")), 2);
  EXPECT_EQ(view.value_name(n.result_id(0)), "y");
  EXPECT_EQ(std::memcmp(view.constant_data(view.constant(0)), table, 16), 0);
  EXPECT_EQ(view.result(0).mode, TENON_MODE_EACH);
  EXPECT_EQ(view.input(0).role, TENON_ROLE_FEED);
}

TEST(Lowering, RaisesThePrecisionOfContractionsAlone) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2, 2}, TENON_ROLE_STATE), y = b.value(TENON_F32, {2, 2}),
                 z = b.value(TENON_F32, {2, 2}), w = b.value(TENON_F32, {2, 2});
  b.node("dot", {x, x}, {y}).name("y").attr_bool("ta", true);
  b.node("dot", {x, y}, {z}).name("z").attr_enum("precision", TENON_PRECISION_HIGHEST);
  b.node("neg", {z}, {w}).name("w");
  b.result(w);
  const FlatGraph g = with_precision(*b.build().graph(), TENON_PRECISION_HIGH);
  const GraphView view(*g.graph());
  EXPECT_EQ(view.node(0).enumerator("precision"), TENON_PRECISION_HIGH);
  EXPECT_TRUE(view.node(0).flag("ta"));
  EXPECT_EQ(view.node(1).enumerator("precision"), TENON_PRECISION_HIGHEST);
  EXPECT_EQ(view.node(2).find("precision"), nullptr);
}

}  // namespace
}  // namespace tenon::conformance
