#include <algorithm>
#include <numeric>

#include "isa_test.h"

TENON_FAMILY_FIXTURE(Reduction, add_reduction)

namespace tenon::testing {
namespace {

struct ReduceCase {
  Dims x, axes;
};

Dims kept_dims(const ReduceCase& c) {
  Dims y;
  for (size_t i = 0; i < c.x.size(); ++i)
    if (std::find(c.axes.begin(), c.axes.end(), static_cast<int64_t>(i)) == c.axes.end()) y.push_back(c.x[i]);
  return y;
}

// For each element of x in order, the element of y that it goes into.
std::vector<size_t> targets(const ReduceCase& c) {
  std::vector<size_t> to;
  for (int64_t e = 0; e < product(c.x); ++e) {
    int64_t rest = e, at = 0, scale = 1;
    for (size_t d = c.x.size(); d-- > 0;) {
      const int64_t k = rest % c.x[d];
      rest /= c.x[d];
      if (std::find(c.axes.begin(), c.axes.end(), static_cast<int64_t>(d)) != c.axes.end()) continue;
      at += k * scale;
      scale *= c.x[d];
    }
    to.push_back(static_cast<size_t>(at));
  }
  return to;
}

template <class T, class A>
std::vector<A> naive_reduce(const ReduceCase& c, const std::vector<T>& x, int64_t kind, A identity) {
  std::vector<A> y(static_cast<size_t>(product(kept_dims(c))), identity);
  const auto to = targets(c);
  for (size_t i = 0; i < x.size(); ++i) {
    A& a = y[to[i]];
    const A v = static_cast<A>(x[i]);
    if (kind == TENON_REDUCE_SUM)
      a = a + v;
    else if (kind == TENON_REDUCE_PROD)
      a = a * v;
    else if (kind == TENON_REDUCE_MAX)
      a = a != a || v != v ? a + v : std::max(a, v);
    else
      a = a != a || v != v ? a + v : std::min(a, v);
  }
  return y;
}

const std::vector<ReduceCase> kReductions = {{{}, {}},
                                             {{1}, {0}},
                                             {{1, 1, 1}, {1}},
                                             {{7}, {}},
                                             {{13}, {0}},
                                             {{40003}, {0}},
                                             {{5, 3}, {0}},
                                             {{5, 3}, {1}},
                                             {{5, 3}, {0, 1}},
                                             {{64, 10}, {0}},
                                             {{64, 10}, {1}},
                                             {{3000, 7}, {0}},
                                             {{1111, 64}, {0}},
                                             {{23, 1031}, {0}},
                                             {{19, 5003}, {1}},
                                             {{2, 9001}, {1}},
                                             {{3, 50, 41}, {1}},
                                             {{3, 50, 41}, {0, 2}},
                                             {{6, 13, 9, 17}, {0, 2}},
                                             {{6, 13, 9, 17}, {1, 3}},
                                             {{2, 3, 2, 3, 2, 3, 2, 3}, {0, 2, 4, 6}},
                                             {{2, 3, 2, 3, 2, 3, 2, 3}, {1, 3, 5, 7}},
                                             {{4, 1, 5, 1, 6}, {2}}};

template <class T>
std::vector<T> reduced(const std::function<Results(size_t, const std::function<void(NodeRun&)>&)>& run, int32_t dtype,
                       const ReduceCase& c, const std::vector<T>& x, int64_t kind) {
  return run(1,
             [&](NodeRun& n) {
               n.in(dtype, c.x, x)
                   .out(dtype, kept_dims(c))
                   .op("reduce")
                   .attr_list("axes", c.axes)
                   .attr_enum("kind", kind);
             })
      .template get<T>(0);
}
#define RUN [this](size_t n, const std::function<void(NodeRun&)>& f) { return run(n, f); }

TEST_P(Reduction, SumsOverAnyAxes) {
  for (const auto& c : kReductions) {
    const Floats x = random(product(c.x));
    expect_near(reduced(RUN, TENON_F32, c, x, TENON_REDUCE_SUM), naive_reduce(c, x, TENON_REDUCE_SUM, 0.0), 1e-4);
    const std::vector<double> wide(x.begin(), x.end());
    expect_near(reduced(RUN, TENON_F64, c, wide, TENON_REDUCE_SUM), naive_reduce(c, wide, TENON_REDUCE_SUM, 0.0), 1e-12);
  }
}

TEST_P(Reduction, MultipliesNumbersNearOne) {
  for (const auto& c : kReductions) {
    const Floats x = random(product(c.x), 0.9999f, 1.0001f);
    expect_near(reduced(RUN, TENON_F32, c, x, TENON_REDUCE_PROD), naive_reduce(c, x, TENON_REDUCE_PROD, 1.0), 1e-3);
  }
}

TEST_P(Reduction, LargestAndSmallestAreExactAndNanWins) {
  for (const auto& c : kReductions) {
    Floats x = random(product(c.x));
    x[x.size() / 2] = kNaN;
    x.front() = kInf;
    x.back() = -kInf;
    expect_near(reduced(RUN, TENON_F32, c, x, TENON_REDUCE_MAX), naive_reduce(c, x, TENON_REDUCE_MAX, -kInf), 0);
    expect_near(reduced(RUN, TENON_F32, c, x, TENON_REDUCE_MIN), naive_reduce(c, x, TENON_REDUCE_MIN, kInf), 0);
  }
}

TEST_P(Reduction, IntegersWrapAndBoolsAreAnyAndAll) {
  for (const auto& c : kReductions) {
    const Ints x = random_ints(product(c.x), INT32_MIN, INT32_MAX);
    const std::vector<uint32_t> u(x.begin(), x.end());
    const auto sum = naive_reduce(c, u, TENON_REDUCE_SUM, 0u), prod = naive_reduce(c, u, TENON_REDUCE_PROD, 1u);
    EXPECT_EQ(reduced(RUN, TENON_I32, c, x, TENON_REDUCE_SUM), Ints(sum.begin(), sum.end()));
    EXPECT_EQ(reduced(RUN, TENON_I32, c, x, TENON_REDUCE_PROD), Ints(prod.begin(), prod.end()));
    EXPECT_EQ(reduced(RUN, TENON_I32, c, x, TENON_REDUCE_MAX), naive_reduce(c, x, TENON_REDUCE_MAX, INT32_MIN));
    const std::vector<int64_t> wide(x.begin(), x.end());
    EXPECT_EQ(reduced(RUN, TENON_I64, c, wide, TENON_REDUCE_MIN), naive_reduce(c, wide, TENON_REDUCE_MIN, INT64_MAX));
    std::vector<uint8_t> b;
    for (int32_t v : x) b.push_back(v & 1);
    EXPECT_EQ(reduced(RUN, TENON_BOOL, c, b, TENON_REDUCE_MAX), naive_reduce(c, b, TENON_REDUCE_MAX, uint8_t{0}));
    EXPECT_EQ(reduced(RUN, TENON_BOOL, c, b, TENON_REDUCE_MIN), naive_reduce(c, b, TENON_REDUCE_MIN, uint8_t{1}));
  }
}

TEST_P(Reduction, NarrowSumsAreKeptInF32) {
  const std::vector<uint16_t> ones(4096, 0x3F80), halves(2048, 0x3C00);
  EXPECT_EQ(reduced(RUN, TENON_BF16, {{4096}, {0}}, ones, TENON_REDUCE_SUM), (std::vector<uint16_t>{0x4580}));
  EXPECT_EQ(reduced(RUN, TENON_BF16, {{4096, 1}, {1}}, ones, TENON_REDUCE_SUM), ones);
  EXPECT_EQ(reduced(RUN, TENON_F16, {{1024, 2}, {0}}, halves, TENON_REDUCE_SUM), (std::vector<uint16_t>{0x6400, 0x6400}));
}

TEST_P(Reduction, GlobalNormTakesManyOperands) {
  const Floats a = random(40001), b = random(5), c = {3};
  double sum = 9;
  for (float v : a) sum += static_cast<double>(v) * v;
  for (float v : b) sum += static_cast<double>(v) * v;
  const auto norm = run(1, [&](NodeRun& n) {
    n.in(TENON_F32, {40001}, a).in(TENON_F32, {5, 1}, b).in(TENON_F32, {}, c).out(TENON_F32, {}).op("global_norm");
  });
  expect_near(norm.get(0), Floats{static_cast<float>(std::sqrt(sum))}, 1e-6);
  EXPECT_EQ(run(1,
                [&](NodeRun& n) {
                  n.in(TENON_F32, {2}, Floats{3, 4}).out(TENON_F32, {}).op("global_norm");
                })
                .get(0),
            Floats{5});
}

// ---- sort ----

std::pair<Floats, Ints> sorted(const std::function<Results(size_t, const std::function<void(NodeRun&)>&)>& run,
                               const Dims& dims, const Floats& x, int64_t k, bool descending) {
  Dims y = dims;
  y.back() = k;
  const Results r = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, dims, x)
        .out(TENON_F32, y)
        .out(TENON_I32, y)
        .op("sort")
        .attr_i64("k", k)
        .attr_bool("descending", descending);
  });
  return {r.get(0), r.get<int32_t>(1)};
}

