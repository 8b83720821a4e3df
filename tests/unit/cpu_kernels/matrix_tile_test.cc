// Products and convolutions of bf16 by tiles of AMX: the definition of plugins/cpu/kernels/gemm/tiles/matrix_tile.h, bit by bit, at all
// edges of tiles. Nothing runs where there are none.
#include <cmath>

#include "pairs_fixture.h"

namespace tenon::testing {
namespace {

std::vector<std::string> tile_isas() {
  return pair_isas().back() == "amx" ? std::vector<std::string>{"amx"} : std::vector<std::string>{};
}

class MatrixTiles : public Pairs {
 protected:
  Floats dot(const Halves& a, const Halves& b, int64_t m, int64_t n, int64_t k) {
    return run(1,
               [&](NodeRun& node) {
                 node.in(TENON_BF16, {m, k}, a).in(TENON_BF16, {k, n}, b).out(TENON_F32, {m, n});
                 node.op("dot").attr_dtype("out", TENON_F32);
               })
        .get(0);
  }
  void expect_definition(const Halves& a, const Halves& b, int64_t m, int64_t n, int64_t k) {
    const Floats c = dot(a, b, m, n, k);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const float got = c[static_cast<size_t>(i * n + j)],
                    want = sum_of_pairs(k, [&](int64_t t) {
                      return std::pair{value(a, i * k + t), value(b, t * n + j)};
                    });
        if (std::isnan(want) && std::isnan(got)) continue;
        ASSERT_EQ(bits_of(got), bits_of(want)) << m << 'x' << n << 'x' << k << " at " << i << ", " << j;
      }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MatrixTiles);
INSTANTIATE_TEST_SUITE_P(Isa, MatrixTiles, ::testing::ValuesIn(tile_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(MatrixTiles, AnyNumberOfRowsGivesTheDefinition) {
  for (int64_t m = 1; m <= 40; ++m) expect_definition(numbers(m * 70, -20, 20), numbers(70 * 36, -20, 20), m, 36, 70);
}

TEST_P(MatrixTiles, AnyNumberOfColumnsGivesTheDefinition) {
  for (int64_t n = 1; n <= 70; ++n) expect_definition(numbers(19 * 66, -20, 20), numbers(66 * n, -20, 20), 19, n, 66);
}

TEST_P(MatrixTiles, AnyDepthGivesTheDefinition) {
  for (int64_t k : {1, 2, 3, 15, 16, 17, 30, 31, 32, 33, 34, 63, 64, 65, 383, 384, 385, 386, 800, 1333})
    expect_definition(numbers(33 * k, -20, 20), numbers(k * 17, -20, 20), 33, 17, k);
}

// Products and sums that leave the normal numbers on either side.
TEST_P(MatrixTiles, NumbersOfAnySizeGiveTheDefinition) {
  for (const auto& [low, high] : {std::pair{-126, -50}, {-126, 127}, {40, 127}})
    expect_definition(numbers(40 * 96, low, high), numbers(96 * 48, low, high), 40, 48, 96);
}

TEST_P(MatrixTiles, InfinitiesAndNotANumberSpreadAsTheDefinitionSays) {
  const int64_t m = 35, n = 40, k = 77;
  Halves a = numbers(m * k, -3, 3), b = numbers(k * n, -3, 3);
  a[3 * k + 76] = 0x7f80, a[20 * k + 5] = 0xff80, a[34 * k] = 0x7fc0, b[76 * n + 39] = 0xff80;
  expect_definition(a, b, m, n, k);
}

struct SmallImage {
  int64_t batch, h, w, c, o;
};
constexpr SmallImage kImages[] = {
    {1, 9, 7, 4, 6}, {2, 6, 40, 8, 70}, {1, 16, 16, 32, 16}, {2, 3, 5, 48, 33}, {2, 8, 8, 64, 64}};

// The index in an image [h, w] that a 3 x 3 tap reads at (i, j); -1 outside it.
int64_t neighbour(const SmallImage& s, int64_t i, int64_t j, int64_t tap) {
  const int64_t y = i + tap / 3 - 1, x = j + tap % 3 - 1;
  return y < 0 || y >= s.h || x < 0 || x >= s.w ? -1 : y * s.w + x;
}

plugin::GraphBuilder& same_size(plugin::GraphBuilder& op) {
  op.attr_list("strides", {1, 1}).attr_list("low", {1, 1}).attr_list("high", {1, 1});
  return op.attr_list("dilation", {1, 1}).attr_dtype("out", TENON_BF16);
}

TEST_P(MatrixTiles, AConvolutionSumsTapsAndTheirChannelsInOrder) {
  for (const SmallImage& s : kImages) {
    const Halves x = numbers(s.batch * s.h * s.w * s.c, -9, 9), w = numbers(9 * s.c * s.o, -9, 9);
    const Halves y = run(1, [&](NodeRun& node) {
                       node.in(TENON_BF16, {s.batch, s.h, s.w, s.c}, x).in(TENON_BF16, {3, 3, s.c, s.o}, w);
                       same_size(node.out(TENON_BF16, {s.batch, s.h, s.w, s.o}).op("conv"));
                     }).get<uint16_t>(0);
    for (int64_t p = 0; p < s.batch * s.h * s.w; ++p)
      for (int64_t o = 0; o < s.o; ++o) {
        const int64_t image = p / (s.h * s.w), i = p / s.w % s.h, j = p % s.w;
        const float want = sum_of_pairs(9 * s.c, [&](int64_t t) {
          const int64_t at = neighbour(s, i, j, t / s.c);
          return std::pair{at < 0 ? 0 : value(x, (image * s.h * s.w + at) * s.c + t % s.c), value(w, t * s.o + o)};
        });
        ASSERT_EQ(y[static_cast<size_t>(p * s.o + o)], to_half(TENON_BF16, want)) << s.w << 'x' << s.c << " at " << p;
      }
  }
}

// A word holds the elements of two images; of a missing one zeros.
TEST_P(MatrixTiles, AFiltersGradientSumsPointsOfTwoImagesInOrder) {
  for (const SmallImage& s : kImages) {
    const int64_t points = s.h * s.w;
    const Halves x = numbers(s.batch * points * s.c, -9, 9), dy = numbers(s.batch * points * s.o, -9, 9);
    const Halves dw =
        run(1, [&](NodeRun& node) {
          node.in(TENON_BF16, {s.batch, s.h, s.w, s.c}, x).in(TENON_BF16, {s.batch, s.h, s.w, s.o}, dy);
          same_size(node.out(TENON_BF16, {3, 3, s.c, s.o}).op("conv_grad_filter")).attr_list("size", {3, 3});
        }).get<uint16_t>(0);
    for (int64_t t = 0; t < 9; ++t)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t o = 0; o < s.o; ++o) {
          const float want = sum_of_pairs(2 * points, [&](int64_t k) {
            const int64_t image = k % 2, p = k / 2, at = neighbour(s, p / s.w, p % s.w, t);
            if (at < 0 || image >= s.batch) return std::pair{0.0f, 0.0f};
            return std::pair{value(x, (image * points + at) * s.c + c), value(dy, (image * points + p) * s.o + o)};
          });
          ASSERT_EQ(dw[static_cast<size_t>((t * s.c + c) * s.o + o)], to_half(TENON_BF16, want))
              << s.w << 'x' << s.c << " tap " << t << " channels " << c << ", " << o;
        }
  }
}

}  // namespace
}  // namespace tenon::testing
