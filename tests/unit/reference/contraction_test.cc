#include <cmath>

#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

using Ints = std::vector<int64_t>;

// Values without a pattern that an index error could hide behind.
Tensor scattered(const Ints& dims, double seed) {
  Tensor x = zeros(TENON_F32, dims);
  for (size_t i = 0; i < x.f.size(); ++i) x.f[i] = std::sin(seed + 1.7 * static_cast<double>(i * i + i));
  return x;
}

double inner(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.f.size(); ++i) sum += a.f[i] * b.f[i];
  return sum;
}

TEST(Contraction, DotMultipliesMatrices) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  expect_floats(Node("dot", {a, b}).run(TENON_F32, {2, 2}), {58, 64, 139, 154});
}

TEST(Contraction, DotTakesEitherOperandTransposed) {
  const Tensor a = floats({3, 2}, {1, 4, 2, 5, 3, 6}), b = floats({2, 3}, {7, 9, 11, 8, 10, 12});
  expect_floats(Node("dot", {a, b}).flag("ta", true).flag("tb", true).run(TENON_F32, {2, 2}), {58, 64, 139, 154});
}

TEST(Contraction, DotRunsOverBatches) {
  const Tensor a = floats({2, 1, 2}, {1, 2, 3, 4}), b = floats({2, 2, 1}, {5, 6, 7, 8});
  expect_floats(Node("dot", {a, b}).run(TENON_F32, {2, 1, 1}), {17, 53});
}

TEST(Contraction, OutWidensTheResult) {
  const Tensor a = floats({1, 1}, {257}, TENON_BF16), b = floats({1, 1}, {257}, TENON_BF16);
  const Tensor y = Node("dot", {a, b}).dtype("out", TENON_F32).run(TENON_F32, {1, 1});
  EXPECT_EQ(y.dtype, TENON_F32);
  expect_floats(y, {66049});
}

TEST(Contraction, ConvSlidesTheFilterUnflipped) {
  const Tensor x = floats({1, 4, 1}, {1, 2, 3, 4}), w = floats({2, 1, 1}, {10, 1});
  expect_floats(Node("conv", {x, w}).run(TENON_F32, {1, 3, 1}), {12, 23, 34});
}

TEST(Contraction, ConvPadsStridesAndDilates) {
  const Tensor x = floats({1, 5, 1}, {1, 2, 3, 4, 5}), w = floats({2, 1, 1}, {10, 1});
  Node padded("conv", {x, w});
  padded.list("strides", {2}).list("low", {1}).list("high", {1}).list("dilation", {1});
  expect_floats(padded.run(TENON_F32, {1, 3, 1}), {1, 23, 45});
  Node plain("conv", {x, w});
  plain.list("strides", {}).list("low", {}).list("high", {}).list("dilation", {}).dtype("out", 0);
  expect_floats(plain.run(TENON_F32, {1, 4, 1}), {12, 23, 34, 45});
  Node dilated("conv", {x, w});
  dilated.list("strides", {1}).list("low", {0}).list("high", {0}).list("dilation", {3});
  expect_floats(dilated.run(TENON_F32, {1, 2, 1}), {14, 25});
}

TEST(Contraction, ConvOfImagesSumsOverChannels) {
  // 2x2 image of two channels, 2x2 filter to one output.
  const Tensor x = floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), w = floats({2, 2, 2, 1}, {1, 0, 2, 0, 3, 0, 0, 9});
  expect_floats(Node("conv", {x, w}).run(TENON_F32, {1, 1, 1, 1}), {1 + 6 + 15 + 72});
}

TEST(Contraction, GroupsKeepTheirChannelsApart) {
  // Two groups of one channel and two outputs each.
  const Tensor x = floats({1, 1, 2}, {3, 5}), w = floats({1, 1, 4}, {1, 2, 10, 20});
  expect_floats(Node("conv", {x, w}).i64("groups", 2).run(TENON_F32, {1, 1, 4}), {3, 6, 50, 100});
}

TEST(Contraction, AGroupReadsItsOwnRunOfChannels) {
  const Tensor x = floats({1, 1, 4}, {1, 2, 3, 4}), w = floats({1, 2, 2}, {1, 10, 100, 1000});
  expect_floats(Node("conv", {x, w}).i64("groups", 2).run(TENON_F32, {1, 1, 2}), {1 + 200, 30 + 4000});
}

TEST(Contraction, ConvPadsEachAxisAndSideByItself) {
  const Tensor x = floats({1, 2, 2, 1}, {1, 2, 3, 4}), w = floats({1, 1, 1, 1}, {2});
  Node node("conv", {x, w});
  node.list("low", {1, 0}).list("high", {0, 2});
  expect_floats(node.run(TENON_F32, {1, 3, 4, 1}), {0, 0, 0, 0, 2, 4, 0, 0, 6, 8, 0, 0});
}

TEST(Contraction, GradientsOfASmallConvolution) {
  // y0 = 10 x0 + x1, y1 = 10 x1 + x2
  const Tensor x = floats({1, 3, 1}, {1, 2, 3}), w = floats({2, 1, 1}, {10, 1}), dy = floats({1, 2, 1}, {1, 100});
  expect_floats(Node("conv_grad_input", {dy, w}).list("size", {3}).run(TENON_F32, {1, 3, 1}), {10, 1001, 100});
  expect_floats(Node("conv_grad_filter", {x, dy}).list("size", {2}).run(TENON_F32, {2, 1, 1}), {201, 302});
}

TEST(Contraction, GradientsAreTheTransposesOfConv) {
  const Tensor x = scattered({2, 6, 5, 4}, 1), w = scattered({3, 2, 2, 6}, 2);
  const auto geometry = [](Node& node) -> Node& {
    return node.list("strides", {2, 1})
        .list("low", {1, 0})
        .list("high", {2, 1})
        .list("dilation", {1, 2})
        .i64("groups", 2);
  };
  // rows: (6 + 3 - 2 - 1) / 2 + 1 = 4; columns: 5 + 1 - 2 - 1 + 1 = 4
  const Ints y_dims = {2, 4, 4, 6};
  Node forward("conv", {x, w});
  const Tensor y = geometry(forward).run(TENON_F32, y_dims), dy = scattered(y_dims, 3);
  Node input("conv_grad_input", {dy, w}), filter("conv_grad_filter", {x, dy});
  const Tensor dx = geometry(input.list("size", {6, 5})).run(TENON_F32, x.dims);
  const Tensor dw = geometry(filter.list("size", {3, 2})).run(TENON_F32, w.dims);
  EXPECT_NEAR(inner(y, dy), inner(x, dx), 1e-10);
  EXPECT_NEAR(inner(y, dy), inner(w, dw), 1e-10);
  EXPECT_GT(std::fabs(inner(y, dy)), 1e-3);
}

TEST(Contraction, ConvOverThreeSpatialAxesIsADotWhenTheFilterCoversTheInput) {
  const Tensor x = scattered({1, 2, 3, 2, 2}, 4), w = scattered({2, 3, 2, 2, 1}, 5);
  expect_floats(Node("conv", {x, w}).run(TENON_F32, {1, 1, 1, 1, 1}), {inner(x, w)}, 1e-12);
}

}  // namespace
}  // namespace tenon::reference
