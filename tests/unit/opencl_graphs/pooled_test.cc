// A convolution, bias, ReLU and 2 x 2 max-pool, and their gradients, which opencl-gpu.so makes nodes of its own of: beside
// the reference's convolutions and a plain pool.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "conformance/reference/reference.h"
#include "unit/opencl_graphs/opencl_device.h"
#include "unit/pooled_case.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

using Case = PooledCase;

const Case kCases[] = {
    {{8, 28, 28, 1}, {3, 3, 1, 32}, 0, 1, true, true},    // places, odd pooled size
    {{4, 37, 30, 3}, {3, 3, 3, 32}, 1, 1, true, true},    // more taps than registers
    {{5, 20, 21, 3}, {5, 5, 3, 16}, 2, 1, true, true},    // lists of few channels
    {{2, 19, 17, 8}, {3, 3, 8, 16}, 1, 2, true, false},   // stride 2
    {{3, 9, 9, 2}, {3, 2, 2, 48}, 0, 1, false, false},    // one vector of filters at a time
    {{3, 13, 13, 32}, {3, 3, 32, 64}, 0, 1, true, true},  // Winograd, an odd map
    {{2, 24, 30, 16}, {3, 3, 16, 32}, 1, 1, true, true},  // with zeros around it; bands of rows
    {{1, 14, 14, 96}, {3, 3, 96, 16}, 1, 1, false, true},
};

void convolve(GraphBuilder& b, const Case& c) {
  b.attr_list("strides", {c.stride, c.stride}).attr_list("low", {c.low, c.low}).attr_list("high", {c.low, c.low});
  b.attr_list("dilation", {1, 1}).attr_i64("groups", 1).attr_enum("precision", TENON_PRECISION_DEFAULT);
}

void pool(GraphBuilder& b) {
  b.attr_list("window", {2, 2}).attr_list("strides", {2, 2}).attr_list("low", {0, 0}).attr_list("high", {0, 0});
}

// x, w, [bias], dp -> p, dx, dw; `map`: the map too, which is stored then.
FlatGraph whole(const Case& c, bool map) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, c.x, TENON_ROLE_FEED), w = b.input(TENON_F32, c.w, TENON_ROLE_FEED);
  std::vector<uint32_t> operands{x, w};
  if (c.bias) operands.push_back(b.input(TENON_F32, {c.w[3]}, TENON_ROLE_FEED));
  const uint32_t dp = b.input(TENON_F32, c.pooled(), TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F32, c.y()), p = b.value(TENON_F32, c.pooled()), dy = b.value(TENON_F32, c.y());
  const uint32_t dx = b.value(TENON_F32, c.x), dw = b.value(TENON_F32, c.w);
  convolve(b.node("conv_bias_act", operands, {y}).name("conv"), c);
  b.attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
  pool(b.node("max_pool", {y}, {p}).name("pool"));
  pool(b.node("max_pool_grad", {y, p, dp}, {dy}).name("pool_grad"));
  convolve(b.node("conv_grad_input", {dy, w}, {dx}).name("grad_input"), c);
  b.attr_list("size", {c.x[1], c.x[2]});
  convolve(b.node("conv_grad_filter", {x, dy}, {dw}).name("grad_filter"), c);
  b.attr_list("size", {c.w[0], c.w[1]});
  for (uint32_t value : {p, dx, dw}) b.result(value);
  if (map) b.result(y);
  return b.build();
}

// One of the reference's convolutions.
Tensor evaluated(const Case& c, const char* op, const Tensor& a, const Tensor& b, const Dims& to) {
  GraphBuilder g;
  const uint32_t first = g.input(TENON_F32, a.dims, TENON_ROLE_FEED),
                 second = g.input(TENON_F32, b.dims, TENON_ROLE_FEED);
  const uint32_t y = g.value(TENON_F32, to);
  convolve(g.node(op, {first, second}, {y}).name(op), c);
  const bool filter = std::string(op) == "conv_grad_filter";
  if (std::string(op) != "conv") g.attr_list("size", {to[filter ? 0 : 1], to[filter ? 1 : 2]});
  g.result(y);
  std::vector<Tensor> results;
  EXPECT_EQ(reference::evaluate_graph(*g.build().graph(), {a, b}, reference::Rounding::kDtype, results), "");
  return results.at(0);
}

struct Expected {
  Tensor p, dx, dw;
};

Expected expected_of(const Case& c, const std::vector<Tensor>& in) {
  Tensor map = evaluated(c, "conv", in[0], in[1], c.y());
  for (size_t i = 0; i < map.f.size(); ++i) {
    if (c.bias) map.f[i] += in[2].f[i % static_cast<size_t>(c.w[3])];
    if (c.relu && map.f[i] < 0) map.f[i] = 0;
  }
  Expected e{reference::zeros(TENON_F32, c.pooled()), {}, {}};
  Tensor dmap = reference::zeros(TENON_F32, c.y());
  const Dims y = c.y(), q = c.pooled();
  for (int64_t i = 0; i < reference::elements(e.p); ++i) {
    const int64_t o = i % q[3], column = i / q[3] % q[2], row = i / q[3] / q[2] % q[1], image = i / q[3] / q[2] / q[1];
    const auto at = [&](int place) {
      return static_cast<size_t>(((image * y[1] + row * 2 + place / 2) * y[2] + column * 2 + place % 2) * y[3] + o);
    };
    int winner = 0;
    for (int place = 1; place < 4; ++place)  // NaN wins, but not over NaN
      if (!(map.f[at(place)] <= map.f[at(winner)]) && !std::isnan(map.f[at(winner)])) winner = place;
    e.p.f[static_cast<size_t>(i)] = map.f[at(winner)];
    dmap.f[at(winner)] = in.back().f[static_cast<size_t>(i)];
  }
  e.dx = evaluated(c, "conv_grad_input", dmap, in[1], c.x);
  e.dw = evaluated(c, "conv_grad_filter", in[0], dmap, c.w);
  return e;
}

