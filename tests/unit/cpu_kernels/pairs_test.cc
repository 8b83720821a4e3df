// Products of bf16, whose sums go by pairs: the definition of plugins/cpu/kernels/pairs.h, bit by bit, on whatever is there.
#include <cfenv>
#include <cmath>

#include "pairs_fixture.h"

namespace tenon::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Isa, Pairs, ::testing::ValuesIn(pair_isas()), [](const auto& info) { return info.param; });

struct Size {
  int64_t m, n, k;
};

TEST_P(Pairs, ADotIsTheDefinitionBitByBit) {
  for (const Size s : {Size{3, 2, 1},
                       {7, 17, 19},
                       {16, 48, 64},
                       {13, 70, 33},
                       {50, 300, 20},
                       {97, 130, 514},
                       {1, 140, 480},
                       {4, 300, 386},
                       {5, 1100, 66}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const Halves a = numbers(s.m * s.k, -20, 20), b = numbers(s.k * s.n, -20, 20);
        const Results got = run(1, [&](NodeRun& node) {
          node.in(TENON_BF16, ta ? Dims{s.k, s.m} : Dims{s.m, s.k}, a);
          node.in(TENON_BF16, tb ? Dims{s.n, s.k} : Dims{s.k, s.n}, b);
          node.out(TENON_F32, {s.m, s.n})
              .op("dot")
              .attr_bool("ta", ta)
              .attr_bool("tb", tb)
              .attr_dtype("out", TENON_F32);
        });
        const Floats c = got.get(0);
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = 0; j < s.n; ++j) {
            const float want = sum_of_pairs(s.k, [&](int64_t k) {
              return std::pair{value(a, ta ? k * s.m + i : i * s.k + k), value(b, tb ? j * s.k + k : k * s.n + j)};
            });
            ASSERT_EQ(bits_of(c[static_cast<size_t>(i * s.n + j)]), bits_of(want))
                << s.m << 'x' << s.n << 'x' << s.k << " ta " << ta << " tb " << tb << " at " << i << ", " << j;
          }
      }
}

TEST_P(Pairs, DotsOfSeveralMatricesAreTheDefinitionBitByBit) {
  const int64_t batch = 3, m = 14, n = 40, k = 300;
  const Halves a = numbers(batch * m * k, -20, 20), b = numbers(batch * k * n, -20, 20);
  for (const auto& [ta, tb] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    const Floats c = run(1, [&, ta = ta, tb = tb](NodeRun& node) {
                       node.in(TENON_BF16, ta ? Dims{batch, k, m} : Dims{batch, m, k}, a);
                       node.in(TENON_BF16, tb ? Dims{batch, n, k} : Dims{batch, k, n}, b)
                           .out(TENON_F32, {batch, m, n})
                           .op("dot")
                           .attr_bool("ta", ta)
                           .attr_bool("tb", tb)
                           .attr_dtype("out", TENON_F32);
                     }).get(0);
    for (int64_t p = 0; p < batch; ++p)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const float want = sum_of_pairs(k, [&, ta = ta, tb = tb](int64_t t) {
            return std::pair{value(a, p * m * k + (ta ? t * m + i : i * k + t)),
                             value(b, p * k * n + (tb ? j * k + t : t * n + j))};
          });
          ASSERT_EQ(bits_of(c[static_cast<size_t>((p * m + i) * n + j)]), bits_of(want))
              << "ta " << ta << " tb " << tb << " at " << p << ", " << i << ", " << j;
        }
  }
}

// Eight parts of 264 pairs, by tiles of 272, the last one shorter, added in order.
TEST_P(Pairs, ALongSumIsThatOfItsPartsBitByBit) {
  const int64_t m = 3, n = 8, k = 4200, part = 2 * (by_tiles() ? 272 : 264);
  const Halves a = numbers(m * k, -9, 9), b = numbers(k * n, -9, 9);
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const Floats c = run(1, [&](NodeRun& node) {
                         node.in(TENON_BF16, ta ? Dims{k, m} : Dims{m, k}, a);
                         node.in(TENON_BF16, tb ? Dims{n, k} : Dims{k, n}, b)
                             .out(TENON_F32, {m, n})
                             .op("dot")
                             .attr_bool("ta", ta)
                             .attr_bool("tb", tb)
                             .attr_dtype("out", TENON_F32);
                       }).get(0);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float want = 0;
          for (int64_t first = 0; first < k; first += part)
            want += sum_of_pairs(std::min(part, k - first), [&](int64_t t) {
              const int64_t at = first + t;
              return std::pair{value(a, ta ? at * m + i : i * k + at), value(b, tb ? j * k + at : at * n + j)};
            });
          ASSERT_EQ(bits_of(c[static_cast<size_t>(i * n + j)]), bits_of(want))
              << "ta " << ta << " tb " << tb << " at " << i << ", " << j;
        }
    }
}

