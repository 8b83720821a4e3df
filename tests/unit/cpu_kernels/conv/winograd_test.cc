// 3x3 convolutions by Winograd's F(4x4, 3x3) and 5x5 ones by F(2x2, 5x5) against the definition in f64.
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)

namespace tenon::testing {
namespace {

constexpr double kUlp = 0x1p-23;

struct Conv {
  int64_t batch, h, w, c, o;
  Dims low = {1, 1}, high = {1, 1};
  bool bias = false, residual = false;
  int act = TENON_ACT_NONE;
  int64_t k = 3;
  int64_t out_h() const { return h + low[0] + high[0] - k + 1; }
  int64_t out_w() const { return w + low[1] + high[1] - k + 1; }
};

std::ostream& operator<<(std::ostream& out, const Conv& c) {
  return out << c.batch << " x " << c.h << " x " << c.w << " x " << c.c << " > " << c.o << " by " << c.k << " low "
             << c.low[0] << " " << c.low[1] << " high " << c.high[0] << " " << c.high[1];
}

// Sums of products in f64 and, beside them, of their sizes.
struct Sums {
  explicit Sums(size_t n) : sum(n), size(n) {}
  void add(size_t at, double term) {
    sum[at] += term;
    size[at] += std::abs(term);
  }
  Doubles sum, size;
};

enum Pass { kForward, kInput, kFilter };
constexpr const char* kPasses[] = {"forward", "input gradient", "filter gradient"};

class Naive {
 public:
  explicit Naive(const Conv& conv)
      : c(conv),
        x_dims{c.batch, c.h, c.w, c.c},
        y_dims{c.batch, c.out_h(), c.out_w(), c.o},
        w_dims{c.k, c.k, c.c, c.o},
        x(uniform(product(x_dims), 1)),
        w(uniform(product(w_dims), 2)),
        dy(uniform(product(y_dims), 3)),
        bias(uniform(c.o, 4)),
        residual(uniform(product(y_dims), 5)) {}

  template <class F>
  void each_term(F f) const {
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t i = 0; i < c.out_h(); ++i)
        for (int64_t j = 0; j < c.out_w(); ++j)
          for (int64_t tap = 0; tap < c.k * c.k; ++tap) {
            const int64_t p = i + tap / c.k - c.low[0], q = j + tap % c.k - c.low[1];
            if (p < 0 || p >= c.h || q < 0 || q >= c.w) continue;
            const int64_t from = ((n * c.h + p) * c.w + q) * c.c, to = ((n * c.out_h() + i) * c.out_w() + j) * c.o;
            for (int64_t a = 0; a < c.c; ++a)
              for (int64_t o = 0; o < c.o; ++o)
                f(static_cast<size_t>(from + a), static_cast<size_t>((tap * c.c + a) * c.o + o),
                  static_cast<size_t>(to + o));
          }
  }

  Sums sums(Pass pass) const {
    Sums s(static_cast<size_t>(product(pass == kForward ? y_dims : pass == kInput ? x_dims : w_dims)));
    if (pass == kInput) each_term([&](size_t a, size_t b, size_t r) { s.add(a, double(dy[r]) * w[b]); });
    if (pass == kFilter) each_term([&](size_t a, size_t b, size_t r) { s.add(b, double(x[a]) * dy[r]); });
    if (pass != kForward) return s;
    each_term([&](size_t a, size_t b, size_t r) { s.add(r, double(x[a]) * w[b]); });
    for (size_t i = 0; i < s.sum.size(); ++i) {
      if (c.bias) s.add(i, bias[i % static_cast<size_t>(c.o)]);
      if (c.residual) s.add(i, residual[i]);
      if (c.act == TENON_ACT_RELU) s.sum[i] = std::max(s.sum[i], 0.0);
      if (c.act == TENON_ACT_LEAKY_RELU) s.sum[i] = s.sum[i] > 0 ? s.sum[i] : 0.25 * s.sum[i];
    }
    return s;
  }

  void define(NodeRun& node, Pass pass, int precision) const {
    if (pass == kForward) {
      node.in(TENON_F32, x_dims, x).in(TENON_F32, w_dims, w);
      if (c.bias)
        node.in(TENON_F32, {c.o}, bias);
      else
        node.absent();
      if (c.residual) node.in(TENON_F32, y_dims, residual);
      attributes(node.out(TENON_F32, y_dims).op("conv_bias_act"), precision)
          .attr_enum("act", c.act)
          .attr_f64("alpha", 0.25);
    } else if (pass == kInput) {
      node.in(TENON_F32, y_dims, dy).in(TENON_F32, w_dims, w).out(TENON_F32, x_dims);
      attributes(node.op("conv_grad_input"), precision).attr_list("size", {c.h, c.w});
    } else {
      node.in(TENON_F32, x_dims, x).in(TENON_F32, y_dims, dy).out(TENON_F32, w_dims);
      attributes(node.op("conv_grad_filter"), precision).attr_list("size", {c.k, c.k});
    }
  }

