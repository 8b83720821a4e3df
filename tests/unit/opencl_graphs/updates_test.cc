// Updates that opencl-gpu.so joins: each variable's is what it is in a graph of its own, bit by bit.
#include <gtest/gtest.h>

#include <random>

#include "conformance/reference/reference.h"
#include "tenon/abi/optimizer.h"
#include "unit/opencl_graphs/opencl_device.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;

// A variable's size, and what its update has that the others have not.
struct Variable {
  int64_t n;
  bool amsgrad, scaled;
  double eps;
};

// Eight are alike, more than one launch takes.
const std::vector<Variable> kVariables = {
    {10, false, false, 1e-7},    {3000, false, false, 1e-7}, {1, false, false, 1e-7},  {70000, false, false, 1e-7},
    {40000, false, false, 1e-7}, {33, false, false, 1e-3},   {64, true, false, 1e-7},  {65, true, false, 1e-7},
    {17, false, true, 1e-7},     {999, false, false, 1e-7},  {2, false, false, 1e-7},  {5, false, false, 1e-7},
    {4096, false, false, 1e-7},  {31, false, true, 1e-7},    {128, false, false, 1e-7}};

struct Updates {
  FlatGraph graph;
  std::vector<Tensor> inputs;
};

Tensor uniform(int64_t n, uint32_t seed, double low) {
  std::mt19937 random(seed);
  Tensor x = reference::zeros(TENON_F32, {n});
  for (double& v : x.f) v = low + static_cast<double>(random() % 1000) / 1000;
  reference::round_to_dtype(x);
  return x;
}

// Updates of variables [first, last). `hinted`: each names its variable.
Updates updates_of(size_t first, size_t last, bool hinted = false) {
  Updates u;
  GraphBuilder b;
  const auto input = [&](int32_t dtype, const std::vector<int64_t>& dims, Tensor value) {
    u.inputs.push_back(std::move(value));
    return b.input(dtype, dims, TENON_ROLE_FEED);
  };
  Tensor lr = reference::zeros(TENON_F32, {}), step = reference::zeros(TENON_I64, {}), scale = lr;
  lr.f[0] = .01, step.i[0] = 6, scale.f[0] = .5;
  reference::round_to_dtype(lr);
  const uint32_t lr_id = input(TENON_F32, {}, lr), step_id = input(TENON_I64, {}, step);
  const uint32_t scale_id = input(TENON_F32, {}, scale);
  for (size_t i = first; i < last; ++i) {
    const Variable& v = kVariables[i];
    const auto seed = static_cast<uint32_t>(10 * i);
    std::vector<uint32_t> operands{input(TENON_F32, {v.n}, uniform(v.n, seed, -.5)),
                                   input(TENON_F32, {v.n}, uniform(v.n, seed + 1, -.5)),
                                   lr_id,
                                   step_id,
                                   v.scaled ? scale_id : TENON_NONE,
                                   TENON_NONE,
                                   TENON_NONE};
    std::vector<uint32_t> results{b.value(TENON_F32, {v.n})};
    for (uint32_t k = 0; k < (v.amsgrad ? 3 : 2); ++k) {
      operands.push_back(input(TENON_F32, {v.n}, uniform(v.n, seed + 2 + k, 0)));
      results.push_back(b.value(TENON_F32, {v.n}));
    }
    b.node("adam_update", operands, results).name("update" + std::to_string(i));
    b.attr_f64("b1", .9).attr_f64("b2", .999).attr_f64("eps", v.eps).attr_bool("amsgrad", v.amsgrad);
    const std::string hint = "variable " + std::to_string(i);
    if (hinted) b.attr_bytes("tenon.variable", hint.data(), hint.size());
    for (uint32_t r : results) b.result(r);
  }
  u.graph = b.build();
  return u;
}

TEST(OpenclUpdates, AreTheSameJoined) {
  if (!opencl()) GTEST_SKIP() << "no OpenCL device";
  const Updates all = updates_of(0, kVariables.size());
  const std::vector<Tensor> joined = run_graph(*opencl(), *all.graph.graph(), all.inputs);
  size_t r = 0;
  for (size_t i = 0; i < kVariables.size(); ++i) {
    const Updates one = updates_of(i, i + 1);
    for (const Tensor& expected : run_graph(*opencl(), *one.graph.graph(), one.inputs))
      EXPECT_EQ(joined.at(r++).f, expected.f) << "variable " << i;
  }
  EXPECT_EQ(r, joined.size());
}

TEST(OpenclUpdates, AreJoinedWhateverTheirHints) {
  if (!opencl()) GTEST_SKIP() << "no OpenCL device";
  const Updates plain = updates_of(0, kVariables.size()), hinted = updates_of(0, kVariables.size(), true);
  const size_t nodes = traced_nodes(plain.graph, plain.inputs);
  EXPECT_GT(nodes, 0u);
  EXPECT_LT(nodes, kVariables.size());
  EXPECT_EQ(traced_nodes(hinted.graph, hinted.inputs), nodes);
}

}  // namespace
}  // namespace tenon::conformance