TEST_P(Reduction, SortIsStableWithNanAboveInfinity) {
  const Floats x = {2, kNaN, -1, 2, kInf, -0.0f, 0.0f, kNaN, -kInf};
  EXPECT_EQ(sorted(RUN, {9}, x, 9, false).second, (Ints{8, 2, 5, 6, 0, 3, 4, 1, 7}));
  EXPECT_EQ(sorted(RUN, {9}, x, 9, true).second, (Ints{1, 7, 4, 0, 3, 5, 6, 2, 8}));
  EXPECT_EQ(sorted(RUN, {9}, x, 3, true).second, (Ints{1, 7, 4}));
}

TEST_P(Reduction, TopOfALongRowEqualsTheSortedRow) {
  const int64_t rows = 5, n = 3001;
  Floats x = random(rows * n);
  for (float& v : x) v = std::round(v * 500);  // many ties
  for (bool descending : {false, true}) {
    const auto all = sorted(RUN, {rows, n}, x, n, descending), top = sorted(RUN, {rows, n}, x, 7, descending);
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<int32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        const float va = x[static_cast<size_t>(r * n + a)], vb = x[static_cast<size_t>(r * n + b)];
        return descending ? va > vb : va < vb;
      });
      EXPECT_TRUE(std::equal(order.begin(), order.end(), all.second.begin() + r * n));
      EXPECT_TRUE(std::equal(order.begin(), order.begin() + 7, top.second.begin() + r * 7));
      EXPECT_EQ(top.first[static_cast<size_t>(r * 7)], x[static_cast<size_t>(r * n + order[0])]);
    }
  }
}

