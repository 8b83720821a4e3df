// Products and convolutions of shapes by which opencl-gpu.so reads whole vectors or not, along the sums or across them, in one
// tile or several, in chunks of the sums: beside the reference's.
#include <algorithm>
#include <cmath>

#include "conformance/reference/reference.h"
#include "unit/opencl_graphs/opencl_device.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

// By the largest value: sums of any order.
void expect_near(const Tensor& found, const Tensor& expected, double tolerance, size_t result) {
  double largest = 1;
  for (const double v : expected.f) largest = std::max(largest, std::abs(v));
  ASSERT_EQ(found.f.size(), expected.f.size()) << "result " << result;
  for (size_t i = 0; i < expected.f.size(); ++i)
    ASSERT_NEAR(found.f[i], expected.f[i], tolerance * largest) << "result " << result << ", element " << i;
}

void expect_reference(const FlatGraph& graph, double tolerance) {
  const std::vector<Tensor> inputs = drawn_inputs(graph);
  std::vector<Tensor> expected;
  ASSERT_EQ(reference::evaluate_graph(*graph.graph(), inputs, reference::Rounding::kDtype, expected), "");

  const std::vector<Tensor> found = run_graph(*opencl(), *graph.graph(), inputs);

  ASSERT_EQ(found.size(), expected.size());
  for (size_t r = 0; r < found.size(); ++r) expect_near(found[r], expected[r], tolerance, r);
}

// ---- dot ----

struct Matrices {
  const char* name;
  Dims batch;
  int64_t m, k, n;
  bool ta = false, tb = false;
  int32_t dtype = TENON_F32;
};
void PrintTo(const Matrices& c, std::ostream* out) { *out << c.name; }

const Matrices kMatrices[] = {
    {"vectors", {}, 132, 96, 68},
    {"odd", {}, 67, 45, 71},
    {"both_transposed", {}, 68, 40, 132, true, true},
    {"both_transposed_odd", {}, 69, 41, 33, true, true},
    {"in_chunks", {}, 20, 3012, 20},
    {"in_chunks_odd", {}, 9, 3001, 11, true},
    {"a_batch", {3}, 40, 24, 36},
    {"a_batch_odd", {2, 3}, 17, 23, 19, false, true},
    {"large_tiles", {}, 1030, 36, 1100},
    {"one_column", {}, 260, 100, 1, false, true},
    {"bf16", {}, 132, 96, 68, false, true, TENON_BF16},
    {"bf16_odd", {}, 67, 45, 71, false, false, TENON_BF16},
    {"f16", {}, 132, 96, 68, true, false, TENON_F16},
    {"f16_odd", {}, 67, 45, 71, false, true, TENON_F16},
    {"f64", {}, 132, 96, 68, false, false, TENON_F64},
};

Dims matrix(const Matrices& c, int64_t rows, int64_t columns) {
  Dims dims = c.batch;
  dims.push_back(rows), dims.push_back(columns);
  return dims;
}

FlatGraph dot_of(const Matrices& c) {
  const int32_t out = c.dtype == TENON_F64 ? TENON_F64 : TENON_F32;
  GraphBuilder b;
  const uint32_t left = b.input(c.dtype, c.ta ? matrix(c, c.k, c.m) : matrix(c, c.m, c.k), TENON_ROLE_FEED);
  const uint32_t right = b.input(c.dtype, c.tb ? matrix(c, c.n, c.k) : matrix(c, c.k, c.n), TENON_ROLE_FEED);
  const uint32_t y = b.value(out, matrix(c, c.m, c.n));
  b.node("dot", {left, right}, {y}).name("dot").attr_bool("ta", c.ta).attr_bool("tb", c.tb);
  b.attr_enum("precision", TENON_PRECISION_HIGHEST).attr_dtype("out", out).result(y);
  return b.build();
}

class OpenclProducts : public OnOpencl, public testing::WithParamInterface<Matrices> {};

