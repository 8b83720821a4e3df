// gradients(): accumulation, absent paths, decompositions and what new nodes carry.
#include <cmath>

#include "compile/rewrite.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Tensor feed(Graph& graph, const Type& type, const std::string& name = "x") {
  return Tensor(&graph, graph.add_input(type, Role::kFeed, name));
}

TEST(Gradients, AddUpOverEveryUse) {
  const Build f = [](const Tensors& in) {
    const Tensor x = in[0], y = square(x);
    return gradients(reduce_sum(y * x + y + x * 3), {x});  // 3 x^2 + 2 x + 3
  };
  expect_near(value(f, {f64({3}, {0, 1, -2})}), {3, 8, 11});
}

TEST(Gradients, AreCompleteAfterLongFanOut) {
  const Build f = [](const Tensors& in) {
    Tensor x = in[0];
    for (int i = 0; i < 10; ++i) x = x + x;
    return gradients(reduce_sum(x), {in[0]});
  };
  expect_near(value(f, {f64({1}, {5})}), {1024});
}

// A matrix that embeds two inputs and projects the result: its gradient is one dense product, and rows added to it.
TEST(Gradients, OfRowsAreAddedToADenseGradient) {
  const auto loss = [](Tensor table, Tensor first, Tensor second) {
    const Tensor x = gather(table, first, 0) + 2 * gather(table, second, 0);
    return reduce_sum(square(dot(x, table, {.tb = true})));
  };
  Graph graph;
  const Tensor table = feed(graph, {DType::kF32, {5, 3}});
  const Tensor first = feed(graph, {DType::kI32, {4}}, "first"), second = feed(graph, {DType::kI32, {4}}, "second");
  graph.results.push_back({gradients(loss(table, first, second), {table})[0].id()});
  const Graph simple = simplify(graph);
  EXPECT_EQ(count(simple, "scatter"), 2);
  EXPECT_EQ(simple.defining_node(simple.results[0].value)->op, "scatter");
  for (const Node& node : simple.nodes)
    EXPECT_FALSE(node.op == "add" && simple.type(node.results[0]).shape == Shape({5, 3}));
  // table = (1, 2, 3), x = table[0] + 2 table[2] = 7, loss = x^2 sum(table^2): 2 x^2 table[j] = 98 table[j] by the
  // product, 2 x sum(table^2) = 196 once in row 0, twice in row 2 by the rows
  const Build build = [&](const Tensors& in) {
    const auto row = [&](int64_t r) { return full(*in[0].graph(), DType::kI32, {1}, static_cast<double>(r)); };
    return gradients(loss(in[0], row(0), row(2)), {in[0]});
  };
  expect_near(value(build, {f64({3, 1}, {1, 2, 3})}), {98 + 196, 196, 294 + 392});
}

// JAX gives the same, and TensorFlow: a row in which NaN wins has a gradient of NaN, the others keep theirs.
TEST(Gradients, OfAMaximumThatIsNaNAreNaN) {
  const Build f = [](const Tensors& in) { return gradients(reduce_sum(reduce_max(in[0], {1})), {in[0]}); };
  const std::vector<double> g = value(f, {f64({2, 3}, {1, std::nan(""), 2, 1, 3, 3})});
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(g[i])) << i;
  expect_near({g.begin() + 3, g.end()}, {0, 0.5, 0.5});
}

TEST(Gradients, OfUnusedVariablesAreEmpty) {
  Graph graph;
  const Tensor x = feed(graph, {DType::kF32, {2}}), unused = feed(graph, {DType::kF32, {2}}, "unused");
  const Tensor count = feed(graph, {DType::kI32, {2}}, "count");
  const Tensor dead_end = exp(unused);
  const Tensors g = gradients(reduce_sum(x * cast(count, DType::kF32)), {x, unused, dead_end, count});
  EXPECT_TRUE(g[0]);
  EXPECT_FALSE(g[1]);
  EXPECT_FALSE(g[2]);
  EXPECT_FALSE(g[3]);
}