// What follows the sum is f32, and the result is rounded once.
TEST_P(Pairs, ADotAddsItsBiasInF32AndRoundsOnce) {
  const int64_t m = 37, n = 70, k = 48;
  const Halves a = numbers(m * k, -3, 1), b = numbers(k * n, -3, 1), bias = numbers(n, -2, 2);
  const Results got = run(1, [&](NodeRun& node) {
    node.in(TENON_BF16, {m, k}, a).in(TENON_BF16, {k, n}, b).in(TENON_BF16, {n}, bias).absent();
    node.out(TENON_BF16, {m, n}).op("dot_bias_act").attr_enum("act", TENON_ACT_RELU).attr_dtype("out", TENON_BF16);
  });
  const Halves c = got.get<uint16_t>(0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float sum = sum_of_pairs(k, [&](int64_t t) { return std::pair{value(a, i * k + t), value(b, t * n + j)}; });
      const float want = std::max(0.0f, sum + value(bias, j));
      ASSERT_EQ(c[static_cast<size_t>(i * n + j)], to_half(TENON_BF16, want)) << i << ", " << j;
    }
}

// As dropout drops of ones; the sums, what is kept and what is added are f32.
TEST_P(Pairs, ADotThatDropsAndAddsRoundsOnce) {
  for (const auto& [m, n, k] : {Size{37, 68, 48}, Size{200, 320, 16}, Size{3, 8, 2100}}) {
    const Halves a = numbers(m * k, -3, 1), b = numbers(k * n, -3, 1), residual = numbers(m * n, -2, 2);
    const auto draws = [&](NodeRun& node) {
      node.in(TENON_I64, {}, std::vector<int64_t>{5}).in(TENON_I64, {}, std::vector<int64_t>{6});
    };
    const Floats kept = run(1, [&](NodeRun& node) {
                          node.in(TENON_F32, {m, n}, Floats(static_cast<size_t>(m * n), 1));
                          draws(node);
                          node.out(TENON_F32, {m, n}).op("dropout").attr_f64("rate", 0.25).attr_i64("stream", 9);
                        }).get(0);
    const Halves c = run(1, [&](NodeRun& node) {
                       node.in(TENON_BF16, {m, k}, a).in(TENON_BF16, {k, n}, b).absent();
                       draws(node);
                       node.in(TENON_BF16, {m, n}, residual).out(TENON_BF16, {m, n});
                       node.op("cpu.dot_dropout").attr_f64("rate", 0.25).attr_i64("stream", 9);
                     }).get<uint16_t>(0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<size_t>(i * n + j);
        const float sum = sum_of_pairs(k, [&, k = k, n = n](int64_t t) {
          return std::pair{value(a, i * k + t), value(b, t * n + j)};
        });
        const float want = kept[at] * sum + from_half(TENON_BF16, residual[at]);
        ASSERT_NEAR(from_half(TENON_BF16, c[at]), want, std::abs(want) / 256 + 1e-3) << i << ", " << j;
      }
  }
}

TEST_P(Pairs, AnInfinityTimesZeroIsNoNumberAndSpreadsNoFurther) {
  const int64_t m = 9, n = 33, k = 6;
  Halves a(static_cast<size_t>(m * k), 0x3f80), b(static_cast<size_t>(k * n), 0x3f80);
  a[4 * k + 1] = 0x7f80;  // row 4
  b[1 * n + 7] = 0;       // column 7
  const Results got = run(1, [&](NodeRun& node) {
    node.in(TENON_BF16, {m, k}, a)
        .in(TENON_BF16, {k, n}, b)
        .out(TENON_F32, {m, n})
        .op("dot")
        .attr_dtype("out", TENON_F32);
  });
  const Floats c = got.get(0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float x = c[static_cast<size_t>(i * n + j)];
      if (i == 4)
        EXPECT_TRUE(j == 7 ? std::isnan(x) : x == kInf) << j;
      else
        EXPECT_EQ(x, j == 7 ? 5 : 6) << i << ", " << j;
    }
}

struct Image {
  int64_t batch, h, w, c, o, kernel, stride, dilation;
};

// Calls f(x, w, y) with the indices of the factors and the sum of each term of a SAME-like convolution.
template <class F>
void each_term(const Image& s, int64_t low, int64_t yh, int64_t yw, const F& f) {
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t i = 0; i < yh; ++i)
      for (int64_t j = 0; j < yw; ++j)
        for (int64_t a = 0; a < s.kernel; ++a)
          for (int64_t b = 0; b < s.kernel; ++b) {
            const int64_t y = i * s.stride + a * s.dilation - low, x = j * s.stride + b * s.dilation - low;
            if (y < 0 || y >= s.h || x < 0 || x >= s.w) continue;
            for (int64_t c = 0; c < s.c; ++c)
              for (int64_t o = 0; o < s.o; ++o)
                f(((n * s.h + y) * s.w + x) * s.c + c, ((a * s.kernel + b) * s.c + c) * s.o + o,
                  ((n * yh + i) * yw + j) * s.o + o);
          }
}

