// What emit() and verify() say of a wrong graph, and the table of ops.
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

std::string binary_error(Tensor (*f)(Tensor, Tensor), const Type& a, const Type& b) {
  return error_of([f](const Tensors& in) { return Tensors{f(in[0], in[1])}; }, {a, b});
}

TEST(Emit, NamesOperandExpectedAndFound) {
  EXPECT_EQ(binary_error(add, {DType::kF32, {2, 3}}, {DType::kF32, {3}}),
            "add 'add': operand 1 'b' has shape [3], expected [2,3] as operand 0, or a scalar");
  EXPECT_EQ(binary_error(add, {DType::kF32, {2}}, {DType::kBF16, {2}}),
            "add 'add': operand 1 'b' is bf16[2], expected f32 as operand 0 'a'");
  EXPECT_EQ(binary_error(pow, {DType::kI32, {2}}, {DType::kI32, {2}}),
            "pow 'pow': operand 0 'a' is i32[2], expected f32, bf16, f16 or f64");
  EXPECT_EQ(error_of([](const Tensors& in) { return Tensors{dot(in[0], in[1])}; },
                     {{DType::kF32, {2, 3}}, {DType::kF32, {4, 5}}}),
            "dot 'dot': sums over 3 in operand 0 f32[2,3] and 4 in operand 1 f32[4,5]");
}

TEST(Emit, RefusesSizesThatNoDecompositionCanDivideByOrHold) {
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return emit_all("resize", {in[0]}, {{"h", int64_t{3}}, {"w", int64_t{1} << 31}});
                },
                {{DType::kF32, {2, 2, 2, 2}}}),
            "resize 'resize': size is 3x2147483648, expected 1 to 65536");
  const Type none{DType::kF32, {3, 5, 0, 2}};
  EXPECT_EQ(
      error_of(
          [](const Tensors& in) {
            return emit_all("attention", {in[0], in[0], in[0]}, {{"scale", 1.0}, {"causal", false}});
          },
          {none}),
      "attention 'attention': operand 0 'q' is f32[3,5,0,2] and operand 1 'k' is f32[3,5,0,2], expected heads and "
      "positions");
}

TEST(Emit, PutsTheScopeBeforeTheNameInMessages) {
  const Build f = [](const Tensors& in) {
    const NameScope outer(*in[0].graph(), "block3"), inner(*in[0].graph(), "a");
    return Tensors{reshape(in[0], {7})};
  };
  EXPECT_EQ(error_of(f, {{DType::kF32, {2, 3}}}),
            "reshape 'block3/a/reshape': cannot give f32[2,3] the shape [7]: 6 elements, expected 7");
}

TEST(Emit, RefusesConstantsThatTheirDTypeDoesNotHold) {
  const auto error = [](DType dtype, double value) {
    return error_of([=](const Tensors& in) { return Tensors{full(*in[0].graph(), dtype, {}, value)}; },
                    {{DType::kF32, {}}});
  };
  EXPECT_EQ(error(DType::kI32, 3e9), "constant: 3e+09 is outside i32");
  EXPECT_EQ(error(DType::kI64, -kInf), "constant: -inf is outside i64");
  EXPECT_EQ(error(DType::kU8, 256), "constant: 256 is outside u8");
  EXPECT_EQ(error(DType::kBool, kNaN), "constant: nan is outside bool");
}

TEST(Emit, RefusesUnknownOpsAttributesAndCounts) {
  const std::vector<Type> x{{DType::kF32, {2}}};
  EXPECT_EQ(error_of([](const Tensors& in) { return emit_all("sine", in); }, x),
            "sine 'sine': no op of name sine and version 1");
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return emit_all("sin", in, {{"turns", 1.0}});
                },
                x),
            "sin 'sin': has no attribute 'turns'");
  EXPECT_EQ(error_of([](const Tensors& in) { return emit_all("softmax", in); }, x),
            "softmax 'softmax': attribute 'axis' is missing");
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return emit_all("softmax", in, {{"axis", 0.0}});
                },
                x),
            "softmax 'softmax': attribute 'axis' is not of type i64");
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return emit_all("sin", {in[0], in[0]});
                },
                x),
            "sin 'sin': has 2 operands, takes 1");
  EXPECT_EQ(error_of([](const Tensors& in) { return emit_all("add", {in[0]}); }, x),
            "add 'add': operand 1 'b' is missing");
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return emit_all("add", {Tensor(), in[0]});
                },
                x),
            "add 'add': operand 0 'a' is missing");
}