TEST_P(Reduction, SortsWideIntegersExactly) {
  const std::vector<int64_t> x = {INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1, int64_t{1} << 53, -1};
  const Results r = run(2, [&](NodeRun& n) {
    n.in(TENON_I64, {5}, x).out(TENON_I64, {5}).out(TENON_I32, {5}).op("sort").attr_i64("k", 5);
  });
  EXPECT_EQ(r.get<int32_t>(1), (Ints{1, 4, 3, 2, 0}));
  EXPECT_EQ(r.get<int64_t>(0)[0], INT64_MIN);
}

// ---- argmax, cumsum ----

template <class T>
Ints arg(const std::function<Results(size_t, const std::function<void(NodeRun&)>&)>& run, int32_t dtype,
         const Dims& dims, const Dims& y, const std::vector<T>& x, int64_t axis, int64_t kind) {
  return run(1,
             [&](NodeRun& n) {
               n.in(dtype, dims, x).out(TENON_I32, y).op("argmax").attr_i64("axis", axis).attr_enum("kind", kind);
             })
      .template get<int32_t>(0);
}

TEST_P(Reduction, ArgmaxGivesTheLowestIndexOfTheBestOrOfNan) {
  const Floats x = {1, 3, 3, 0, kNaN, 2, 5, kNaN, -1, -1, 7, 7};
  EXPECT_EQ(arg(RUN, TENON_F32, {3, 4}, {3}, x, 1, TENON_REDUCE_MAX), (Ints{1, 0, 2}));
  EXPECT_EQ(arg(RUN, TENON_F32, {3, 4}, {3}, x, 1, TENON_REDUCE_MIN), (Ints{3, 0, 0}));
  EXPECT_EQ(arg(RUN, TENON_F32, {3, 4}, {4}, x, 0, TENON_REDUCE_MAX), (Ints{1, 0, 2, 1}));
  for (int64_t n : {1, 15, 16, 17, 1000, 32003}) {
    Floats v = random(3 * n);
    for (float& e : v) e = std::round(e * 100);
    v[static_cast<size_t>(n + n / 2)] = kNaN;
    Ints want;
    for (int64_t r = 0; r < 3; ++r) {
      const auto b = v.begin() + r * n;
      const auto nan = std::find_if(b, b + n, [](float f) { return f != f; });
      want.push_back(static_cast<int32_t>((nan != b + n ? nan : std::max_element(b, b + n)) - b));
    }
    EXPECT_EQ(arg(RUN, TENON_F32, {3, n}, {3}, v, 1, TENON_REDUCE_MAX), want);
  }
  const std::vector<int64_t> big = {int64_t{1} << 53, (int64_t{1} << 53) + 1};
  EXPECT_EQ(arg(RUN, TENON_I64, {2}, {}, big, 0, TENON_REDUCE_MAX), (Ints{1}));
}

TEST_P(Reduction, CumsumRunsBothWaysAndMayLeaveOutItself) {
  const Ints x = {1, 2, 3, 10, 20, 30};
  const auto go = [&](int64_t axis, bool exclusive, bool reverse) {
    return run(1,
               [&](NodeRun& n) {
                 n.in(TENON_I32, {2, 3}, x)
                     .out(TENON_I32, {2, 3})
                     .op("cumsum")
                     .attr_i64("axis", axis)
                     .attr_bool("exclusive", exclusive)
                     .attr_bool("reverse", reverse);
               })
        .get<int32_t>(0);
  };
  EXPECT_EQ(go(1, false, false), (Ints{1, 3, 6, 10, 30, 60}));
  EXPECT_EQ(go(1, true, false), (Ints{0, 1, 3, 0, 10, 30}));
  EXPECT_EQ(go(1, false, true), (Ints{6, 5, 3, 60, 50, 30}));
  EXPECT_EQ(go(1, true, true), (Ints{5, 3, 0, 50, 30, 0}));
  EXPECT_EQ(go(0, false, false), (Ints{1, 2, 3, 11, 22, 33}));
}

#undef RUN

}  // namespace
}  // namespace tenon::testing
