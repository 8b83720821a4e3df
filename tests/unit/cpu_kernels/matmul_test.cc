#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_matmul)

namespace tenon::testing {
namespace {

class MatMul : public IsaTest {
 protected:
  MatMul() { TENON_USE_WIDE_FAMILY(add_matmul); }
};
INSTANTIATE_TEST_SUITE_P(Isa, MatMul, ::testing::ValuesIn(wide_isas()), [](const auto& info) { return info.param; });

struct Product {
  Dims batch;
  int64_t m, n, k;
  bool ta = false, tb = false, bias = false, residual = false;
  int act = TENON_ACT_NONE;
};

double act_of(int act, double x) {
  switch (act) {
    case TENON_ACT_RELU:
      return x > 0 ? x : 0;
    case TENON_ACT_RELU6:
      return std::min(std::max(x, 0.0), 6.0);
    case TENON_ACT_LEAKY_RELU:
      return x > 0 ? x : 0.3 * x;
    case TENON_ACT_SIGMOID:
      return 1 / (1 + std::exp(-x));
    case TENON_ACT_TANH:
      return std::tanh(x);
    case TENON_ACT_GELU:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    default:
      return x;
  }
}

Dims matrix(Dims batch, int64_t rows, int64_t columns, bool transposed) {
  batch.push_back(transposed ? columns : rows);
  batch.push_back(transposed ? rows : columns);
  return batch;
}

class NaiveDot {
 public:
  explicit NaiveDot(const Product& p) : p_(p) {
    for (int64_t d : p.batch) batches_ *= d;
    a = uniform(batches_ * p.m * p.k, 1);
    b = uniform(batches_ * p.k * p.n, 2);
    bias = uniform(p.n, 3);
    residual = uniform(batches_ * p.m * p.n, 4);
  }
  void define(NodeRun& node) const {
    node.in(TENON_F32, matrix(p_.batch, p_.m, p_.k, p_.ta), a);
    node.in(TENON_F32, matrix(p_.batch, p_.k, p_.n, p_.tb), b);
    const Dims c = matrix(p_.batch, p_.m, p_.n, false);
    const bool plain = !p_.bias && !p_.residual && p_.act == TENON_ACT_NONE;
    if (p_.bias)
      node.in(TENON_F32, {p_.n}, bias);
    else if (!plain)
      node.absent();
    if (p_.residual)
      node.in(TENON_F32, c, residual);
    else if (!plain)
      node.absent();
    node.out(TENON_F32, c);
    auto& op = node.op(plain ? "dot" : "dot_bias_act").attr_bool("ta", p_.ta).attr_bool("tb", p_.tb);
    op.attr_dtype("out", TENON_F32);
    if (!plain) op.attr_enum("act", p_.act).attr_f64("alpha", 0.3);
  }
  void compare(const Floats& c) const {
    for (int64_t e = 0; e < static_cast<int64_t>(c.size()); ++e) {
      const int64_t j = e % p_.n, i = e / p_.n % p_.m, at = e / (p_.n * p_.m);
      double sum = p_.bias ? bias[static_cast<size_t>(j)] : 0, size = std::abs(sum);
      for (int64_t k = 0; k < p_.k; ++k) {
        const double x = a[static_cast<size_t>(at * p_.m * p_.k + (p_.ta ? k * p_.m + i : i * p_.k + k))];
        const double y = b[static_cast<size_t>(at * p_.n * p_.k + (p_.tb ? j * p_.k + k : k * p_.n + j))];
        sum += x * y;
        size += std::abs(x * y);
      }
      if (p_.residual) sum += residual[static_cast<size_t>(e)], size += 1;
      const double bound = static_cast<double>(p_.k + 4) * 0x1p-24 * size + 1e-6;
      ASSERT_NEAR(c[static_cast<size_t>(e)], act_of(p_.act, sum), bound)
          << p_.m << 'x' << p_.n << 'x' << p_.k << " ta " << p_.ta << " tb " << p_.tb << " element " << e;
    }
  }
  Floats a, b, bias, residual;