TEST_P(OpenclProducts, AreTheReferences) {
  const FlatGraph graph = dot_of(GetParam());
  expect_reference(graph, GetParam().dtype == TENON_F64 ? 1e-13 : 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclProducts, testing::ValuesIn(kMatrices),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- dots of one a, as of attention's query, key and value ----

struct Joint {
  const char* name;
  Matrices each;
  int members = 3;
  bool bias = false;
  int32_t act = TENON_ACT_NONE;
  int nodes = 1;  // that run
};
void PrintTo(const Joint& c, std::ostream* out) { *out << c.name; }

const Joint kJoint[] = {
    {"three", {"", {}, 132, 96, 68}},
    {"two", {"", {}, 132, 96, 68}, 2},
    {"four", {"", {}, 132, 96, 68}, 4, false, TENON_ACT_NONE, 2},
    {"odd", {"", {}, 67, 45, 71}},
    {"bias", {"", {}, 132, 96, 68}, 3, true},
    {"bias_odd_relu", {"", {}, 67, 45, 71, false, true}, 3, true, TENON_ACT_RELU},
    {"gelu", {"", {}, 67, 45, 71}, 2, true, TENON_ACT_GELU},
    {"gradients", {"", {}, 64, 700, 48, true}},
    {"in_chunks", {"", {}, 20, 3012, 20, true}},
    {"in_chunks_bias", {"", {}, 9, 3001, 11}, 3, true, TENON_ACT_GELU},
    {"few", {"", {}, 3, 5, 4}, 3, true, TENON_ACT_GELU},
    {"large_tiles", {"", {}, 1030, 36, 600}},
    {"bf16", {"", {}, 67, 45, 71, false, false, TENON_BF16}},
    {"f64", {"", {}, 132, 96, 68, false, false, TENON_F64}, 3, true},
};

// Each reads a by a reshape of its own.
FlatGraph joint_of(const Joint& c) {
  const Matrices& s = c.each;
  const int32_t out = s.dtype == TENON_F64 ? TENON_F64 : TENON_F32;
  const Dims of_a = s.ta ? Dims{s.k, s.m} : Dims{s.m, s.k}, of_b = s.tb ? Dims{s.n, s.k} : Dims{s.k, s.n};
  GraphBuilder b;
  const uint32_t given = b.input(s.dtype, {of_a[0], 1, of_a[1]}, TENON_ROLE_FEED);
  for (int i = 0; i < c.members; ++i) {
    const uint32_t a = b.value(s.dtype, of_a), c_of_a = b.value(out, {s.m, s.n});
    std::vector<uint32_t> operands{a, b.input(s.dtype, of_b, TENON_ROLE_FEED)};
    if (c.bias) operands.push_back(b.input(out, {s.n}, TENON_ROLE_FEED));
    b.node("reshape", {given}, {a}).name("a").attr_list("shape", of_a);
    b.node(c.bias ? "dot_bias_act" : "dot", operands, {c_of_a}).name("dot").attr_bool("ta", s.ta).attr_bool("tb", s.tb);
    if (c.bias) b.attr_enum("act", c.act).attr_f64("alpha", 0);
    b.attr_enum("precision", TENON_PRECISION_HIGHEST).attr_dtype("out", out).result(c_of_a);
  }
  return b.build();
}

class OpenclJointProducts : public OnOpencl, public testing::WithParamInterface<Joint> {};

// Each in a graph of its own, which the tests above and the conformance suite hold to the reference.
std::vector<Tensor> alone(Joint c, const std::vector<Tensor>& inputs) {
  const int members = c.members, own = c.bias ? 2 : 1;
  c.members = 1;
  const FlatGraph graph = joint_of(c);
  std::vector<Tensor> results;
  for (int i = 0; i < members; ++i) {
    std::vector<Tensor> of_one{inputs[0]};
    of_one.insert(of_one.end(), inputs.begin() + 1 + own * i, inputs.begin() + 1 + own * (i + 1));
    results.push_back(run_graph(*opencl(), *graph.graph(), of_one).at(0));
  }
  return results;
}

TEST_P(OpenclJointProducts, AreInOneNodeWhatTheyAreAlone) {
  const Joint& c = GetParam();
  const FlatGraph graph = joint_of(c);
  const std::vector<Tensor> inputs = drawn_inputs(graph);

  const std::vector<Tensor> found = run_graph(*opencl(), *graph.graph(), inputs), expected = alone(c, inputs);

  ASSERT_EQ(found.size(), expected.size());
  for (size_t r = 0; r < found.size(); ++r)
    expect_near(found[r], expected[r], c.each.dtype == TENON_F64 ? 1e-13 : 2e-6, r);
  EXPECT_EQ(traced_nodes(graph, inputs), static_cast<size_t>(c.nodes));
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclJointProducts, testing::ValuesIn(kJoint),
                         [](const auto& info) { return std::string(info.param.name); });

// a b, and a by what is made of that; a c, whose columns are fewer; (2 a) b.
TEST_F(OnOpencl, ProductsThatReadEachOtherOrDifferStayApart) {
  const Dims square{40, 40};
  GraphBuilder g;
  const auto input = [&](const Dims& dims) { return g.input(TENON_F32, dims, TENON_ROLE_FEED); };
  const auto dot = [&](uint32_t left, uint32_t right, const Dims& dims) {
    const uint32_t y = g.value(TENON_F32, dims);
    g.node("dot", {left, right}, {y}).name("dot").attr_bool("ta", false).attr_bool("tb", false);
    g.attr_enum("precision", TENON_PRECISION_HIGHEST).attr_dtype("out", TENON_F32).result(y);
    return y;
  };
  const uint32_t a = input(square), b = input(square), c = input({40, 24}), twice = g.value(TENON_F32, square);
  g.node("add", {a, a}, {twice}).name("twice");
  dot(a, dot(a, b, square), square);
  dot(a, c, {40, 24});
  dot(twice, b, square);
  const FlatGraph graph = g.build();

  expect_reference(graph, 2e-6);
  EXPECT_EQ(traced_nodes(graph, drawn_inputs(graph)), 5u);
}

// ---- convolutions ----

struct Windows {
  const char* name;
  Dims x, w;  // [N, S.., C], [K.., C / G, O]
  int64_t stride = 1, low = 0, dilation = 1, groups = 1;
  int32_t dtype = TENON_F32;
};
void PrintTo(const Windows& c, std::ostream* out) { *out << c.name; }

const Windows kWindows[] = {
    {"vectors", {3, 9, 11, 16}, {3, 3, 16, 20}, 1, 1},
    {"few_channels", {2, 13, 12, 4}, {3, 3, 4, 36}, 1, 1},  // several taps in a block
    {"odd", {2, 15, 13, 3}, {5, 5, 3, 10}, 2, 2},
    {"one_filter", {3, 12, 12, 12}, {3, 3, 12, 1}, 1, 1},
    {"stride_2", {2, 14, 14, 8}, {3, 3, 8, 16}, 2, 1},
    {"dilated", {2, 12, 11, 8}, {3, 3, 8, 12}, 1, 2, 2},
    {"line", {4, 60, 8}, {5, 8, 12}, 1, 2},
    {"space", {2, 6, 7, 8, 4}, {2, 3, 2, 4, 8}, 1, 1},
    {"groups", {2, 10, 9, 24}, {3, 3, 12, 32}, 1, 1, 1, 2},
    {"depthwise", {2, 11, 13, 70}, {3, 3, 1, 70}, 1, 1, 1, 70},
    {"depthwise_apart", {2, 15, 14, 12}, {5, 4, 1, 12}, 2, 2, 1, 12},
    {"depthwise_twofold", {2, 9, 10, 24}, {3, 3, 1, 48}, 1, 2, 2, 24},
    {"depthwise_wide", {3, 40, 8}, {11, 1, 8}, 1, 5, 1, 8},  // more taps than are in registers
    {"depthwise_bf16", {2, 9, 10, 18}, {3, 3, 1, 18}, 1, 1, 1, 18, TENON_BF16},
    {"narrow_groups", {2, 12, 10, 24}, {3, 3, 6, 16}, 2, 1, 1, 4},
    {"bf16", {2, 10, 9, 16}, {3, 3, 16, 12}, 1, 1, 1, 1, TENON_BF16},
    {"f16_odd", {2, 10, 9, 5}, {3, 3, 5, 7}, 1, 1, 1, 1, TENON_F16},
    {"f64", {2, 10, 9, 4}, {3, 3, 4, 8}, 2, 1, 1, 1, TENON_F64},
};

Dims result_of(const Windows& c) {
  Dims y = c.x;
  for (size_t d = 1; d + 1 < y.size(); ++d)
    y[d] = (y[d] + 2 * c.low - (c.w[d - 1] - 1) * c.dilation - 1) / c.stride + 1;
  y.back() = c.w.back();
  return y;
}

void convolve(GraphBuilder& b, const Windows& c, int32_t out) {
  const size_t axes = c.x.size() - 2;
  b.attr_list("strides", Dims(axes, c.stride)).attr_list("low", Dims(axes, c.low)).attr_list("high", Dims(axes, c.low));
  b.attr_list("dilation", Dims(axes, c.dilation)).attr_i64("groups", c.groups).attr_dtype("out", out);
  b.attr_enum("precision", TENON_PRECISION_HIGHEST);
}

// y, dx, dw
FlatGraph convolutions_of(const Windows& c) {
  const int32_t out = c.dtype == TENON_F64 ? TENON_F64 : TENON_F32;
  const auto ends = c.x.size() - 1;
  GraphBuilder b;
  const uint32_t x = b.input(c.dtype, c.x, TENON_ROLE_FEED), w = b.input(c.dtype, c.w, TENON_ROLE_FEED);
  const uint32_t dy = b.input(c.dtype, result_of(c), TENON_ROLE_FEED);
  const uint32_t y = b.value(out, result_of(c)), dx = b.value(out, c.x), dw = b.value(out, c.w);
  convolve(b.node("conv", {x, w}, {y}).name("conv"), c, out);
  convolve(b.node("conv_grad_input", {dy, w}, {dx}).name("dx"), c, out);
  b.attr_list("size", Dims(c.x.begin() + 1, c.x.begin() + static_cast<std::ptrdiff_t>(ends)));
  convolve(b.node("conv_grad_filter", {x, dy}, {dw}).name("dw"), c, out);
  b.attr_list("size", Dims(c.w.begin(), c.w.begin() + static_cast<std::ptrdiff_t>(ends - 1)));
  for (const uint32_t r : {y, dx, dw}) b.result(r);
  return b.build();
}

class OpenclConvolutions : public OnOpencl, public testing::WithParamInterface<Windows> {};

TEST_P(OpenclConvolutions, AreTheReferences) {
  const FlatGraph graph = convolutions_of(GetParam());
  expect_reference(graph, GetParam().dtype == TENON_F64 ? 1e-13 : 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclConvolutions, testing::ValuesIn(kWindows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::conformance
