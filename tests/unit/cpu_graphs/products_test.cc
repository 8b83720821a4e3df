// Graphs that cpu.so rewrites: a product with the dropout or the addition behind it, and their gradients, have the bits of
// their nodes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;

struct Layer {
  int64_t rows, inputs, units;
  int act = TENON_ACT_NONE;
  bool residual = false;
  bool transposed = false;  // the weights
};

Subject& backend(uint32_t threads) {
  static Subject one(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 1);
  static Subject two(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
  return threads == 1 ? one : two;
}

// The layer, dropout, and for a ReLU both gradients. apart: what lies between is a result too, so that nothing is joined.
FlatGraph dropped(const Layer& l, bool apart) {
  GraphBuilder b;
  const auto feed = [&](const std::vector<int64_t>& dims) { return b.input(TENON_F32, dims, TENON_ROLE_FEED); };
  const std::vector<int64_t> map{l.rows, l.units};
  const uint32_t x = feed({l.rows, l.inputs}), w = l.transposed ? feed({l.units, l.inputs}) : feed({l.inputs, l.units}),
                 bias = feed({l.units}), dy = feed(map), residual = feed(map);
  const int64_t seed = 99, step = 1234567890123;
  const uint32_t draw[] = {b.constant(TENON_I64, {}, &seed, 8), b.constant(TENON_I64, {}, &step, 8)};
  const auto dropout = [&](uint32_t from, uint32_t added) {
    const uint32_t y = b.value(TENON_F32, map);
    b.node("dropout", {from, draw[0], draw[1], added}, {y}).attr_f64("rate", 0.3).attr_i64("stream", 5);
    return y;
  };
  const uint32_t h = b.value(TENON_F32, map);
  b.node("dot_bias_act", {x, w, bias}, {h}).attr_bool("ta", false).attr_bool("tb", l.transposed);
  b.attr_dtype("out", TENON_F32).attr_enum("act", l.act).attr_f64("alpha", 0);
  b.result(dropout(h, l.residual ? residual : TENON_NONE));
  if (l.act == TENON_ACT_RELU && !l.residual) {
    const uint32_t dz = b.value(TENON_F32, map), dbias = b.value(TENON_F32, {l.units});
    b.node("bias_act_grad", {dropout(dy, TENON_NONE), h}, {dz, dbias}).attr_enum("act", l.act).attr_f64("alpha", 0);
    b.result(dz), b.result(dbias);
  }
  if (apart) b.result(h);
  return b.build();
}

std::vector<Tensor> numbers(const Layer& l) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<Tensor> all;
  const std::vector<int64_t> map{l.rows, l.units},
      w = l.transposed ? std::vector<int64_t>{l.units, l.inputs} : std::vector<int64_t>{l.inputs, l.units};
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{l.rows, l.inputs}, w, {l.units}, map, map}) {
    Tensor t{TENON_F32, dims, {}, {}};
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    for (int64_t i = 0; i < n; ++i) t.f.push_back(normal(random));
    all.push_back(t);
  }
  return all;
}

// Shapes of every kind of product: by blocks, by vectors, of few rows, of sums in parts, not in whole blocks.
const Layer kLayers[] = {{512, 64, 256, TENON_ACT_RELU},
                         {97, 300, 132, TENON_ACT_RELU},
                         {1, 40, 64, TENON_ACT_RELU},
                         {16, 3000, 128, TENON_ACT_RELU},
                         {24, 512, 1000, TENON_ACT_NONE, true},
                         {8, 16, 4, TENON_ACT_RELU},
                         {200, 100, 520, TENON_ACT_TANH, true},
                         {130, 77, 36, TENON_ACT_NONE, false, true},
                         {300, 1000, 68, TENON_ACT_RELU, false, true}};

TEST(DroppedProducts, HaveTheBitsOfTheirNodes) {
  for (const Layer& l : kLayers) {
    SCOPED_TRACE(&l - kLayers);
    const std::vector<Tensor> in = numbers(l), want = run_graph(backend(1), *dropped(l, true).graph(), in);
    for (uint32_t threads : {1u, 2u}) {
      const std::vector<Tensor> got = run_graph(backend(threads), *dropped(l, false).graph(), in);
      ASSERT_EQ(want.size(), got.size() + 1);
      for (size_t r = 0; r < got.size(); ++r) EXPECT_EQ(got[r].f, want[r].f) << "result " << r;
    }
  }
}

TEST(DroppedProducts, KeepNothingInBetween) {
  const Layer l{512, 64, 256, TENON_ACT_RELU};
  const auto workspace = [](const FlatGraph& g) {
    return Program(backend(2), backend(2).device(), *g.graph()).info().workspace_bytes;
  };
  EXPECT_LT(workspace(dropped(l, false)), uint64_t{512 * 256 * 4});
  EXPECT_GE(workspace(dropped(l, true)), uint64_t{512 * 256 * 4});
}

// Two products of the same operands, one with a transposed, added up with a third value.
FlatGraph added(const Layer& l, bool apart) {
  GraphBuilder b;
  const auto feed = [&](const std::vector<int64_t>& dims) { return b.input(TENON_F32, dims, TENON_ROLE_FEED); };
  const std::vector<int64_t> map{l.rows, l.units};
  const uint32_t x = feed({l.rows, l.inputs}), w = l.transposed ? feed({l.units, l.inputs}) : feed({l.inputs, l.units});
  feed({l.units});
  const uint32_t other = feed(map), more = feed(map);
  const auto sum = [&](uint32_t p, uint32_t q) {
    const uint32_t y = b.value(TENON_F32, map);
    b.node("add", {p, q}, {y});
    return y;
  };
  const auto dot = [&] {
    const uint32_t y = b.value(TENON_F32, map);
    b.node("dot", {x, w}, {y}).attr_bool("ta", false).attr_bool("tb", l.transposed).attr_dtype("out", TENON_F32);
    if (apart) b.result(y);
    return y;
  };
  const uint32_t y = sum(sum(sum(dot(), other), dot()), more);
  b.result(y);
  return b.build();
}

TEST(AddedProducts, HaveTheBitsOfTheirNodes) {
  for (const Layer& l : kLayers) {
    SCOPED_TRACE(&l - kLayers);
    const std::vector<Tensor> in = numbers(l), want = run_graph(backend(1), *added(l, true).graph(), in);
    for (uint32_t threads : {1u, 2u})
      EXPECT_EQ(run_graph(backend(threads), *added(l, false).graph(), in).back().f, want.back().f);
  }
}

}  // namespace
}  // namespace tenon::conformance
