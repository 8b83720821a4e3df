#include <algorithm>

#include "float_bits.h"
#include "isa_test.h"

TENON_WIDE_FAMILY_FIXTURE(Softmax, add_softmax)

namespace tenon::testing {
namespace {

struct Line {
  Dims dims;
  int64_t axis;
};
const std::vector<Line> kLines = {{{1}, 0},          {{7}, 0},         {{3, 10}, 1},    {{3, 10}, 0},
                                  {{5, 1}, 1},       {{2, 9, 3}, 1},   {{33, 1003}, 1}, {{2, 31, 133}, 1},
                                  {{64, 64, 16}, 2}, {{17, 1, 64}, 0}, {{2, 32003}, 1}};

// Calls f(first element, step, n) for each line along the axis.
template <class F>
void each_line(const Line& l, F f) {
  const auto a = static_cast<size_t>(l.axis);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < l.dims.size(); ++i) (i < a ? outer : inner) *= i == a ? 1 : l.dims[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) f(o * l.dims[a] * inner + i, inner, l.dims[a]);
}

Doubles naive_softmax(const Line& l, const Floats& x, bool log) {
  Doubles y(x.size());
  each_line(l, [&](int64_t at, int64_t step, int64_t n) {
    double max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; ++k) max = std::max<double>(max, x[static_cast<size_t>(at + k * step)]);
    for (int64_t k = 0; k < n; ++k) sum += std::exp(x[static_cast<size_t>(at + k * step)] - max);
    for (int64_t k = 0; k < n; ++k) {
      const double d = x[static_cast<size_t>(at + k * step)] - max;
      y[static_cast<size_t>(at + k * step)] = log ? d - std::log(sum) : std::exp(d) / sum;
    }
  });
  return y;
}

TEST_P(Softmax, EqualsTheDefinitionAlongAnyAxis) {
  for (const Line& l : kLines) {
    const Floats x = random(product(l.dims), -30, 30);
    for (const char* op : {"softmax", "log_softmax"}) {
      const auto y = run(
          1, [&](NodeRun& n) { n.in(TENON_F32, l.dims, x).out(TENON_F32, l.dims).op(op).attr_i64("axis", l.axis); });
      expect_near(y.get(0), naive_softmax(l, x, op[0] == 'l'), 2e-6);
    }
  }
}

TEST_P(Softmax, GradientsEqualTheDefinition) {
  for (const Line& l : kLines) {
    const Floats x = random(product(l.dims), -3, 3), dy = random(product(l.dims));
    for (bool log : {false, true}) {
      const Doubles y = naive_softmax(l, x, log);
      Doubles want(y.size());
      each_line(l, [&](int64_t at, int64_t step, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          const auto i = static_cast<size_t>(at + k * step);
          sum += dy[i] * (log ? 1 : y[i]);
        }
        for (int64_t k = 0; k < n; ++k) {
          const auto i = static_cast<size_t>(at + k * step);
          want[i] = log ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum);
        }
      });
      const auto dx = run(1, [&](NodeRun& n) {
        n.in(TENON_F32, l.dims, dy)
            .in(TENON_F32, l.dims, Floats(y.begin(), y.end()))
            .out(TENON_F32, l.dims)
            .op(log ? "log_softmax_grad" : "softmax_grad")
            .attr_i64("axis", l.axis);
      });
      expect_near(dx.get(0), want, 1e-5);
    }
  }
}

TEST_P(Softmax, HugeArgumentsStayFiniteAndNanSpreadsOverItsRow) {
  Floats x = {1e30f, -1e30f, 0, -std::numeric_limits<float>::infinity(), 1, kNaN, 2, 3};
  const Floats y = run(1, [&](NodeRun& n) {
                     n.in(TENON_F32, {2, 4}, x).out(TENON_F32, {2, 4}).op("softmax").attr_i64("axis", 1);
                   }).get(0);
  EXPECT_EQ(Floats(y.begin(), y.begin() + 4), (Floats{1, 0, 0, 0}));
  for (int i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(y[static_cast<size_t>(i)]));
  Floats columns(3 * 9, 1.f);
  columns[9 + 4] = kNaN;
  const Floats z = run(1, [&](NodeRun& n) {
                     n.in(TENON_F32, {3, 9}, columns).out(TENON_F32, {3, 9}).op("softmax").attr_i64("axis", 0);
                   }).get(0);
  for (size_t i = 0; i < z.size(); ++i) EXPECT_EQ(std::isnan(z[i]), i % 9 == 4);
}

