// Which nodes are written for four units.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/plugin/replicas.h"

namespace tenon::plugin {
namespace {

using Dims = std::vector<int64_t>;
using Names = std::vector<std::string>;

constexpr uint32_t kUnits = 4;
constexpr int64_t kRows = 2;  // of one unit

// A graph of one unit.
struct Sketch {
  uint32_t dealt(const Dims& dims) { return b.input(TENON_F32, dims, TENON_ROLE_FEED, {}, TENON_SPLIT); }
  uint32_t state(const Dims& dims) { return b.input(TENON_F32, dims, TENON_ROLE_STATE); }
  uint32_t scalar(float x) { return b.constant(TENON_F32, {}, &x, sizeof x); }
  uint32_t node(const char* op, const std::vector<uint32_t>& in, const Dims& dims, int32_t dtype = TENON_F32) {
    const uint32_t y = b.value(dtype, dims);
    b.node(op, in, {y}).name(op);
    return y;
  }
  uint32_t total(uint32_t x, const Dims& dims) {
    const uint32_t y = node("all_reduce", {x}, dims);
    b.attr_enum("kind", TENON_REDUCE_SUM).attr_i64("replicas", kUnits);
    return y;
  }
  UnrolledGraph unroll(const UnrollOptions& options = {}) const {
    const FlatGraph g = b.build();
    return unroll_replicas(GraphView(*g.graph()), kUnits, options);
  }
  GraphBuilder b;
};

Names ops(const UnrolledGraph& unrolled) {
  const GraphView graph(*unrolled.graph.graph());
  Names names;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) names.emplace_back(graph.node(i).op());
  return names;
}
// Dims of the first result of node i.
Dims dims(const UnrolledGraph& unrolled, uint32_t i) {
  return GraphView(*unrolled.graph.graph()).node(i).out(0).dims().vec();
}

TEST(Merging, AStepOfADenseLayerIsThatOfOneDeviceWithAllRows) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3}), w = s.state({3, 5}), bias = s.state({5}), label = s.dealt({kRows, 5});
  const uint32_t y = s.b.value(TENON_F32, {kRows, 5});
  s.b.node("dot_bias_act", {x, w, bias}, {y}).attr_enum("act", TENON_ACT_RELU);
  const uint32_t error = s.node("sub", {y, label}, {kRows, 5});
  const uint32_t g = s.node("mul", {error, s.scalar(0.1f)}, {kRows, 5});
  const uint32_t dz = s.b.value(TENON_F32, {kRows, 5}), dbias = s.b.value(TENON_F32, {5});
  s.b.node("bias_act_grad", {g, y}, {dz, dbias}).attr_enum("act", TENON_ACT_RELU);
  const uint32_t dw = s.node("dot", {x, dz}, {3, 5});
  s.b.attr_bool("ta", true);
  const uint32_t next = s.node("sub", {w, s.total(dw, {3, 5})}, {3, 5});
  s.b.result(next, TENON_MODE_LAST, 2);
  s.b.result(s.node("sub", {bias, s.total(dbias, {5})}, {5}), TENON_MODE_LAST, 3);
  const UnrolledGraph u = s.unroll();
  EXPECT_EQ(ops(u), (Names{"dot_bias_act", "sub", "mul", "bias_act_grad", "dot", "sub", "sub"}));
  EXPECT_EQ(dims(u, 0), (Dims{kUnits * kRows, 5}));
  EXPECT_EQ(dims(u, 4), (Dims{3, 5}));
  for (const UnrolledGraph::Origin& o : u.origins) EXPECT_EQ(o.unit, 0u);
  EXPECT_GT(ops(s.unroll({false})).size(), 5 * kUnits);
}

// The mean of a unit's losses is one number a unit; where it is only added up, one for all.
TEST(Merging, ALossIsAListOfTheUnitsLosses) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3});
  const uint32_t sum = s.node("reduce", {x}, {});
  s.b.attr_enum("kind", TENON_REDUCE_SUM).attr_list("axes", {0, 1});
  const uint32_t mean = s.node("mul", {sum, s.scalar(1.f / 6)}, {});
  Sketch shown = s;
  s.b.result(s.total(mean, {}));
  EXPECT_EQ(ops(s.unroll()), (Names{"reduce", "mul"}));
  EXPECT_EQ(dims(s.unroll(), 0), Dims{});
  shown.b.result(mean);
  const UnrolledGraph u = shown.unroll();
  EXPECT_EQ(ops(u), (Names{"reshape", "reduce", "mul", "slice", "reshape"}));
  EXPECT_EQ(dims(u, 2), Dims{kUnits});
}

TEST(Merging, WhatIsRepeatedForAllRowsIsMadeAnew) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3}), b = s.state({3});
  const uint32_t wide = s.node("broadcast", {b}, {kRows, 3});
  s.b.attr_list("shape", {kRows, 3}).attr_list("dims", {1});
  s.b.result(s.node("add", {x, wide}, {kRows, 3}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const UnrolledGraph u = s.unroll();
  EXPECT_EQ(ops(u), (Names{"broadcast", "add"}));
  EXPECT_EQ(dims(u, 0), (Dims{kUnits * kRows, 3}));
}

// Statistics are each unit's.
TEST(Merging, BatchNormIsWrittenForEachUnit) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3}), gamma = s.state({3}), beta = s.state({3});
  const uint32_t y = s.b.value(TENON_F32, {kRows, 3}), mean = s.b.value(TENON_F32, {3}),
                 var = s.b.value(TENON_F32, {3});
  s.b.node("batch_norm", {s.node("abs", {x}, {kRows, 3}), gamma, beta}, {y, mean, var});
  s.b.result(s.node("neg", {y}, {kRows, 3}), TENON_MODE_LAST, 0, TENON_SPLIT);
  const UnrolledGraph u = s.unroll();
  EXPECT_EQ(ops(u), (Names{"abs", "slice", "slice", "slice", "slice", "batch_norm", "batch_norm", "batch_norm",
                           "batch_norm", "concat", "neg"}));
}

TEST(Merging, ANodeWithoutAKernelForAllRowsIsWrittenForEachUnit) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3});
  const uint32_t y = s.node("tanh", {s.node("abs", {x}, {kRows, 3})}, {kRows, 3});
  s.b.result(y, TENON_MODE_LAST, 0, TENON_SPLIT);
  UnrollOptions options;
  options.takes = [](const GraphView& graph) {
    std::vector<bool> taken;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      taken.push_back(graph.node(i).op() != "tanh" || graph.node(i).out(0).dim(0) == kRows);
    return taken;
  };
  EXPECT_EQ(ops(s.unroll(options)),
            (Names{"abs", "slice", "slice", "slice", "slice", "tanh", "tanh", "tanh", "tanh", "concat"}));
}

// Nothing is summed over rows: each unit's product is one of a batch.
TEST(Merging, ProductsOfEachUnitAreABatch) {
  Sketch s;
  const uint32_t x = s.dealt({kRows, 3}), y = s.dealt({kRows, 5});
  const uint32_t product = s.node("dot", {x, y}, {3, 5});
  s.b.attr_bool("ta", true);
  s.b.result(product, TENON_MODE_LAST, 0, TENON_SPLIT);
  const UnrolledGraph u = s.unroll();
  EXPECT_EQ(ops(u), (Names{"reshape", "reshape", "dot", "reshape"}));
  EXPECT_EQ(dims(u, 2), (Dims{kUnits, 3, 5}));
}

}  // namespace
}  // namespace tenon::plugin