// Differences beside the largest value.
void expect_near(const Tensor& found, const Tensor& expected, const std::string& what) {
  double largest = 1;
  for (double v : expected.f) largest = std::max(largest, std::abs(v));
  ASSERT_EQ(found.f.size(), expected.f.size()) << what;
  for (size_t i = 0; i < expected.f.size(); ++i)
    if (std::isnan(expected.f[i]))
      ASSERT_TRUE(std::isnan(found.f[i])) << what << " at " << i;
    else
      ASSERT_NEAR(found.f[i], expected.f[i], 2e-5 * largest) << what << " at " << i;
}

// Multiples of 1/2 if channels are few: elements of a window are often equal, sums exact. Else no two sums are close.
std::vector<Tensor> inputs_of(const Case& c, uint32_t seed) {
  std::mt19937 random(seed);
  const bool ties = c.x[3] < 12;
  std::vector<Dims> dims{c.x, c.w};
  if (c.bias) dims.push_back({c.w[3]});
  dims.push_back(c.pooled());
  std::vector<Tensor> in;
  for (const Dims& d : dims) {
    in.push_back(reference::zeros(TENON_F32, d));
    for (double& v : in.back().f)
      v = ties ? (static_cast<int>(random() % 7) - 3) * .5 : static_cast<float>(random()) * 0x1p-31 - 1;
    reference::round_to_dtype(in.back());
  }
  return in;
}

class OpenclPools : public OnOpencl {};

TEST_F(OpenclPools, AreConvolutionThenPoolAndItsGradients) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::PrintToString(c.x) + " by " + testing::PrintToString(c.w));
    const std::vector<Tensor> in = inputs_of(c, 5);
    const Expected e = expected_of(c, in);
    const std::vector<Tensor> found = run_graph(*opencl(), *whole(c, false).graph(), in);
    expect_near(found[0], e.p, "p");
    expect_near(found[1], e.dx, "dx");
    expect_near(found[2], e.dw, "dw");
    const std::vector<Tensor> again = run_graph(*opencl(), *whole(c, false).graph(), in);
    for (size_t r = 0; r < found.size(); ++r) EXPECT_EQ(found[r].f, again[r].f) << "result " << r;
  }
}

TEST_F(OpenclPools, SendTheGradientOfNaNToTheFirst) {
  for (const Case& c : kCases) {
    if (!c.bias) continue;
    SCOPED_TRACE(testing::PrintToString(c.x) + " by " + testing::PrintToString(c.w));
    std::vector<Tensor> in = inputs_of(c, 5);
    for (size_t o = 0; o < in[2].f.size(); o += 5) in[2].f[o] = NAN;  // the channel's map is NaN
    const Expected e = expected_of(c, in);
    const std::vector<Tensor> found = run_graph(*opencl(), *whole(c, false).graph(), in);
    expect_near(found[0], e.p, "p");
    expect_near(found[1], e.dx, "dx");
    expect_near(found[2], e.dw, "dw");
  }
}

bool has_cpu_kernels() {
  const char* shape = std::getenv("TENON_OPENCL_SHAPE");
  return shape && std::string(shape) == "cpu";
}

TEST_F(OpenclPools, KeepAnInfiniteGradientToItsTaps) {
  if (!has_cpu_kernels()) GTEST_SKIP() << "kernels of GPUs are not joined";
  const Case c{{2, 20, 21, 3}, {5, 5, 3, 16}, 2, 1, true, true};  // rows of 15 taps
  std::vector<Tensor> in = inputs_of(c, 5);
  in.back().f[in.back().f.size() / 3] = HUGE_VAL;
  const Tensor expected = expected_of(c, in).dx, found = run_graph(*opencl(), *whole(c, false).graph(), in)[1];
  for (size_t i = 0; i < expected.f.size(); ++i)
    if (std::isfinite(expected.f[i]))
      ASSERT_NEAR(found.f[i], expected.f[i], 1e-3) << i;
    else
      ASSERT_FALSE(std::isfinite(found.f[i])) << i;
}

TEST_F(OpenclPools, StoreNoMap) {
  if (!has_cpu_kernels()) GTEST_SKIP() << "kernels of GPUs store it";
  const Case c{{64, 28, 28, 1}, {3, 3, 1, 32}, 0, 1, true, true};
  const uint64_t map = static_cast<uint64_t>(64 * 26 * 26 * 32) * sizeof(float);
  const auto workspace = [&](bool stored) {
    return Program(*opencl(), opencl()->device(), *whole(c, stored).graph()).info().workspace_bytes;
  };
  EXPECT_LT(workspace(false), map / 2);
  EXPECT_GE(workspace(true), map);  // it is a result, and its gradient is in memory
}

}  // namespace
}  // namespace tenon::conformance