TEST_P(Softmax, LogsumexpEqualsTheDefinitionAlongAnyAxis) {
  for (const Line& l : kLines) {
    if (l.dims[static_cast<size_t>(l.axis)] > 20000) continue;  // few long lines are left to `reduce`
    const Floats x = random(product(l.dims), -30, 30);
    Dims rows = l.dims;
    rows.erase(rows.begin() + l.axis);
    Doubles want;
    each_line(l, [&](int64_t at, int64_t step, int64_t n) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += std::exp(static_cast<double>(x[static_cast<size_t>(at + k * step)]));
      want.push_back(std::log(sum));
    });
    const auto y = run(1, [&](NodeRun& n) {
      n.in(TENON_F32, l.dims, x).out(TENON_F32, rows).op("logsumexp").attr_list("axes", {l.axis});
    });
    expect_near(y.get(0), want, 2e-6);
  }
}

TEST_P(Softmax, LogsumexpOfInfinitiesIsInfiniteAndOfNanNan) {
  const float inf = std::numeric_limits<float>::infinity();
  const Floats rows = {-inf, -inf, -inf, -inf, 2, -inf, inf, 0, -inf, inf, inf, 1, inf, kNaN, -inf};
  Floats columns;
  for (size_t i = 0; i < 3; ++i)
    for (size_t r = 0; r < 5; ++r) columns.push_back(rows[3 * r + i]);
  const auto of = [&](const Dims& dims, const Floats& x, int64_t axis) {
    return run(1,
               [&](NodeRun& n) {
                 n.in(TENON_F32, dims, x).out(TENON_F32, {5}).op("logsumexp").attr_list("axes", {axis});
               })
        .get(0);
  };
  expect_near(of({5, 3}, rows, 1), Floats{-inf, 2, inf, inf, kNaN}, 0);
  expect_near(of({3, 5}, columns, 0), Floats{-inf, 2, inf, inf, kNaN}, 0);
}

TEST_P(Softmax, NarrowRowsAreRoundedOnce) {
  const std::vector<uint16_t> zeros(4, 0);
  for (int32_t t : {TENON_BF16, TENON_F16})
    EXPECT_EQ(
        run(1, [&](NodeRun& n) { n.in(t, {4}, zeros).out(t, {4}).op("softmax").attr_i64("axis", 0); }).get<uint16_t>(0),
        std::vector<uint16_t>(4, t == TENON_BF16 ? 0x3E80 : 0x3400));
}

// ---- cross entropy ----

struct Entropy {
  Floats x;
  Dims lead;
  int64_t v;
  Doubles t, loss, lse, dx;
};

// t given; dloss = 1 + row.
Entropy entropy(const Floats& x, const Dims& lead, int64_t v, const Doubles& t) {
  Entropy e{x, lead, v, t, {}, {}, Doubles(x.size())};
  for (int64_t r = 0; r < product(lead); ++r) {
    const auto at = static_cast<size_t>(r * v);
    double max = -INFINITY, sum = 0, total = 0, dot = 0;
    for (size_t i = at; i < at + static_cast<size_t>(v); ++i) max = std::max<double>(max, x[i]);
    for (size_t i = at; i < at + static_cast<size_t>(v); ++i)
      sum += std::exp(x[i] - max), total += t[i], dot += t[i] * x[i];
    e.lse.push_back(max + std::log(sum));
    e.loss.push_back(total * e.lse.back() - dot);
    for (size_t i = at; i < at + static_cast<size_t>(v); ++i)
      e.dx[i] = static_cast<double>(1 + r) * (total * std::exp(x[i] - e.lse.back()) - t[i]);
  }
  return e;
}
Floats row_gradients(int64_t rows) {
  Floats g;
  for (int64_t r = 0; r < rows; ++r) g.push_back(static_cast<float>(1 + r));
  return g;
}

TEST_P(Softmax, CrossEntropyOfIntegerLabels) {
  for (const auto& [lead, v] :
       std::vector<std::pair<Dims, int64_t>>{{{}, 5}, {{1}, 1}, {{64}, 10}, {{3, 4}, 17}, {{7}, 1000}, {{5}, 32003}}) {
    for (const auto& [on, off] : std::vector<std::pair<double, double>>{{1, 0}, {0.9, 0.1 / static_cast<double>(v)}}) {
      const int64_t rows = product(lead);
      const Floats x = random(rows * v, -5, 5);
      const Ints label = random_ints(rows, 0, static_cast<int32_t>(v) - 1);
      Doubles t(x.size(), off);
      for (int64_t r = 0; r < rows; ++r) t[static_cast<size_t>(r * v + label[static_cast<size_t>(r)])] = on;
      const Entropy e = entropy(x, lead, v, t);
      Dims dims = lead;
      dims.push_back(v);
      const Results f = run(2, [&](NodeRun& n) {
        n.in(TENON_F32, dims, x)
            .in(TENON_I32, lead, label)
            .out(TENON_F32, lead)
            .out(TENON_F32, lead)
            .op("softmax_cross_entropy")
            .attr_f64("on", on)
            .attr_f64("off", off)
            .attr_i64("ignore", -1);
      });
      expect_near(f.get(0), e.loss, 5e-6);
      expect_near(f.get(1), e.lse, 2e-6);
      const std::vector<int64_t> wide(label.begin(), label.end());
      const Results b = run(1, [&](NodeRun& n) {
        n.in(TENON_F32, lead, row_gradients(rows))
            .in(TENON_F32, dims, x)
            .in(TENON_I64, lead, wide)
            .in(TENON_F32, lead, f.get(1))
            .out(TENON_F32, dims)
            .op("softmax_cross_entropy_grad")
            .attr_f64("on", on)
            .attr_f64("off", off)
            .attr_i64("ignore", -1);
      });
      expect_near(b.get(0), e.dx, 2e-5);
    }
  }
}

