// simplify(): what it removes, what it must not, and that values stay.
#include <cstring>

#include "compile/compile.h"
#include "compile/rewrite.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

// x f32[2,3] is input 0; s f32[] input 1.
struct Sketch {
  Graph graph;
  Tensor x{&graph, graph.add_input({DType::kF32, {2, 3}}, Role::kFeed, "x")};
  Tensor s{&graph, graph.add_input({DType::kF32, {}}, Role::kFeed, "s")};

  Graph simplified(const Tensors& results) {
    for (const Tensor& t : results) graph.results.push_back({t.id()});
    Graph out = simplify(graph);
    const Status status = verify(out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }
};

// The op that defines result i, or "input".
std::string source(const Graph& graph, size_t i = 0) {
  const Node* node = graph.defining_node(graph.results[i].value);
  return node ? node->op : "input";
}

double splat_of(const Graph& graph, size_t i = 0) {
  const Node* node = graph.defining_node(graph.results[i].value);
  float value = 0;
  const std::string& bytes = std::get<std::string>(*find_attr(node->attrs, "value"));
  EXPECT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

TEST(Simplify, MergesEqualNodes) {
  Sketch k;
  const Graph g = k.simplified({exp(k.x) + exp(k.x)});
  EXPECT_EQ(count(g, "exp"), 1);
  EXPECT_EQ(count(g, "add"), 1);
}

TEST(Simplify, TellsAttributesAndConstantsApart) {
  Sketch k;
  const Graph g = k.simplified(
      {reduce(k.x, {0}, ReduceKind::kSum), reduce(k.x, {0}, ReduceKind::kMax), k.x * 0.1, k.x * (0.1 + 1e-8)});
  EXPECT_EQ(count(g, "reduce"), 2);
  EXPECT_EQ(count(g, "mul"), 2);
}

TEST(Simplify, DropsDeadCode) {
  Sketch k;
  exp(k.x);
  const Tensor dead = sin(k.x);
  cos(dead);
  const Graph g = k.simplified({tanh(k.x)});
  EXPECT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.inputs.size(), 2u);
}

TEST(Simplify, RemovesOperationsThatChangeNothing) {
  Sketch k;
  const Tensor zero = full_like(k.x, 0), one = full_like(k.x, 1);
  const Graph g = k.simplified(
      {k.x * 1, 1 * k.x, k.x / 1, k.x - 0, k.x + 0, mul(k.x, one), sub(k.x, zero), reshape(reshape(k.x, {6}), {2, 3})});
  for (size_t i = 0; i < g.results.size(); ++i) EXPECT_EQ(source(g, i), "input") << i;
}

TEST(Simplify, RemovesExchangesOfOneReplica) {
  Sketch k;
  const Graph g = k.simplified(all_reduce({k.x, k.s}, ReduceKind::kSum));
  EXPECT_EQ(source(g, 0), "input");
  EXPECT_EQ(source(g, 1), "input");
  Sketch two;
  const Tensor sum =
      emit1("all_reduce", {two.x}, {{"kind", Enum{0}}, {"group", int64_t{0}}, {"replicas", int64_t{2}}});
  EXPECT_EQ(source(two.simplified({sum})), "all_reduce");
}

TEST(Simplify, KeepsOperationsThatChangeSomething) {
  Sketch k;
  const Graph g = k.simplified({1 / k.x, 0 - k.x, mul(k.s, full_like(k.x, 1)), k.x * 0});
  EXPECT_EQ(source(g, 0), "div");
  EXPECT_EQ(source(g, 1), "sub");
  EXPECT_EQ(g.type(g.results[2].value).shape, (Shape{2, 3}));  // s * ones is no s
  EXPECT_EQ(source(g, 3), "mul");                              // NaN * 0 is NaN
}

TEST(Simplify, FoldsConstants) {
  Sketch k;
  const Tensor two = scalar_like(k.x, 2);
  const Graph g = k.simplified({sqrt(two * 8) + 1, broadcast(two * 3, {4, 5}, {}), neg(full_like(k.x, 2))});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(source(g, i), "constant");
  EXPECT_EQ(splat_of(g, 0), 5);
  EXPECT_EQ(splat_of(g, 1), 6);
  EXPECT_EQ(splat_of(g, 2), -2);
  EXPECT_EQ(g.type(g.results[1].value).str(), "f32[4,5]");
}

TEST(Simplify, DoesNotFoldIntegersThatWrapOrNarrow) {
  Sketch k;
  const Tensor big = full(k.graph, DType::kI32, {}, 2147483647);
  const Graph g = k.simplified({add(big, big), div(big, full(k.graph, DType::kI32, {}, 0))});
  EXPECT_EQ(source(g, 0), "add");
  EXPECT_EQ(source(g, 1), "div");
}

TEST(Simplify, PassesScalarsInsteadOfRepeatingThem) {
  Sketch k;
  const Graph g = k.simplified({k.x * broadcast(k.s, {2, 3}, {}), k.x + full_like(k.x, 3)});
  EXPECT_EQ(count(g, "broadcast"), 0);
  for (const Node& n : g.nodes)
    if (n.op == "constant") {
      EXPECT_EQ(g.type(n.results[0]).shape.rank(), 0);
    }
}

TEST(Simplify, KeepsTheShapeWhereAllOperandsAreRepeatedScalars) {
  Sketch k;
  const Graph g = k.simplified({add(broadcast(k.s, {2, 3}, {}), full_like(k.x, 1))});
  EXPECT_EQ(g.type(g.results[0].value).str(), "f32[2,3]");
}

TEST(Simplify, KeepsVariablesAndTheirNextValues) {
  Graph graph;
  const int v = graph.add_variable("w", {DType::kF32, {2}}, {}, true);
  const Tensor w(&graph, graph.variable_value(v));
  graph.variables[v].next = (w * 1 + w).id();
  add_state_results(graph);
  const Graph g = simplify(graph);
  ASSERT_EQ(g.results.size(), 1u);
  EXPECT_EQ(g.results[0].alias, g.variables[0].input);
  EXPECT_EQ(g.variables[0].next, g.results[0].value);
  EXPECT_EQ(source(g), "add");
}

TEST(Simplify, KeepsPhaseNameAndOrigin) {
  Sketch k;
  k.graph.phase = Phase::kUpdate;
  k.graph.origin = "layer";
  const Graph g = k.simplified({reshape(reshape(exp(k.x), {6}), {3, 2})});
  ASSERT_EQ(g.nodes.size(), 2u);
  for (const Node& n : g.nodes) {
    EXPECT_EQ(n.phase, Phase::kUpdate);
    EXPECT_EQ(n.origin, "layer");
  }
}

TEST(Simplify, RenumbersTheForwardNodeOfBackwardNodes) {
  Sketch k;
  exp(k.x);  // dead: the nodes after it move up
  const Tensor y = sin(k.x);
  const Tensor dx = gradients(reduce_sum(y), {k.x})[0];
  const Graph g = k.simplified({y, dx});
  int checked = 0;
  for (const Node& n : g.nodes)
    if (n.op == "cos") {
      EXPECT_EQ(g.nodes[n.forward_of].op, "sin");
      ++checked;
    }
  EXPECT_EQ(checked, 1);
}

TEST(Lowering, GivesTheNodesOfACompositeItsNameAndPhase) {
  Sketch k;
  k.graph.phase = Phase::kBackward;
  const Tensor y = softmax(k.x);
  k.graph.results.push_back({y.id()});
  const Graph g = lower_to_primitives(k.graph);
  ASSERT_GT(g.nodes.size(), 3u);
  for (const Node& n : g.nodes) {
    EXPECT_EQ(n.name.rfind("softmax/", 0), 0u) << n.name;
    EXPECT_EQ(n.composite_of, "softmax");
    EXPECT_EQ(n.phase, Phase::kBackward);
    EXPECT_EQ(n.origin, "softmax");
  }
}

// relu and max_pool of z, then the gradients to z and to a bias.
Tensors pooled_gradients(const Tensors& in) {
  PoolOptions o;
  o.window = {2, 2};
  o.strides = {2, 2};
  const Tensor y = activation(in[0] + broadcast(in[1], in[0].type().shape, {3}), Activation::kRelu);
  return {max_pool(y, o)};
}

TEST(Simplify, TakesAnActivationsGradientOfThePooledMap) {
  Graph graph;
  const Tensor z(&graph, graph.add_input({DType::kF32, {2, 6, 4, 3}}, Role::kFeed, "z"));
  const Tensor dy(&graph, graph.add_input({DType::kF32, {2, 3, 2, 3}}, Role::kFeed, "dy"));
  PoolOptions o;
  o.window = {2, 2};
  o.strides = {2, 2};
  const Tensor x = activation(z, Activation::kRelu), y = max_pool(x, o);
  const BiasActGrad d = bias_act_grad(max_pool_grad(x, y, dy, o), x, Activation::kRelu);
  graph.results = {{d.dz.id()}, {d.dbias.id()}};
  const Graph simple = simplify(graph);
  ASSERT_TRUE(verify(simple).ok());
  EXPECT_EQ(source(simple, 0), "max_pool_grad");
  ASSERT_EQ(source(simple, 1), "bias_act_grad");
  const Node* bias = simple.defining_node(simple.results[1].value);
  EXPECT_EQ(simple.type(bias->results[0]).shape, Shape({2, 3, 2, 3}));
  EXPECT_EQ(count(simple, "max_pool_grad"), 1);
  EXPECT_EQ(count(simple, "bias_act_grad"), 1);
}

TEST(Simplify, LeavesAPoolsGradientThatOthersReadToo) {
  Graph graph;
  const Tensor z(&graph, graph.add_input({DType::kF32, {2, 6, 4, 3}}, Role::kFeed, "z"));
  const Tensor dy(&graph, graph.add_input({DType::kF32, {2, 3, 2, 3}}, Role::kFeed, "dy"));
  PoolOptions o;
  o.window = {2, 2};
  o.strides = {2, 2};
  const Tensor x = activation(z, Activation::kRelu), dx = max_pool_grad(x, max_pool(x, o), dy, o);
  const BiasActGrad d = bias_act_grad(dx, x, Activation::kRelu);
  graph.results = {{d.dz.id()}, {dx.id()}};
  EXPECT_EQ(source(simplify(graph), 0), "bias_act_grad");
}

TEST(Simplify, GradientsOfPooledActivationsAreThoseOfTheFunction) {
  expect_gradients(pooled_gradients, {distinct({1, 4, 6, 2}, 3), f64({2}, {0.013, -0.017})});
}

// act(x w + bias), and with `trained` the gradients to x, w and bias.
Graph dense_step(Activation act, bool trained) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {4, 3}}, Role::kFeed, "x"));
  const Tensor w(&graph, graph.add_input({DType::kF32, {3, 5}}, Role::kFeed, "w"));
  const Tensor bias(&graph, graph.add_input({DType::kF32, {5}}, Role::kFeed, "bias"));
  const Tensor y = dot_bias_act(x, w, bias, Tensor(), act);
  graph.results.push_back({y.id()});
  if (trained)
    for (const Tensor& g : gradients(reduce_sum(square(y)), {x, w, bias})) graph.results.push_back({g.id()});
  Graph out = simplify(graph);
  EXPECT_TRUE(verify(out).ok()) << verify(out).message();
  return out;
}