TEST(Emit, RefusesTensorsOfTwoGraphsAndTensorsNeverSet) {
  Graph other;
  const Tensor y(&other, other.add_input({DType::kF32, {2}}, Role::kFeed, "y"));
  EXPECT_EQ(error_of([&](const Tensors& in) { return Tensors{add(in[0], y)}; }, {{DType::kF32, {2}}}),
            "add: operand 1 is a tensor of another function");
  EXPECT_EQ(error_of([](const Tensors&) { return Tensors{neg(Tensor())}; }, {}), "neg: has no operands");
}

// A graph in the place of one that is gone has another number.
TEST(Emit, RefusesTensorsOfAGraphThatLayInTheSamePlace) {
  const auto input = [](Graph& graph) { return Tensor(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x")); };
  std::optional<Graph> place(std::in_place);
  const Graph* const before = &*place;
  const Tensor old = input(*place);
  EXPECT_EQ(add(old, old).rank(), 1);
  place.emplace();
  ASSERT_EQ(&*place, before);
  const Tensor now = input(*place);
  EXPECT_EQ(old.id(), now.id());
  EXPECT_FALSE(old == now);
  EXPECT_FALSE(old.is_of(*place));
  EXPECT_TRUE(now.is_of(*place));
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string gone =
      "a tensor of a function that was traced before is used; each time it is traced it has tensors of its own";
  EXPECT_EQ(message([&] { old.type(); }), gone);
  const std::string left =
      "a tensor of a function that was traced before; each time it is traced it has tensors of its own";
  EXPECT_EQ(message([&] { emit_all("add", {now, old}); }), "add: operand 1 is " + left);
  EXPECT_EQ(message([&] { emit_all("neg", {old}); }), "neg: operand 0 is " + left);
  EXPECT_EQ(message([&] { emit_all("neg", {now}); }), "no error");
  const Graph copy = *place;
  EXPECT_FALSE(now.is_of(copy));
  *place = copy;  // its values are others
  EXPECT_EQ(message([&] { now.type(); }), gone);
}

TEST(Emit, RefusesResultsTooLargeToCount) {
  for (const int64_t side : {int64_t{1} << 30, int64_t{1} << 40}) {
    const Build f = [side](const Tensors& in) { return Tensors{broadcast(in[0], {side, side}, {})}; };
    EXPECT_NE(error_of(f, {{DType::kF32, {}}}).find("has 2^60 elements or more"), std::string::npos) << side;
  }
}

Graph small_graph() {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kState, "x"));
  graph.results.push_back({neg(exp(x)).id(), ResultMode::kLast, -1, false, "y"});
  return graph;
}