// Logits and their gradient in bf16, all else in f32: each rounded once.
TEST_P(Softmax, CrossEntropyOfNarrowLogitsIsThatOfTheirValues) {
  for (const int32_t to : {TENON_BF16, TENON_F32})
    for (const int64_t v : {1, 19, 1000}) {
      const Dims lead = {5}, dims = {5, v};
      const auto bits = to_halves(TENON_BF16, random(5 * v, -5, 5));
      const Floats x = from_halves(TENON_BF16, bits);
      const Ints label = random_ints(5, 0, static_cast<int32_t>(v) - 1);
      Doubles t(x.size(), 0);
      for (int64_t r = 0; r < 5; ++r) t[static_cast<size_t>(r * v + label[static_cast<size_t>(r)])] = 1;
      const Entropy e = entropy(x, lead, v, t);
      const Results f = run(2, [&](NodeRun& n) {
        n.in(TENON_BF16, dims, bits).in(TENON_I32, lead, label).out(TENON_F32, lead).out(TENON_F32, lead);
        n.op("softmax_cross_entropy").attr_f64("on", 1);
      });
      expect_near(f.get(0), e.loss, 5e-6);
      const Results b = run(1, [&](NodeRun& n) {
        n.in(TENON_F32, lead, row_gradients(5)).in(TENON_BF16, dims, bits).in(TENON_I32, lead, label);
        n.in(TENON_F32, lead, f.get(1)).out(to, dims).op("softmax_cross_entropy_grad").attr_f64("on", 1);
      });
      if (to == TENON_F32) {
        expect_near(b.get(0), e.dx, 2e-5);
        continue;
      }
      const auto got = b.get<uint16_t>(0);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(from_half(TENON_BF16, got[i]), e.dx[i], 2e-5 + std::abs(e.dx[i]) / 256) << v << " at " << i;
    }
}

TEST_P(Softmax, CrossEntropyOfDistributions) {
  const Dims lead = {6}, dims = {6, 37};
  const Floats x = random(6 * 37, -5, 5), t = random(6 * 37, 0, 1);
  const Entropy e = entropy(x, lead, 37, Doubles(t.begin(), t.end()));
  const Results f = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, dims, x)
        .in(TENON_F32, dims, t)
        .out(TENON_F32, lead)
        .out(TENON_F32, lead)
        .op("softmax_cross_entropy");
  });
  expect_near(f.get(0), e.loss, 1e-5);
  expect_near(run(1,
                  [&](NodeRun& n) {
                    n.in(TENON_F32, lead, row_gradients(6))
                        .in(TENON_F32, dims, x)
                        .in(TENON_F32, dims, t)
                        .in(TENON_F32, lead, f.get(1))
                        .out(TENON_F32, dims)
                        .op("softmax_cross_entropy_grad");
                  })
                  .get(0),
              e.dx, 2e-5);
}

TEST_P(Softmax, AnIgnoredLabelCostsNothingAndOneOutsideIsNan) {
  const Floats x = random(4 * 3);
  const Ints label = {-1, 3, -2, 1};
  const Results f = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, {4, 3}, x)
        .in(TENON_I32, {4}, label)
        .out(TENON_F32, {4})
        .out(TENON_F32, {4})
        .op("softmax_cross_entropy")
        .attr_i64("ignore", -1);
  });
  const Floats loss = f.get(0);
  EXPECT_EQ(loss[0], 0);
  EXPECT_TRUE(std::isnan(loss[1]) && std::isnan(loss[2]));
  EXPECT_GT(loss[3], 0);
  const Floats dx = run(1, [&](NodeRun& n) {
                      n.in(TENON_F32, {4}, Floats(4, 1))
                          .in(TENON_F32, {4, 3}, x)
                          .in(TENON_I32, {4}, label)
                          .in(TENON_F32, {4}, f.get(1))
                          .out(TENON_F32, {4, 3})
                          .op("softmax_cross_entropy_grad")
                          .attr_i64("ignore", -1);
                    }).get(0);
  EXPECT_EQ(Floats(dx.begin(), dx.begin() + 3), Floats(3, 0));
  EXPECT_TRUE(std::isnan(dx[3]) && std::isnan(dx[6]));
  EXPECT_NEAR(dx[9] + dx[10] + dx[11], 0, 1e-6);
}

}  // namespace
}  // namespace tenon::testing
