// Which algorithm a convolution gets: share/doc/adr has why (0008 Winograd's, 0009 points in vectors, 0017 pairs).
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)

namespace tenon::testing {
namespace {

// NHWC, HWIO; as many zeros on each side as keep an odd filter's image, unless there is a stride.
struct AlgorithmCase {
  const char* op;
  Dims x, w;
  int64_t stride = 1, groups = 1;
  int32_t dtype = TENON_F32;
  int precision = TENON_PRECISION_DEFAULT;
  const char* algorithm = "";
};

class ConvAlgorithm : public IsaTest {
 protected:
  ConvAlgorithm() { TENON_USE_WIDE_FAMILY(add_convolution); }

  std::string algorithm_of(const AlgorithmCase& c) const {
    Dims y{c.x[0]}, low;
    for (size_t i = 0; i < 2; ++i) {
      low.push_back(c.w[i] / 2);
      y.push_back((c.x[i + 1] + 2 * low[i] - c.w[i]) / c.stride + 1);
    }
    y.push_back(c.w[3]);
    const std::string op = c.op;
    plugin::GraphBuilder builder;
    const auto value = [&](const Dims& dims) { return builder.input(c.dtype, dims, TENON_ROLE_FEED); };
    const uint32_t first = value(op == "conv_grad_input" ? y : c.x), second = value(op == "conv_grad_filter" ? y : c.w);
    const uint32_t result = builder.value(c.dtype, op == "conv" ? y : op == "conv_grad_input" ? c.x : c.w);
    builder.node(op.c_str(), {first, second}, {result})
        .name("n")
        .attr_list("strides", Dims(2, c.stride))
        .attr_list("low", low)
        .attr_list("high", low)
        .attr_list("dilation", Dims(2, 1))
        .attr_i64("groups", c.groups)
        .attr_enum("precision", c.precision);
    builder.result(result);
    const plugin::FlatGraph flat = builder.build();
    const plugin::NodeView node = plugin::GraphView(*flat.graph()).node(0);
    return table_.find(op, 1)->make(node, plugin::Env{}).algorithm;
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, ConvAlgorithm, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(ConvAlgorithm, IsChosenByShapeDirectionPrecisionAndDtype) {
  constexpr int32_t f32 = TENON_F32, f64 = TENON_F64;
  constexpr int usual = TENON_PRECISION_DEFAULT, exact = TENON_PRECISION_HIGHEST;
  const AlgorithmCase cases[] = {
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, f32, usual, "winograd 3x3"},
      {"conv_grad_input", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, f32, usual, "winograd 3x3"},
      {"conv_grad_filter", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, f32, usual, "winograd 3x3"},
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, TENON_F16, usual, "winograd 3x3"},
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, TENON_BF16, usual, "winograd 3x3 of bf16"},
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, f32, exact, "implicit gemm"},
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 1, 1, f64, usual, "loops of f64"},
      {"conv", {8, 16, 16, 32}, {3, 3, 32, 32}, 2, 1, f32, usual, "implicit gemm"},
      {"conv", {16, 28, 28, 32}, {5, 5, 32, 64}, 1, 1, f32, usual, "winograd 5x5"},
      {"conv_grad_input", {16, 28, 28, 32}, {5, 5, 32, 64}, 1, 1, f32, usual, "winograd 5x5"},
      {"conv_grad_filter", {16, 28, 28, 32}, {5, 5, 32, 64}, 1, 1, f32, usual, "implicit gemm"},
      {"conv", {16, 28, 28, 32}, {5, 5, 32, 64}, 1, 1, f32, exact, "implicit gemm"},
      {"conv", {8, 16, 16, 32}, {1, 1, 32, 48}, 1, 1, f32, usual, "gemm"},
      {"conv_grad_input", {8, 16, 16, 32}, {1, 1, 32, 48}, 1, 1, f32, usual, "gemm"},
      {"conv_grad_filter", {8, 16, 16, 32}, {1, 1, 32, 48}, 1, 1, f32, usual, "gemm"},
      {"conv_grad_filter", {32, 28, 28, 32}, {1, 1, 32, 48}, 1, 1, f32, usual, "implicit gemm"},
      {"conv_grad_filter", {32, 28, 28, 512}, {1, 1, 512, 128}, 1, 1, f32, usual, "gemm"},
      {"conv", {8, 16, 16, 32}, {1, 1, 32, 48}, 2, 1, f32, usual, "strided gemm"},
      {"conv_grad_input", {8, 16, 16, 32}, {1, 1, 32, 48}, 2, 1, f32, usual, "implicit gemm"},
      {"conv", {8, 32, 32, 6}, {3, 3, 6, 10}, 1, 1, f32, usual, "direct planar"},
      {"conv", {8, 16, 16, 32}, {3, 3, 1, 32}, 1, 32, f32, usual, "depthwise"},
      {"conv", {8, 16, 16, 32}, {3, 3, 1, 32}, 1, 32, f32, exact, "depthwise"},
      {"conv", {8, 16, 16, 32}, {3, 3, 1, 64}, 2, 32, f32, usual, "depthwise"},
      {"conv", {8, 16, 16, 32}, {3, 3, 1, 32}, 1, 32, TENON_BF16, usual, "depthwise of bf16"},
      {"conv_grad_input", {8, 16, 16, 32}, {5, 5, 1, 32}, 2, 32, f32, usual, "depthwise"},
      {"conv_grad_filter", {8, 16, 16, 32}, {3, 3, 1, 32}, 1, 32, f32, usual, "depthwise"},
      {"conv_grad_filter", {8, 16, 16, 32}, {4, 4, 1, 32}, 1, 32, f32, usual, "direct grouped"},
      {"conv", {8, 16, 16, 32}, {3, 3, 2, 32}, 1, 16, f32, usual, "direct grouped"},
      {"conv_grad_filter", {8, 16, 16, 32}, {3, 3, 4, 32}, 1, 8, f32, usual, "direct grouped"},
      {"conv", {8, 16, 16, 32}, {3, 3, 8, 32}, 1, 4, f32, usual, "implicit gemm"},
  };
  for (const AlgorithmCase& c : cases)
    EXPECT_EQ(algorithm_of(c), c.algorithm) << c.op << " of " << ::testing::PrintToString(c.x) << " by "
                                            << ::testing::PrintToString(c.w) << ", stride " << c.stride;
}

}  // namespace
}  // namespace tenon::testing