 private:
  Product p_;
  int64_t batches_ = 1;
};

TEST_P(MatMul, EqualsADoubleSumForEveryTransposition) {
  const Dims sizes[] = {{1, 1, 1},     {1, 7, 5},      {1, 300, 70},   {9, 1, 40},    {700, 1, 33}, {5, 3, 2},
                        {16, 16, 4},   {16, 3, 16},    {6, 16, 64},    {7, 17, 19},   {13, 25, 31}, {8, 8, 200},
                        {64, 10, 784}, {100, 40, 300}, {97, 130, 513}, {50, 300, 20}, {3, 90, 600}, {200, 24, 7}};
  for (const Dims& s : sizes)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        const Product p{{}, s[0], s[1], s[2], ta, tb};
        const NaiveDot naive(p);
        naive.compare(run(1, [&](NodeRun& node) { naive.define(node); }).get(0));
      }
}

TEST_P(MatMul, AddsBiasAndResidualBeforeTheActivation) {
  for (int act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_RELU6, TENON_ACT_LEAKY_RELU, TENON_ACT_SIGMOID,
                  TENON_ACT_TANH, TENON_ACT_GELU})
    for (const Dims& s : {Dims{5, 19, 7}, Dims{33, 50, 280}, Dims{1, 50, 30}, Dims{40, 1, 30}, Dims{90, 45, 600}})
      for (int operands : {1, 2, 3}) {
        const Product p{{}, s[0], s[1], s[2], false, operands == 2, (operands & 1) != 0, (operands & 2) != 0, act};
        const NaiveDot naive(p);
        naive.compare(run(1, [&](NodeRun& node) { naive.define(node); }).get(0));
      }
}

TEST_P(MatMul, RepeatsOverLeadingDimensions) {
  for (const Dims& s : {Dims{4, 6, 5}, Dims{32, 32, 16}, Dims{1, 9, 8}, Dims{3, 1, 8}, Dims{50, 70, 300}})
    for (bool tb : {false, true}) {
      const Product p{{2, 3}, s[0], s[1], s[2], !tb, tb};
      const NaiveDot naive(p);
      naive.compare(run(1, [&](NodeRun& node) { naive.define(node); }).get(0));
    }
}

TEST_P(MatMul, GivesLargeProductsTheBitsOfNarrowVectorsHoweverThreadsShareThem) {
  if (GetParam() == "baseline") GTEST_SKIP() << "has no fused multiply-add";
  plugin::KernelTable narrow;
  cpu::avx2::add_matmul(narrow);
  for (const Dims& s : {Dims{130, 65, 70}, Dims{300, 530, 130}, Dims{97, 130, 513}, Dims{110, 1060, 300}})
    for (const bool ta : {false, true})
      for (const bool more : {false, true}) {
        const Product p{{}, s[0], s[1], s[2], ta, ta != more, more, more, more ? TENON_ACT_GELU : TENON_ACT_NONE};
        const NaiveDot naive(p);
        const auto on = [&](const plugin::KernelTable& table, uint32_t threads) {
          NodeRun node(table);
          naive.define(node);
          node.run(threads);
          return node.result(0);
        };
        const Floats one = on(narrow, 1);
        naive.compare(one);
        for (const uint32_t threads : {1u, 2u, 3u, 6u}) EXPECT_EQ(on(table_, threads), one) << threads << " threads";
      }
}

// Few rows beside more weights than caches keep: C of a transposed B, and sums of many terms, which are split. Edges:
// columns and terms that are no multiples of a tile, rows that do not fill vectors, the last elements of B.
TEST_P(MatMul, StreamsManyWeightsPastFewRows) {
  plugin::KernelTable narrow;
  cpu::avx2::add_matmul(narrow);
  const Product products[] = {{{}, 32, 1037, 261, false, true},
                              {{}, 14, 4099, 67, false, true},
                              {{}, 8, 270, 1001, false, true},
                              {{}, 29, 1030, 262, false, true},
                              {{}, 32, 60, 5003},
                              {{}, 16, 300, 2050},
                              {{}, 31, 45, 7001, false, false, true}};
  for (Product p : products)
    for (const bool residual : {false, true})
      for (const int act : {TENON_ACT_NONE, TENON_ACT_RELU, TENON_ACT_SIGMOID}) {
        p.act = act;
        p.bias = p.bias || act == TENON_ACT_RELU;
        p.residual = residual;
        const NaiveDot naive(p);
        const Floats found = run(1, [&](NodeRun& node) { naive.define(node); }).get(0);
        naive.compare(found);
        if (GetParam() == "baseline" || act == TENON_ACT_SIGMOID) continue;
        NodeRun node(narrow);
        naive.define(node);
        node.run(1);
        EXPECT_EQ(found, node.result(0)) << p.m << 'x' << p.n << 'x' << p.k;
      }
}

