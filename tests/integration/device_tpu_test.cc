// tpu-emulator.so as the core uses it: a TPU's numbers to the bit, and its refusals word for word.
#include <cmath>
#include <cstring>

#include "backend/registry.h"
#include "integration/device_testing.h"

namespace tenon::device_testing {
namespace {

using op_testing::kInf;
using op_testing::kNaN;

template <class T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(*result);
}

const std::shared_ptr<Device>& tpu() {
  static const auto& device = *new std::shared_ptr<Device>(must(open_device("tpu-emulator:v3-8")));
  return device;
}

// bf16 of a TPU: to nearest even, overflow to infinity, no subnormals. From bits, by hand.
float bf16(float x) {
  if (std::isnan(x)) return x;
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000u;
  if ((bits & 0x7f800000u) == 0) bits &= 0x80000000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

// C = A B with operands rounded, summed from k = 0 up in f32.
std::vector<float> plain_product(const Doubles& a, const Doubles& b, int64_t m, int64_t n, int64_t k) {
  std::vector<float> c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum = std::fmaf(bf16(static_cast<float>(a[i * k + l])), bf16(static_cast<float>(b[l * n + j])), sum);
      c[i * n + j] = sum;
    }
  return c;
}

std::vector<reference::Tensor> run_here(const Build& build, const std::vector<Feed>& feeds) {
  return must(run_on(tpu(), build_graph(build, feeds)));
}

void expect_same(const reference::Tensor& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.f.size(), expected.size());
  int different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(found.f[i])) continue;
    if (static_cast<float>(found.f[i]) != expected[i] && ++different <= 3)
      ADD_FAILURE() << "at " << i << ": found " << found.f[i] << ", expected " << expected[i];
  }
  EXPECT_EQ(different, 0);
}

void expect_exact_product(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
  const Feed a = random_feed(DType::kF32, {m, k}, 1), b = random_feed(DType::kF32, {k, n}, 2);
  const Built built = build_graph([](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }, {a, b});
  const auto found = must(run_on(tpu(), built));
  expect_same(found[0], plain_product(built.inputs[0].f, built.inputs[1].f, m, n, k));
}

TEST(TpuNumbers, DotIsOneBf16PassWithF32SumsInOrder) {
  expect_exact_product(1, 1, 1);
  expect_exact_product(3, 5, 7);
  expect_exact_product(8, 128, 128);
  expect_exact_product(16, 10, 784);
  expect_exact_product(64, 96, 300);
  expect_exact_product(130, 65, 512);
  expect_exact_product(1, 1000, 513);
  expect_exact_product(40, 33, 1000);
}

TEST(TpuNumbers, OperandsRoundToEvenOverflowAndFlush) {
  // 1 + 2^-8 is halfway between two bf16: to even, 1. 1 + 3 2^-8: to 1 + 2^-6.
  const Doubles a{1 + 0x1p-8, 1 + 3 * 0x1p-8, -(1 + 0x1p-8), 3.4e38,     -3.4e38,
                  1e-40,      -1e-40,         0x1p-126,      0x1.fp-127, kNaN};
  const auto found = run_here([](const Tensors& x) { return Tensors{dot(x[0], x[1])}; },
                              {op_testing::f32({10, 1}, a), op_testing::f32({1, 1}, {1})});
  const auto inf = static_cast<float>(kInf);
  expect_same(found[0], {1, 1 + 0x1p-6, -1, inf, -inf, 0, 0, 0x1p-126f, 0, std::nanf("")});
}

TEST(TpuNumbers, WhatIsNoDotKeepsF32) {
  const Feed x = random_feed(DType::kF32, {100}, 1), y = random_feed(DType::kF32, {100}, 2);
  const Built built = build_graph([](const Tensors& v) { return Tensors{add(v[0], v[1])}; }, {x, y});
  const auto found = must(run_on(tpu(), built));
  std::vector<float> expected;
  for (size_t i = 0; i < 100; ++i)
    expected.push_back(static_cast<float>(built.inputs[0].f[i]) + static_cast<float>(built.inputs[1].f[i]));
  expect_same(found[0], expected);
}

// Errors of 1, 3 and 6 passes against a sum in double, as multiples of sum |a b|.
TEST(TpuNumbers, MorePassesLeaveSmallerErrors) {
  const Feed a = random_feed(DType::kF32, {16, 200}, 1), b = random_feed(DType::kF32, {200, 16}, 2);
  const double allowed[] = {0x1p-8, 0x1p-15, 0x1p-21}, least[] = {0x1p-13, 0x1p-21, 0};
  for (int precision = 0; precision < 3; ++precision) {
    const Built built = build_graph(
        [&](const Tensors& x) {
          return Tensors{dot(x[0], x[1], {.precision = static_cast<MathPrecision>(precision)})};
        },
        {a, b});
    const auto found = must(run_on(tpu(), built));
    double worst = 0;
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 16; ++j) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < 200; ++k) {
          const double p = built.inputs[0].f[i * 200 + k] * built.inputs[1].f[k * 16 + j];
          sum += p;
          size += std::fabs(p);
        }
        worst = std::max(worst, std::fabs(found[0].f[i * 16 + j] - sum) / size);
      }
    EXPECT_LT(worst, allowed[precision]) << precision;
    EXPECT_GE(worst, least[precision]) << precision;
  }
}