  Conv c;
  Dims x_dims, y_dims, w_dims;
  Floats x, w, dy, bias, residual;

 private:
  plugin::GraphBuilder& attributes(plugin::GraphBuilder& op, int precision) const {
    op.attr_list("strides", {1, 1}).attr_list("low", c.low).attr_list("high", c.high).attr_list("dilation", {1, 1});
    return op.attr_i64("groups", 1).attr_dtype("out", TENON_F32).attr_enum("precision", precision);
  }
};

Floats run_on(const std::string& isa, const Naive& naive, Pass pass, uint32_t threads = 1,
              int precision = TENON_PRECISION_DEFAULT) {
  plugin::KernelTable table;
  if (isa == "avx512")
    cpu::avx512::add_convolution(table);
  else if (isa == "avx2")
    cpu::avx2::add_convolution(table);
  else
    cpu::baseline::add_convolution(table);
  NodeRun node(table);
  naive.define(node, pass, precision);
  node.run(threads);
  return node.result(0);
}

class Winograd : public ::testing::TestWithParam<std::string> {
 protected:
  template <class... Args>
  Floats run(const Args&... args) const {
    return run_on(GetParam(), args...);
  }
  static void expect_close(const Floats& got, const Sums& want, const Conv& c, Pass pass) {
    ASSERT_EQ(got.size(), want.sum.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want.sum[i], 16 * kUlp * want.size[i]) << kPasses[pass] << " of " << c << ", element " << i;
  }
};

bool has_avx512() { return wide_isas().size() > isas().size(); }
INSTANTIATE_TEST_SUITE_P(Isa, Winograd, ::testing::ValuesIn(wide_isas()), [](const auto& info) { return info.param; });

// Edges: sizes that are no multiples of a tile, pads of 0 to 2 on either side, channels beside whole vectors, several
// chunks of channels, one image and many.
std::vector<Conv> shapes() {
  return {
      {1, 16, 16, 16, 16},
      {2, 13, 11, 20, 17},
      {1, 23, 30, 35, 40, {0, 0}, {0, 0}},
      {3, 9, 10, 70, 16, {2, 1}, {1, 2}},
      {1, 18, 15, 16, 100, {2, 0}, {0, 2}},
      {20, 6, 5, 33, 24},
      {2, 14, 14, 144, 130},
      {4, 7, 7, 64, 64, {0, 2}, {2, 2}},
  };
}

std::vector<Conv> of_5x5(std::vector<Conv> all) {
  for (Conv& c : all) c.k = 5;
  return all;
}
// One image and many, of one block and of several, odd and even pads, channels beside whole groups of filters.
std::vector<Conv> shapes_of_5x5() {
  return of_5x5({
      {2, 31, 34, 12, 20, {0, 0}, {0, 0}},
      {1, 70, 130, 10, 20, {0, 0}, {0, 0}},
      {2, 27, 40, 20, 12, {2, 2}, {2, 2}},
      {3, 24, 25, 12, 33, {1, 3}, {4, 0}},
      {1, 70, 77, 12, 16, {4, 4}, {4, 4}},
      {2, 20, 61, 24, 20, {2, 1}, {2, 2}},
      {9, 22, 23, 16, 16, {3, 2}, {1, 2}},
      {10, 12, 16, 12, 24, {2, 2}, {2, 2}},
  });
}
// Too few tiles, tiles that would be empty, too few channels, pads beyond the filter.
std::vector<Conv> plain_shapes_of_5x5() {
  return of_5x5({
      {1, 14, 14, 32, 32, {2, 2}, {2, 2}},
      {20, 9, 9, 16, 16, {2, 2}, {2, 2}},
      {2, 40, 40, 3, 16},
      {2, 40, 40, 9, 9},
      {2, 28, 28, 11, 10, {2, 2}, {2, 2}},
      {1, 40, 50, 12, 16, {5, 5}, {5, 5}},
      {2, 40, 50, 12, 16, {-1, 2}, {2, 2}},
  });
}

std::vector<Conv> all_shapes() {
  std::vector<Conv> all = shapes(), more = shapes_of_5x5();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_P(Winograd, IsCloseToTheDefinition) {
  for (const Conv& c : all_shapes()) {
    const Naive naive(c);
    for (Pass pass : {kForward, kInput, kFilter}) expect_close(run(naive, pass), naive.sums(pass), c, pass);
  }
}

TEST_P(Winograd, AddsBiasAndResidualBeforeTheActivation) {
  for (int act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_LEAKY_RELU})
    for (int operands : {1, 2, 3})
      for (Conv c : {shapes()[1], shapes()[3], shapes()[7], shapes_of_5x5()[2]}) {
        c.bias = (operands & 1) != 0;
        c.residual = (operands & 2) != 0;
        c.act = act;
        const Naive naive(c);
        expect_close(run(naive, kForward), naive.sums(kForward), c, kForward);
      }
}

TEST_P(Winograd, LeavesOther5x5ToPlainSums) {
  for (const Conv& c : plain_shapes_of_5x5()) {
    const Naive naive(c);
    for (Pass pass : {kForward, kInput}) {
      const Floats found = run(naive, pass);
      expect_close(found, naive.sums(pass), c, pass);
      EXPECT_EQ(found, run(naive, pass, 1, TENON_PRECISION_HIGHEST)) << kPasses[pass] << " of " << c;
    }
  }
}

TEST_P(Winograd, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const Conv& c : all_shapes()) {
    const Naive naive(c);
    for (Pass pass : {kForward, kInput, kFilter}) {
      const Floats one = run(naive, pass);
      for (uint32_t threads : {2u, 3u, 5u}) EXPECT_EQ(run(naive, pass, threads), one) << kPasses[pass] << " of " << c;
    }
  }
}