// Sums and products of sizes that a graph names are calculated where they are numbers, or refused.
TEST(Emit, RefusesSizesWhoseArithmeticOverflows) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLong = (int64_t{1} << 60) - 8;
  const auto error = [](const char* op, const Shape& shape, const Attrs& attrs) {
    return error_of([=](const Tensors& in) { return emit_all(op, {in[0]}, attrs); }, {{DType::kU8, shape}});
  };
  EXPECT_EQ(error_of([](const Tensors& in) { return Tensors{reshape(in[0], {kMost})}; }, {{DType::kF32, {2}}}),
            "shape has dimension 9223372036854775807, expected less than 2^60");
  EXPECT_EQ(error("pad", {kMost / ((int64_t{1} << 39) + 1)},
                  {{"low", Ints{7}}, {"high", Ints{0}}, {"interior", Ints{(int64_t{1} << 39) + 1}}}),
            "pad 'pad': padded axis 0 is too long");
  EXPECT_EQ(error("all_gather", {kLong}, {{"axis", int64_t{0}}, {"replicas", int64_t{65536}}}),
            "all_gather 'all_gather': axis 0 is too long");
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kU8, {9}}, Role::kState, "x"));
  EXPECT_EQ(slice(x, {0}, {9}, {kMost}).dim(0), 1);
  EXPECT_EQ(error_of(
                [](const Tensors& in) {
                  return Tensors{concat({in[0], in[0], in[0]}, 0)};
                },
                {{DType::kU8, {kLong / 2}}}),
            "concat 'concat': shape has dimension 1729382256910270452, expected less than 2^60");
  EXPECT_EQ(
      error_of(
          [](const Tensors& in) {
            return emit_all("conv_grad_input", {in[0], in[1]}, {{"size", Ints{kMost}}, {"low", Ints{1}}});
          },
          {{DType::kF32, {1, 1, 1}}, {DType::kF32, {1, 1, 1}}}),
      "conv_grad_input 'conv_grad_input': attribute 'size' is [9223372036854775807], expected 1 to less than 2^60");
}

TEST(Verify, AcceptsWhatWasBuilt) { EXPECT_TRUE(verify(small_graph()).ok()); }

TEST(Verify, NamesAValueUsedBeforeItsDefinition) {
  Graph graph = small_graph();
  graph.nodes[0].operands[0] = graph.nodes[1].results[0];
  EXPECT_EQ(verify(graph).message(), "exp 'exp': uses %2 before it is defined");
}

TEST(Verify, NamesAResultOfAnotherType) {
  Graph graph = small_graph();
  graph.values[1].type.dtype = DType::kF16;
  EXPECT_EQ(verify(graph).message(), "exp 'exp': result 0 is f16[2], expected f32[2]");
}

TEST(Verify, NamesANameUsedTwiceAndAnOperandThatIsNoValue) {
  Graph graph = small_graph();
  graph.nodes[1].name = "exp";
  EXPECT_EQ(verify(graph).message(), "neg 'exp': its name is used twice");
  graph = small_graph();
  graph.nodes[1].operands[0] = 99;
  EXPECT_EQ(verify(graph).message(), "neg 'neg': operand 0 is no value");
}

TEST(Verify, NamesAnUpdateThatDoesNotFitItsState) {
  Graph graph = small_graph();
  graph.results[0].alias = 0;
  EXPECT_TRUE(verify(graph).ok());
  graph.inputs[0].role = Role::kFeed;
  EXPECT_EQ(verify(graph).message(), "result 'y': updates input 0, which is no state");
  graph = small_graph();
  graph.results[0].value = 77;
  EXPECT_EQ(verify(graph).message(), "result 'y': %77 is no value");
}

TEST(Ops, AreTheRowsOfTheTable) {
  std::set<std::string_view> names, rows;
  for (const OpDef* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(op->primitive(), op->row.level != op::Level::kComposite) << op->name;
    EXPECT_EQ(find_op(op->name), op);
  }
  for (const op::Row* row : op::kRows) rows.insert(row->name);
  EXPECT_EQ(names, rows);
}

TEST(Ops, OfTheReferenceAreThePrimitives) {
  for (const OpDef* op : all_ops()) EXPECT_EQ(reference::is_primitive(op->name), op->primitive()) << op->name;
}

TEST(Activations, HaveNamesBothWays) {
  for (int i = 0; i <= static_cast<int>(Activation::kHardSwish); ++i)
    EXPECT_EQ(activation_from_name(activation_name(static_cast<Activation>(i))), static_cast<Activation>(i));
  EXPECT_EQ(error_of([](const Tensors&) { return activation_from_name("sigmod"), Tensors(); }, {}),
            "no activation of name 'sigmod'; did you mean 'sigmoid'?");
}

}  // namespace
}  // namespace tenon::op_testing