// Sums in f64, and of the sizes of their terms.
struct Sums {
  explicit Sums(int64_t n) : sum(static_cast<size_t>(n)), size(static_cast<size_t>(n)) {}
  void add(int64_t at, double term) {
    sum[static_cast<size_t>(at)] += term;
    size[static_cast<size_t>(at)] += std::abs(term);
  }
  void compare(const Halves& got, const char* what, const Image& s) const {
    ASSERT_EQ(got.size(), sum.size());
    for (size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(from_half(TENON_BF16, got[i]), sum[i], std::abs(sum[i]) / 256 + size[i] * 1e-5 + 1e-6)
          << what << " of " << s.batch << 'x' << s.h << 'x' << s.w << 'x' << s.c << " to " << s.o << ", " << s.kernel
          << " / " << s.stride << ", element " << i;
  }
  Doubles sum, size;
};

TEST_P(Pairs, ConvolutionsAndTheirGradientsAreTheSumsOfF64Rounded) {
  const Image images[] = {{2, 9, 7, 4, 6, 3, 1, 1},     {3, 8, 8, 2, 70, 3, 2, 1},    {1, 6, 11, 3, 5, 3, 1, 1},
                          {2, 13, 13, 10, 16, 5, 2, 1}, {4, 7, 7, 32, 24, 1, 1, 1},   {3, 10, 9, 6, 130, 1, 2, 1},
                          {5, 12, 5, 8, 8, 3, 1, 2},    {1, 40, 40, 16, 16, 3, 1, 1}, {7, 5, 5, 64, 64, 3, 1, 1},
                          {2, 30, 26, 3, 64, 7, 2, 1},  {3, 9, 8, 5, 6, 3, 1, 1},     {5, 170, 150, 3, 16, 3, 1, 1}};
  for (const Image& s : images) {
    const int64_t reach = (s.kernel - 1) * s.dilation, low = reach / 2;
    const int64_t yh = (s.h + 2 * low - reach - 1) / s.stride + 1, yw = (s.w + 2 * low - reach - 1) / s.stride + 1;
    const Dims x_dims{s.batch, s.h, s.w, s.c}, w_dims{s.kernel, s.kernel, s.c, s.o}, y_dims{s.batch, yh, yw, s.o};
    const Halves x = numbers(product(x_dims), -4, 0), w = numbers(product(w_dims), -4, 0),
                 dy = numbers(product(y_dims), -4, 0), bias = numbers(s.o, -4, 0);
    Sums forward(product(y_dims)), input(product(x_dims)), filter(product(w_dims));
    each_term(s, low, yh, yw, [&](int64_t at_x, int64_t at_w, int64_t at_y) {
      const double a = value(x, at_x), b = value(w, at_w), d = value(dy, at_y);
      forward.add(at_y, a * b);
      input.add(at_x, d * b);
      filter.add(at_w, a * d);
    });
    const auto attributes = [&](plugin::GraphBuilder& op) -> plugin::GraphBuilder& {
      op.attr_list("strides", {s.stride, s.stride}).attr_list("low", {low, low}).attr_list("high", {low, low});
      return op.attr_list("dilation", {s.dilation, s.dilation}).attr_dtype("out", TENON_BF16);
    };
    const Results y = run(1, [&](NodeRun& node) {
      node.in(TENON_BF16, x_dims, x).in(TENON_BF16, w_dims, w).out(TENON_BF16, y_dims);
      attributes(node.op("conv"));
    });
    forward.compare(y.get<uint16_t>(0), "conv", s);
    for (size_t i = 0; i < forward.sum.size(); ++i) forward.sum[i] += value(bias, static_cast<int64_t>(i) % s.o);
    const Results z = run(1, [&](NodeRun& node) {
      node.in(TENON_BF16, x_dims, x).in(TENON_BF16, w_dims, w).in(TENON_BF16, {s.o}, bias).out(TENON_BF16, y_dims);
      attributes(node.op("conv_bias_act"));
    });
    forward.compare(z.get<uint16_t>(0), "conv with a bias", s);
    const Results dx = run(1, [&](NodeRun& node) {
      node.in(TENON_BF16, y_dims, dy).in(TENON_BF16, w_dims, w).out(TENON_BF16, x_dims);
      attributes(node.op("conv_grad_input")).attr_list("size", {s.h, s.w});
    });
    input.compare(dx.get<uint16_t>(0), "conv_grad_input", s);
    const Results dw = run(1, [&](NodeRun& node) {
      node.in(TENON_BF16, x_dims, x).in(TENON_BF16, y_dims, dy).out(TENON_BF16, w_dims);
      attributes(node.op("conv_grad_filter")).attr_list("size", {s.kernel, s.kernel});
    });
    filter.compare(dw.get<uint16_t>(0), "conv_grad_filter", s);
  }
}

}  // namespace
}  // namespace tenon::testing