TEST_P(MatMul, KeepsWhatIsNotFiniteInItsRowOfFew) {
  for (const bool tb : {true, false}) {
    const int64_t m = 16, n = tb ? 5003 : 60, k = tb ? 60 : 5003;
    Floats a(static_cast<size_t>(m * k), 1), b(static_cast<size_t>(k * n), 0.25f);
    a[static_cast<size_t>(3 * k + 5)] = kNaN;
    a[static_cast<size_t>(7 * k + k - 1)] = kInf;
    a[static_cast<size_t>(9 * k)] = -kInf;
    const Floats c = run(1, [&](NodeRun& node) {
                       node.in(TENON_F32, {m, k}, a).in(TENON_F32, tb ? Dims{n, k} : Dims{k, n}, b).absent().absent();
                       auto& op = node.out(TENON_F32, {m, n}).op("dot_bias_act").attr_bool("tb", tb);
                       op.attr_bool("ta", false).attr_dtype("out", TENON_F32).attr_enum("act", TENON_ACT_RELU);
                     }).get(0);
    for (int64_t i = 0; i < m * n; ++i) {
      const float x = c[static_cast<size_t>(i)];
      const int64_t row = i / n;
      if (row == 3)
        ASSERT_TRUE(std::isnan(x)) << i;
      else
        ASSERT_EQ(x, row == 7 ? kInf : row == 9 ? 0 : 0.25f * static_cast<float>(k)) << i;
    }
  }
}

TEST_P(MatMul, SplitsALongSumWithoutLosingATerm) {
  for (bool residual : {false, true}) {
    const Product p{{}, 9, 20, 5003, true, false, residual, residual, residual ? TENON_ACT_RELU : TENON_ACT_NONE};
    const NaiveDot naive(p);
    naive.compare(run(1, [&](NodeRun& node) { naive.define(node); }).get(0));
  }
}

TEST_P(MatMul, RoundsSixteenBitResultsOnce) {
  // 1 + 2^-7 (256 terms of 2^-15) in bf16: sums kept in bf16 would stay at 1.
  const std::vector<uint16_t> a(257, 0x3f80);
  std::vector<uint16_t> b(257, 0x3800);
  b[0] = 0x3f80;
  const auto c = run(1, [&](NodeRun& node) {
    node.in(TENON_BF16, {1, 257}, a)
        .in(TENON_BF16, {257, 1}, b)
        .out(TENON_BF16, {1, 1})
        .op("dot")
        .attr_dtype("out", TENON_BF16);
  });
  EXPECT_EQ(c.get<uint16_t>(0)[0], 0x3f81);
  const auto wide = run(1, [&](NodeRun& node) {
    node.in(TENON_BF16, {1, 257}, a)
        .in(TENON_BF16, {257, 1}, b)
        .out(TENON_F32, {1, 1})
        .op("dot")
        .attr_dtype("out", TENON_F32);
  });
  EXPECT_EQ(wide.get(0)[0], 1 + 0x1p-7f);
}

TEST_P(MatMul, ComputesHalvesInF32) {
  const std::vector<uint16_t> a = {0x4200, 0x3c00}, b = {0x4400, 0x3800};  // 3, 1; 4, 0.5
  const auto c = run(1, [&](NodeRun& node) {
    node.in(TENON_F16, {1, 2}, a).in(TENON_F16, {1, 2}, b).out(TENON_F16, {1, 1}).op("dot").attr_bool("tb", true);
  });
  EXPECT_EQ(c.get<uint16_t>(0)[0], 0x4a40);  // 12.5
}

TEST_P(MatMul, KeepsDoublesDouble) {
  const std::vector<double> a = {1, 0x1p-40, 2, 3}, b = {1, 1, 5, 7}, bias = {0.5, 0};
  const auto c = run(1, [&](NodeRun& node) {
    node.in(TENON_F64, {2, 2}, a).in(TENON_F64, {2, 2}, b).in(TENON_F64, {2}, bias).out(TENON_F64, {2, 2});
    node.op("dot_bias_act").attr_bool("tb", true).attr_enum("act", TENON_ACT_RELU);
  });
  EXPECT_EQ(c.get<double>(0), (std::vector<double>{1.5 + 0x1p-40, 5 + 7 * 0x1p-40, 5.5, 31}));
}

TEST_P(MatMul, LetsNaNThroughRelu) {
  const auto c = run(1, [&](NodeRun& node) {
    node.in(TENON_F32, {2, 2}, Floats{NAN, 0, 1, -2}).in(TENON_F32, {2, 2}, Floats{1, 0, 0, 1});
    node.out(TENON_F32, {2, 2}).op("dot_bias_act").attr_enum("act", TENON_ACT_RELU);
  });
  EXPECT_TRUE(std::isnan(c.get(0)[0]));
  EXPECT_EQ(c.get(0)[2], 1);
  EXPECT_EQ(c.get(0)[3], 0);
}

TEST_P(MatMul, RefusesIntegers) {
  plugin::GraphBuilder builder;
  const uint32_t a = builder.input(TENON_I32, {2, 2}, TENON_ROLE_FEED), c = builder.value(TENON_I32, {2, 2});
  builder.node("dot", {a, a}, {c});
  const plugin::FlatGraph flat = builder.build();
  const plugin::GraphView graph(*flat.graph());
  EXPECT_EQ(table_.find("dot", 1)->accept(graph.node(0)).answer, TENON_REFUSE);
}

}  // namespace
}  // namespace tenon::testing