TEST(TpuNumbers, ConvolutionsAndTheirGradientsRoundBothOperands) {
  // Operands that round to 1: products of what bf16 keeps are exact.
  const Feed x = repeated(DType::kF32, {2, 6, 6, 3}, {1 + 0x1p-9, 1 - 0x1p-10}),
             w = repeated(DType::kF32, {1, 1, 3, 4}, {1 + 0x1p-9});
  const auto found = run_here(
      [](const Tensors& v) {
        return Tensors{conv(v[0], v[1], {.strides = {1, 1}, .low = {0, 0}, .high = {0, 0}, .dilation = {1, 1}})};
      },
      {x, w});
  for (double v : found[0].f) EXPECT_EQ(v, 3);
}

TEST(TpuNumbers, Bf16ResultsHaveNoSubnormals) {
  const auto found = run_here([](const Tensors& v) { return Tensors{mul(v[0], v[1])}; },
                              {op_testing::of(DType::kBF16, {3}, {0x1p-100, 0x1p-100, -0x1p-100}),
                               op_testing::of(DType::kBF16, {3}, {0x1p-26, 0x1p-27, 0x1p-28})});
  EXPECT_EQ(found[0].f, (Doubles{0x1p-126, 0, -0.0}));
}

std::string refusal_of(const Build& build, const std::vector<Feed>& feeds) {
  const auto result = run_on(tpu(), build_graph(build, feeds));
  EXPECT_FALSE(result.ok());
  return result.ok() ? "" : result.status().message();
}

TEST(TpuRefusals, ProjectiveTransformation) {
  EXPECT_EQ(
      refusal_of(
          [](const Tensors& x) {
            return Tensors{affine_image(x[0], x[1], 4, 4, ResizeMethod::kBilinear, FillMode::kConstant)};
          },
          {random_feed(DType::kF32, {2, 4, 4, 1}, 1), random_feed(DType::kF32, {2, 8}, 2)}),
      "tpu-emulator:v3-8 cannot run 1 of 1 nodes: affine_image 'affine_image': Compilation failure: Detected "
      "unsupported operations when trying to compile graph tenon_step[] on XLA_TPU_JIT: ImageProjectiveTransformV3 (No "
      "registered 'ImageProjectiveTransformV3' OpKernel for XLA_TPU_JIT devices compatible with node {{node "
      "affine_image}}) One approach is to outside compile the unsupported ops to run on CPUs by enabling soft "
      "placement (--soft_placement). This has a potential performance penalty. TPU compilation failed");
}

TEST(TpuRefusals, Double) {
  EXPECT_EQ(refusal_of([](const Tensors& x) { return Tensors{dot(x[0], x[1])}; },
                       {random_feed(DType::kF64, {2, 3}, 1), random_feed(DType::kF64, {3, 4}, 2)}),
            "tpu-emulator:v3-8 cannot run 1 of 1 nodes: dot 'dot': Value for attr 'T' of double is not in the list of "
            "allowed values: bfloat16, float32, int32, uint32 ; NodeDef: {{node dot}}; Op<name=MatMul>");
}

TEST(TpuRefusals, NameTheFirstThreeNodes) {
  const std::string text = refusal_of(
      [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 5; ++i) y = dot(y, x[0]);
        return Tensors{y};
      },
      {random_feed(DType::kF16, {3, 3}, 1)});
  EXPECT_TRUE(
      text.starts_with("tpu-emulator:v3-8 cannot run 5 of 5 nodes: dot 'dot': Value for attr 'T' of half is not"))
      << text;
  EXPECT_TRUE(
      text.ends_with("; dot 'dot_2': Value for attr 'T' of half is not in the list of allowed values: bfloat16, "
                     "float32, int32, uint32 ; NodeDef: {{node dot_2}}; Op<name=MatMul> and 2 more"))
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(TpuRefusals, Bytes) {
  EXPECT_EQ(
      refusal_of([](const Tensors& x) { return Tensors{cast(x[0], DType::kF32)}; },
                 {random_feed(DType::kU8, {2, 3}, 1)}),
      "tpu-emulator:v3-8 cannot run 1 of 1 nodes: cast 'cast': Compilation failure: Invalid HLO for TPU: U8 and S8 "
      "types are not supported: %cast = u8[2,3] cast(...) TPU compilation failed");
}

TEST(TpuRefusals, SoftPlacementMovesTheOpAndSaysSo) {
  const Built built = build_graph(
      [](const Tensors& x) {
        return Tensors{neg(affine_image(neg(x[0]), x[1], 2, 2, ResizeMethod::kNearest, FillMode::kConstant))};
      },
      {op_testing::f32({1, 2, 2, 1}, {1, 2, 3, 4}), op_testing::f32({1, 8}, {1, 0, 0, 0, 1, 0, 0, 0})});
  ProgramOptions options;
  options.soft_placement = true;
  const Executable executable = must(compile(built.graph, tpu(), options));
  const std::string& warnings = executable.info().warnings;
  EXPECT_EQ(warnings.rfind("soft placement: 1 of 3 nodes run on cpu: affine_image 'affine_image'; 16 bytes leave "
                           "tpu-emulator:v3-8 and 16 come back in each step, at least ",
                           0),
            0u)
      << warnings;
}

}  // namespace
}  // namespace tenon::device_testing
