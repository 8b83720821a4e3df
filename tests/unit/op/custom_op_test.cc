// Ops of a vendor: what model code may say of them, their gradients and what takes their place.
#include "tenon/custom_op.h"

#include "compile/compile.h"
#include "compile/rewrite.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

const CustomRules kSquared{
    .gradient = [](const CustomGradient& g) { return Tensors{g.gradients[0] * g.inputs[0] * 2}; },
    .decomposition = [](const Tensors& in) { return Tensors{in[0] * in[0]}; }};

Tensor squared(Tensor x, CustomRules rules = kSquared) {
  return custom_op("acme.squared", {x}, {}, {x.type()}, std::move(rules))[0];
}

std::string error_of_op(std::string_view name, const std::vector<CustomAttribute>& attributes = {},
                        const std::vector<Type>& results = {{DType::kF32, {2}}}, CustomRules rules = {}) {
  return error_of([&](const Tensors& in) { return custom_op(name, in, attributes, results, rules); },
                  {{DType::kF32, {2}}});
}

// What lowering says of a decomposition.
std::string error_of_decomposition(std::function<Tensors(const Tensors&)> decomposition) {
  return error_of(
      [&](const Tensors& in) {
        Graph& graph = *in[0].graph();
        graph.results.push_back({squared(in[0], {.decomposition = decomposition}).id()});
        lower_to_primitives(graph);
        return in;
      },
      {{DType::kF32, {2}}});
}

TEST(CustomOp, IsItsDecompositionWhereNobodyHasIt) {
  expect_near(value([](const Tensors& in) { return Tensors{squared(in[0]) + 1}; }, {f64({3}, {1, -2, 3})}), {2, 5, 10});
}

TEST(CustomOp, HasTheGradientThatItIsGiven) {
  expect_gradients([](const Tensors& in) { return Tensors{squared(in[0])}; }, {noise({2, 3}, 1)});
  const Build tenfold = [](const Tensors& in) {
    const Tensor y = squared(in[0], {.gradient = [](const CustomGradient& g) { return Tensors{g.gradients[0] * 10}; },
                                     .decomposition = kSquared.decomposition});
    return gradients(reduce_sum(y), {in[0]});
  };
  expect_near(value(tenfold, {f64({2}, {3, 4})}), {10, 10});
}

TEST(CustomOp, HasTheGradientOfItsDecompositionElse) {
  expect_gradients([](const Tensors& in) { return Tensors{squared(in[0], {.decomposition = kSquared.decomposition})}; },
                   {noise({2, 3}, 2)});
}

TEST(CustomOp, SeesItsResultsAndTheGradientsThatThereAre) {
  const Build f = [](const Tensors& in) {
    const CustomRules rules{.gradient =
                                [](const CustomGradient& g) {
                                  EXPECT_FALSE(g.gradients[1]);
                                  EXPECT_FALSE(g.inputs[1]);
                                  return Tensors{g.gradients[0] * g.results[1], Tensor(), Tensor()};
                                },
                            .decomposition =
                                [](const Tensors& x) {
                                  return Tensors{x[0] * 7, x[2] * 5};
                                }};
    const Tensors out = custom_op("acme.pair", {in[0], Tensor(), in[1]}, {}, {in[0].type(), in[1].type()}, rules);
    return gradients(reduce_sum(out[0]), {in[0]});
  };
  expect_near(value(f, {f64({2}, {1, 1}), f64({2}, {3, 4})}), {15, 20});
}

TEST(CustomOp, IsWrittenIntoTextAndImageWithItsAttributes) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x"));
  const Tensor y = custom_op(
      "acme.clip", {x},
      {{"low", -0.5}, {"steps", 3}, {"axes", std::vector<int64_t>{0, 2}}, {"fast", true}, {"to", DType::kF16}},
      {{DType::kF16, {2}}})[0];
  graph.results.push_back({y.id(), ResultMode::kLast, -1, false, "y"});
  EXPECT_TRUE(verify(graph).ok());
  EXPECT_EQ(to_text(graph),
            "%0 = feed f32[2] 'x'\n"
            "%1 = acme.clip(%0) {low=-0.5, steps=3, axes=[0,2], fast=true, to=f16} : f16[2] 'acme.clip'\n"
            "result %1 last 'y'\n");
  EXPECT_TRUE(flatten(graph).flat() != nullptr);
}

TEST(CustomOp, BecomesOneNodeWhereNameAttributesAndInputsAgree) {
  const auto nodes = [](double second) {
    Graph graph;
    const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x"));
    for (const double low : {1.0, second})
      graph.results.push_back({custom_op("acme.clip", {x}, {{"low", low}}, {x.type()})[0].id()});
    return count(simplify(graph), "acme.clip");
  };
  EXPECT_EQ(nodes(1), 1);
  EXPECT_EQ(nodes(2), 2);
}