TEST(Simplify, ComputesAProductOnceWhoseActivationsGradientReadsTheArgument) {
  for (const Activation act : {Activation::kGelu, Activation::kSilu, Activation::kHardSwish}) {
    const Graph g = dense_step(act, true);
    EXPECT_EQ(count(g, "dot_bias_act"), 1);
    EXPECT_EQ(count(g, "dot"), 2);  // the gradients to x and to w
    EXPECT_EQ(count(g, "bias_act_grad"), 1);
    EXPECT_EQ(source(g), "activation");
  }
}

TEST(Simplify, LeavesAnActivationInTheProductWhereNobodyReadsTheArgument) {
  EXPECT_EQ(source(dense_step(Activation::kGelu, false)), "dot_bias_act");
  EXPECT_EQ(source(dense_step(Activation::kRelu, true)), "dot_bias_act");
}

TEST(Simplify, ComputesAConvolutionOnceWhoseActivationsGradientReadsTheArgument) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {1, 5, 5, 2}}, Role::kFeed, "x"));
  const Tensor w(&graph, graph.add_input({DType::kF32, {3, 3, 2, 4}}, Role::kFeed, "w"));
  const Tensor y = conv_bias_act(x, w, Tensor(), Tensor(), Activation::kSilu, 0, {});
  graph.results = {{y.id()}, {gradients(reduce_sum(square(y)), {w})[0].id()}};
  const Graph g = simplify(graph);
  EXPECT_EQ(count(g, "conv_bias_act"), 1);
  EXPECT_EQ(count(g, "conv"), 0);
  EXPECT_EQ(source(g), "activation");
}

}  // namespace
}  // namespace tenon::op_testing