TEST(Gradients, ByAnIntermediateTensorAndByTheLossItself) {
  const Build f = [](const Tensors& in) {
    const Tensor h = square(in[0]), loss = reduce_sum(h * h);
    return gradients(loss, {h, in[0], loss});
  };
  const auto r = evaluate(f, {f64({2}, {1, 3})});
  expect_near(r[0].values, {2, 18});
  expect_near(r[1].values, {4, 108});
  expect_near(r[2].values, {1});
}

TEST(Gradients, StopAtPrimitivesWithoutARule) {
  Graph graph;
  const Tensor x = feed(graph, {DType::kF32, {2}});
  EXPECT_FALSE(gradients(reduce_sum(floor(x)), {x})[0]);
}

TEST(Gradients, OfCompositesWithoutARuleComeFromTheirDecomposition) {
  ASSERT_EQ(find_op("batch_norm_apply")->gradient, nullptr);
  ASSERT_EQ(find_op("softmax_grad")->gradient, nullptr);
  // Second derivatives: the gradient of a gradient op.
  for (Activation act : {Activation::kSigmoid, Activation::kTanh, Activation::kGelu, Activation::kMish})
    expect_gradients([=](const Tensors& in) { return Tensors{activation_grad(in[0], in[1], act)}; },
                     {noise({4}, 1), noise({4}, 2, 0.1, 0.9)});
  expect_gradients([](const Tensors& in) { return Tensors{softmax_grad(in[0], in[1], 1)}; },
                   {noise({2, 3}, 1), noise({2, 3}, 2)});
}

TEST(Gradients, OfGradientsAreSecondDerivatives) {
  const Build f = [](const Tensors& in) {
    const Tensor g = gradients(reduce_sum(activation(in[0], Activation::kTanh)), {in[0]})[0];
    return gradients(reduce_sum(square(g)), {in[0]});
  };
  // d/dx (1 - t^2)^2 = -4 t (1 - t^2)^2
  const double t = std::tanh(0.4);
  expect_near(value(f, {f64({1}, {0.4})}), {-4 * t * (1 - t * t) * (1 - t * t)});
}

TEST(Gradients, CarryPhaseAndTheForwardNode) {
  Graph graph;
  const Tensor x = feed(graph, {DType::kF32, {2}});
  const Tensor y = sin(x);
  const NodeId forward = static_cast<NodeId>(graph.nodes.size()) - 1;
  const Tensor loss = reduce_sum(y);
  const size_t first = graph.nodes.size();
  gradients(loss, {x});
  bool seen = false;
  for (size_t i = first; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(graph.nodes[i].phase, Phase::kBackward);
    seen = seen || (graph.nodes[i].op == "cos" && graph.nodes[i].forward_of == forward);
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(graph.phase, Phase::kForward);
  EXPECT_EQ(graph.scope(), "");
  EXPECT_TRUE(verify(graph).ok());
}

TEST(Gradients, DoNotComputeWhatNobodyWants) {
  Graph graph;
  const Tensor x = feed(graph, {DType::kF32, {1, 8, 8, 3}}), w = feed(graph, {DType::kF32, {3, 3, 3, 4}}, "w");
  gradients(reduce_sum(conv_bias_act(x, w, Tensor(), Tensor(), Activation::kRelu, 0, {})), {w});
  EXPECT_EQ(count(graph, "conv_grad_filter"), 1);
  EXPECT_EQ(count(graph, "conv_grad_input"), 0);
}

TEST(Gradients, RefuseALossThatIsNoFloatScalar) {
  const Build f = [](const Tensors& in) { return gradients(in[0], {in[0]}); };
  EXPECT_EQ(error_of(f, {{DType::kF32, {2}}}), "gradients: the loss is f32[2], expected a float scalar");
  EXPECT_EQ(error_of(f, {{DType::kI32, {}}}), "gradients: the loss is i32[], expected a float scalar");
}

TEST(Gradients, RefuseAVariableThatWasNeverSet) {
  const Build f = [](const Tensors& in) { return gradients(in[0], {Tensor()}); };
  EXPECT_EQ(error_of(f, {{DType::kF32, {}}}), "gradients: variable 0 was never set");
}

}  // namespace
}  // namespace tenon::op_testing