TEST(WinogradWidth, IsNotSeenInTheBits) {
  if (!has_avx512()) GTEST_SKIP() << "needs two widths with fused multiply-adds";
  for (Conv c : all_shapes()) {
    c.bias = c.c % 3 != 0;
    c.residual = c.bias && c.k == 3;
    const Naive naive(c);
    for (Pass pass : {kForward, kInput, kFilter})
      EXPECT_EQ(run_on("avx512", naive, pass), run_on("avx2", naive, pass)) << kPasses[pass] << " of " << c;
  }
}

// A bias that leaves nothing of the sums but the error of rounding shows whether their last product is rounded before it is
// added.
TEST(WinogradWidth, IsNotSeenInSmallDifferencesOfBf16) {
  if (!has_avx512()) GTEST_SKIP() << "needs two widths with fused multiply-adds";
  constexpr uint16_t k77Parts = 0x3e9a, kOne = 0x3f80, kMinusOne = 0xbf80,
                     kMinusSum = 0xc21a;                                   // 77 / 256, 1, -1, -38.5
  constexpr size_t kChannels = 16, kTerms = 9 * kChannels, kNegative = 8;  // 38.5 = (144 - 16) 77 / 256
  const Dims map{1, 16, 16, kChannels}, w_dims{3, 3, kChannels, kChannels};
  std::vector<uint16_t> w(kTerms * kChannels, kOne);
  for (size_t o = 0; o < kChannels; ++o)
    for (size_t i = 0; i < kNegative; ++i) w[(o * 5 + i * 17) % kTerms * kChannels + o] = kMinusOne;
  const auto run = [&](const char* isa) {
    plugin::KernelTable table;
    (std::string(isa) == "avx512" ? cpu::avx512::add_convolution : cpu::avx2::add_convolution)(table);
    NodeRun node(table);
    node.in(TENON_BF16, map, std::vector<uint16_t>(16 * 16 * kChannels, k77Parts)).in(TENON_BF16, w_dims, w);
    node.in(TENON_BF16, {kChannels}, std::vector<uint16_t>(kChannels, kMinusSum)).out(TENON_BF16, map);
    plugin::GraphBuilder& conv = node.op("conv_bias_act").attr_list("strides", {1, 1}).attr_list("dilation", {1, 1});
    conv.attr_list("low", {1, 1}).attr_list("high", {1, 1}).attr_i64("groups", 1);
    node.run(1);
    return node.result<uint16_t>(0);
  };
  EXPECT_EQ(run("avx512"), run("avx2"));
}

// Plain sums keep an infinity where its taps reach; the transforms spread it as NaN over its tile.
TEST_P(Winograd, IsNotForTheHighestPrecision) {
  for (const Conv& c : all_shapes()) {
    Naive naive(c);
    naive.x[static_cast<size_t>((c.h / 2 * c.w + c.w / 2) * c.c)] = kInf;
    naive.dy[static_cast<size_t>((c.out_h() / 2 * c.out_w() + c.out_w() / 2) * c.o)] = kInf;
    for (Pass pass : {kForward, kInput}) {
      const Doubles want = naive.sums(pass).sum;
      const auto equal_in_kind = [&](int precision) {
        const Floats got = run(naive, pass, 1, precision);
        for (size_t i = 0; i < got.size(); ++i)
          if (std::isfinite(want[i]) != std::isfinite(got[i])) return false;
        return true;
      };
      EXPECT_TRUE(equal_in_kind(TENON_PRECISION_HIGHEST)) << kPasses[pass] << " of " << c;
      // Every point of a tile of 2 x 2 results is a tap of all of its results that it may spread to.
      EXPECT_EQ(equal_in_kind(TENON_PRECISION_HIGH), c.k == 5) << kPasses[pass] << " of " << c;
    }
    const Naive finite(c);
    for (Pass pass : {kForward, kInput, kFilter}) {
      const Floats exact = run(finite, pass, 1, TENON_PRECISION_HIGHEST);
      EXPECT_EQ(run(finite, pass) == exact, c.k == 5 && pass == kFilter) << kPasses[pass] << " of " << c;
    }
  }
}

}  // namespace
}  // namespace tenon::testing