TEST(CustomOp, HasADottedName) {
  for (const std::string_view name :
       {"gelu2", "acme.", ".gelu2", "acme..gelu2", "Acme.gelu2", "acme.2", "tenon.gelu", ""})
    EXPECT_EQ(error_of_op(name), cat("custom_op: name '", name,
                                     "': expected VENDOR.OP of lower-case letters, digits and _, as 'acme.softsign'"));
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x"));
  EXPECT_EQ(graph.defining_node(custom_op("acme.v2.gelu_2", {x}, {}, {x.type()})[0].id())->op, "acme.v2.gelu_2");
}

TEST(CustomOp, RefusesWhatNoNodeCanHave) {
  EXPECT_EQ(error_of_op("acme.f", {{"Low", 1.0}}),
            "acme.f: attribute 'Low': expected lower-case letters, digits and _");
  EXPECT_EQ(error_of_op("acme.f", {{"low", 1.0}, {"low", 2.0}}), "acme.f: attribute 'low' is given twice");
  EXPECT_EQ(error_of_op("acme.f", {}, {}), "acme.f: has no results");
  EXPECT_EQ(error_of_op("acme.f", {}, {{DType::kF32, {2, 0}}}), "acme.f: result f32[2,0] has an empty dimension");
  EXPECT_EQ(error_of_op("acme.f", {}, {{DType::kNone, {2}}}), "acme.f: a result is dtype 0, which is none");
  EXPECT_EQ(error_of(
                [](const Tensors&) {
                  return custom_op("acme.f", {Tensor()}, {}, {{DType::kF32, {}}});
                },
                {}),
            "acme.f: has no inputs");
}

TEST(CustomOp, SaysWhatIsWrongWithItsFunctions) {
  EXPECT_EQ(error_of([](const Tensors& in) { return gradients(reduce_sum(squared(in[0], {})), {in[0]}); },
                     {{DType::kF32, {2}}}),
            "acme.squared 'acme.squared': has neither a gradient nor a decomposition to differentiate");
  const CustomRules none{.gradient = [](const CustomGradient&) { return Tensors{}; }};
  EXPECT_EQ(error_of([&](const Tensors& in) { return gradients(reduce_sum(squared(in[0], none)), {in[0]}); },
                     {{DType::kF32, {2}}}),
            "acme.squared 'acme.squared': its gradient gives 0 tensors, expected one an input, 1");
  EXPECT_EQ(error_of_decomposition([](const Tensors& in) {
              return Tensors{in[0], in[0]};
            }),
            "acme.squared 'acme.squared': decomposes to 2 results, expected 1");
  EXPECT_EQ(error_of_decomposition([](const Tensors& in) { return Tensors{reduce_sum(in[0])}; }),
            "acme.squared 'acme.squared': result 0 of its decomposition is f32[], expected f32[2]");
  EXPECT_EQ(error_of_decomposition([](const Tensors&) { return Tensors{Tensor()}; }),
            "acme.squared 'acme.squared': result 0 of its decomposition was never set");
  EXPECT_EQ(error_of_decomposition([](const Tensors& in) {
              in[0].graph()->add_variable("w", {DType::kF32, {2}}, Initializer(), true);
              return in;
            }),
            "acme.squared 'acme.squared': its decomposition makes variables or inputs");
}

TEST(CustomOp, TakesNoTensorsThatItsFunctionsCapture) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x"));
  graph.results.push_back({squared(x, {.decomposition = [x](const Tensors& in) { return Tensors{in[0] * x}; }}).id()});
  try {
    lower_to_primitives(graph);
    FAIL() << "was lowered";
  } catch (const Error& e) {
    EXPECT_NE(e.status().message().find("of another function"), std::string::npos) << e.status().message();
  }
}

TEST(CustomOp, NamesWhatItIsMadeOfAfterItself) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {2}}, Role::kFeed, "x"));
  const NameScope scope(graph, "block");
  const CustomRules rules{.decomposition = [](const Tensors& in) { return Tensors{in[0] * constant({3.0f, 4.0f})}; }};
  graph.results.push_back({squared(x, rules).id()});
  const Graph lowered = lower_to_primitives(graph);
  const Node& made = *lowered.defining_node(lowered.results[0].value);
  EXPECT_EQ(made.name, "block/acme.squared/mul");
  EXPECT_EQ(made.origin, "block/acme.squared");
  EXPECT_EQ(made.composite_of, "acme.squared");
}

}  // namespace
}  // namespace tenon::op_testing
