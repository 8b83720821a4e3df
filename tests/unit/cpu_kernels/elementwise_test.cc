#include <algorithm>
#include <functional>

#include "float_bits.h"
#include "isa_test.h"

TENON_DECLARE_FAMILY(add_elementwise)

namespace tenon::testing {
namespace {

const Floats kSpecial = {0.f,   -0.f,  1.f,    -1.f,   0.5f,       -0.5f,     1.5f,        2.5f,   -2.5f,  2.f,
                         3.f,   -3.f,  kInf,   -kInf,  kNaN,       3.4e38f,   -3.4e38f,    1e-38f, 1e-45f, -1e-45f,
                         88.7f, 88.8f, -87.4f, -104.f, 8388607.5f, 8388609.f, -8388607.5f, 1e10f,  -1e10f, 16777215.f};

// Every `stride`th bit pattern, and the special values.
Floats sweep(uint32_t stride) {
  Floats v = kSpecial;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += stride)
    v.push_back(from_bits(static_cast<uint32_t>(bits)));
  return v;
}

class ElementwiseOps : public IsaTest {
 protected:
  ElementwiseOps() {
    if (GetParam() == "avx2")
      cpu::avx2::add_elementwise(table_);
    else
      cpu::baseline::add_elementwise(table_);
  }
  template <class T>
  std::vector<T> unary(const char* op, int32_t dtype, const std::vector<T>& x) {
    const Dims d = {static_cast<int64_t>(x.size())};
    return run(1, [&](NodeRun& n) { n.in(dtype, d, x).out(dtype, d).op(op); }).template get<T>(0);
  }
  template <class T>
  std::vector<T> binary(const char* op, int32_t dtype, const std::vector<T>& a, const std::vector<T>& b) {
    const Dims d = {static_cast<int64_t>(std::max(a.size(), b.size()))};
    const auto dims = [&](const std::vector<T>& v) { return v.size() == 1 ? Dims{} : d; };
    return run(1, [&](NodeRun& n) { n.in(dtype, dims(a), a).in(dtype, dims(b), b).out(dtype, d).op(op); })
        .template get<T>(0);
  }
  void expect_within(const Floats& x, const Floats& y, double bound, const std::function<double(double)>& f) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulps(y[i], f(x[i])), bound) << "at " << x[i] << ": " << y[i] << ", expected " << f(x[i]);
  }
  int32_t verdict(const char* op, int32_t a, int32_t b) {
    plugin::GraphBuilder g;
    const uint32_t x = g.input(a, {4}, TENON_ROLE_FEED), y = g.value(b, {4});
    g.node(op, {x}, {y}).name("n");
    const plugin::FlatGraph flat = g.build();
    const plugin::GraphView view(*flat.graph());
    return table_.find(op, 1)->accept(view.node(0)).answer;
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseOps, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; });

TEST_P(ElementwiseOps, FunctionsOfFloatsAreWithinTheirBoundsOverTheFullRange) {
  const struct {
    const char* op;
    double ulps;
    double (*f)(double);
  } kFunctions[] = {
      {"neg", 0, [](double x) { return -x; }},
      {"abs", 0, [](double x) { return std::fabs(x); }},
      {"floor", 0, [](double x) { return std::floor(x); }},
      {"round", 0, [](double x) { return std::nearbyint(x); }},
      {"exp", 3, [](double x) { return std::exp(x); }},
      {"expm1", 3, [](double x) { return std::expm1(x); }},
      {"log", 3, [](double x) { return std::log(x); }},
      {"log1p", 2, [](double x) { return std::log1p(x); }},
      {"sqrt", 3, [](double x) { return std::sqrt(x); }},
      {"sin", 4, [](double x) { return std::sin(x); }},
      {"cos", 4, [](double x) { return std::cos(x); }},
      {"tanh", 5, [](double x) { return std::tanh(x); }},
      {"erf", 16, [](double x) { return std::erf(x); }},
      {"erfc", 16, [](double x) { return std::erfc(x); }},
  };
  const Floats x = sweep(104729);
  for (const auto& k : kFunctions) {
    SCOPED_TRACE(k.op);
    expect_within(x, unary(k.op, TENON_F32, x), k.ulps, k.f);
  }
}

TEST_P(ElementwiseOps, PowAndAtan2AreWithinTheirBoundsAndKeepTheEdgesOfLibm) {
  Floats a, b;
  for (float x : kSpecial)
    for (float y : kSpecial) a.push_back(x), b.push_back(y);
  for (float x : random(4000, 0, 40))
    for (float y : random(3, -30, 30)) a.push_back(x), b.push_back(y);
  const Floats p = binary("pow", TENON_F32, a, b), t = binary("atan2", TENON_F32, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const double pw = std::pow(double(a[i]), double(b[i])), tw = std::atan2(double(a[i]), double(b[i]));
    ASSERT_LE(ulps(p[i], pw), 16) << "pow(" << a[i] << ", " << b[i] << ")";
    ASSERT_LE(ulps(t[i], tw), 6) << "atan2(" << a[i] << ", " << b[i] << ")";
    ASSERT_TRUE(std::isnan(pw) || std::signbit(p[i]) == std::signbit(pw)) << "pow(" << a[i] << ", " << b[i] << ")";
  }
}

TEST_P(ElementwiseOps, ChannelsAreThoseOfTheExample) {
  const int64_t n = 3, points = 35, c = 18;
  const Floats x = random(n * points * c), v = random(n * c);
  for (const bool mul : {true, false}) {
    const Floats y = run(1, [&](NodeRun& node) {
                       node.in(TENON_F32, {n, 5, 7, c}, x).in(TENON_F32, {n, 1, 1, c}, v).out(TENON_F32, {n, 5, 7, c});
                       node.op(mul ? "cpu.mul_channels" : "cpu.add_channels");
                     }).get(0);
    for (size_t i = 0; i < x.size(); ++i) {
      const float other = v[i / static_cast<size_t>(points * c) * c + i % c];
      ASSERT_EQ(y[i], mul ? x[i] * other : x[i] + other) << i;
    }
  }
}

TEST_P(ElementwiseOps, FloatArithmeticIsCorrectlyRounded) {
  const Floats a = random(20011, -1e3, 1e3), b = random(20011, -1e3, 1e3);
  const Floats sum = binary("add", TENON_F32, a, b), difference = binary("sub", TENON_F32, a, b),
               times = binary("mul", TENON_F32, a, b), quotient = binary("div", TENON_F32, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(sum[i], static_cast<float>(double(a[i]) + b[i]));
    ASSERT_EQ(difference[i], static_cast<float>(double(a[i]) - b[i]));
    ASSERT_EQ(times[i], static_cast<float>(double(a[i]) * b[i]));
    ASSERT_LE(ulps(quotient[i], double(a[i]) / b[i]), 2.5);
  }
}

TEST_P(ElementwiseOps, NanWinsMaxAndMinInEveryFloatType) {
  const Floats a = {1, kNaN, 3, kNaN, -kInf, 0, 1, 1, kNaN}, b = {2, 1, kNaN, kNaN, kInf, 0, -1, 1, 0};
  const Floats high = {2, kNaN, kNaN, kNaN, kInf, 0, 1, 1, kNaN}, low = {1, kNaN, kNaN, kNaN, -kInf, 0, -1, 1, kNaN};
  expect_near(binary("max", TENON_F32, a, b), high, 0);
  expect_near(binary("min", TENON_F32, a, b), low, 0);
  const std::vector<double> a64(a.begin(), a.end()), b64(b.begin(), b.end());
  expect_near(binary("max", TENON_F64, a64, b64), high, 0);
  expect_near(binary("min", TENON_F64, a64, b64), low, 0);
  for (int32_t dtype : {TENON_BF16, TENON_F16}) {
    expect_near(from_halves(dtype, binary("max", dtype, to_halves(dtype, a), to_halves(dtype, b))), high, 0);
    expect_near(from_halves(dtype, binary("min", dtype, to_halves(dtype, a), to_halves(dtype, b))), low, 0);
  }
}

TEST_P(ElementwiseOps, SixteenBitTypesComputeInFloatAndRoundOnce) {
  const Floats x = random(20011, -8, 8), y = random(20011, -8, 8);
  for (int32_t dtype : {TENON_BF16, TENON_F16}) {
    const auto a = to_halves(dtype, x), b = to_halves(dtype, y);
    const Floats fa = from_halves(dtype, a), fb = from_halves(dtype, b);
    const Floats sum = from_halves(dtype, binary("add", dtype, a, b)), e = from_halves(dtype, unary("exp", dtype, a));
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(sum[i], round_to_half(dtype, fa[i] + fb[i]));
      ASSERT_NEAR(e[i], std::exp(double(fa[i])),
                  std::exp(double(fa[i])) * (dtype == TENON_F16 ? 0x1.01p-11 : 0x1.01p-8) + 1e-7);
    }
  }
}

TEST_P(ElementwiseOps, RankZeroOperandsMeetEveryElementAtAnyLength) {
  for (int64_t n : {1, 2, 7, 8, 9, 15, 63, 64, 513, 1100}) {
    const Floats x = random(n);
    const Floats left = binary("sub", TENON_F32, Floats{3}, x), right = binary("sub", TENON_F32, x, Floats{3});
    const auto h = to_halves(TENON_BF16, x), three = to_halves(TENON_BF16, {3});
    const Floats half = from_halves(TENON_BF16, binary("sub", TENON_BF16, three, h));
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(left[i], 3 - x[i]);
      ASSERT_EQ(right[i], x[i] - 3);
      ASSERT_EQ(half[i], round_to_half(TENON_BF16, 3 - from_halves(TENON_BF16, {h[i]})[0]));
    }
  }
}

template <class T>
struct IntegerCase {
  static constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  std::vector<T> a = {7, -7, 7, -7, 5, low, low, high, low, 0, 1}, b = {2, 2, -2, -2, 0, -1, 1, 1, low, 9, high};
  std::vector<T> quotient = {3, -3, -3, 3, 5, low, low, high, 1, 0, 0};
  std::vector<T> sum = {9, -5, 5, -9, 5, high, low + 1, low, 0, 9, low},
                 product = {14, -14, -14, 14, 0, low, low, high, 0, 0, high};
  std::vector<T> negated = {-7, 7, -7, 7, -5, low, low, -high, low, 0, -1},
                 size = {7, 7, 7, 7, 5, low, low, high, low, 0, 1};
};

TEST_P(ElementwiseOps, IntegersWrapAndDivisionTruncates) {
  const IntegerCase<int32_t> i;
  EXPECT_EQ(binary("div", TENON_I32, i.a, i.b), i.quotient);
  EXPECT_EQ(binary("add", TENON_I32, i.a, i.b), i.sum);
  EXPECT_EQ(binary("mul", TENON_I32, i.a, i.b), i.product);
  EXPECT_EQ(unary("neg", TENON_I32, i.a), i.negated);
  EXPECT_EQ(unary("abs", TENON_I32, i.a), i.size);
  const IntegerCase<int64_t> l;
  EXPECT_EQ(binary("div", TENON_I64, l.a, l.b), l.quotient);
  EXPECT_EQ(binary("add", TENON_I64, l.a, l.b), l.sum);
  EXPECT_EQ(binary("mul", TENON_I64, l.a, l.b), l.product);
  EXPECT_EQ(unary("neg", TENON_I64, l.a), l.negated);
  EXPECT_EQ(binary("max", TENON_I64, l.a, std::vector<int64_t>{1})[1], 1);
}

TEST_P(ElementwiseOps, MaxAndMinOfBoolAreOrAndAnd) {
  const std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  EXPECT_EQ(binary("max", TENON_BOOL, a, b), (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(binary("min", TENON_BOOL, a, b), (std::vector<uint8_t>{0, 0, 0, 1}));
}

TEST_P(ElementwiseOps, DoublesAreThoseOfLibm) {
  std::vector<double> x = {0.1, -2.5, 1e-300, 700.0, -745.0, 1e308, 0.5, 3.5};
  const auto e = unary("exp", TENON_F64, x), r = unary("round", TENON_F64, x), t = unary("tanh", TENON_F64, x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(e[i], std::exp(x[i]));
    EXPECT_EQ(r[i], std::nearbyint(x[i]));
    EXPECT_EQ(t[i], std::tanh(x[i]));
  }
}

TEST_P(ElementwiseOps, OfNanOnlyNotEqualHolds) {
  const Floats a = {1, 2, 3, kNaN, kNaN, 1}, b = {2, 2, 2, 1, kNaN, kNaN};
  const std::vector<std::vector<uint8_t>> want = {{0, 1, 0, 0, 0, 0}, {1, 0, 1, 1, 1, 1}, {1, 0, 0, 0, 0, 0},
                                                  {1, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 1, 1, 0, 0, 0}};
  for (int kind = TENON_COMPARE_EQ; kind <= TENON_COMPARE_GE; ++kind) {
    const auto compare = [&](int32_t dtype, const auto& x, const auto& y) {
      return run(1,
                 [&](NodeRun& n) {
                   n.in(dtype, {6}, x).in(dtype, {6}, y).out(TENON_BOOL, {6}).op("compare").attr_enum("kind", kind);
                 })
          .template get<uint8_t>(0);
    };
    EXPECT_EQ(compare(TENON_F32, a, b), want[kind]);
    EXPECT_EQ(compare(TENON_F16, to_halves(TENON_F16, a), to_halves(TENON_F16, b)), want[kind]);
    EXPECT_EQ(compare(TENON_F64, std::vector<double>(a.begin(), a.end()), std::vector<double>(b.begin(), b.end())),
              want[kind]);
  }
}

TEST_P(ElementwiseOps, ComparesIntegersUnsignedBytesAndBool) {
  const auto less = [&](int32_t dtype, const auto& x, const auto& y) {
    return run(1,
               [&](NodeRun& n) {
                 n.in(dtype, {2}, x)
                     .in(dtype, {2}, y)
                     .out(TENON_BOOL, {2})
                     .op("compare")
                     .attr_enum("kind", TENON_COMPARE_LT);
               })
        .template get<uint8_t>(0);
  };
  const std::vector<uint8_t> want = {1, 0};
  EXPECT_EQ(less(TENON_I32, Ints{-1, 5}, Ints{0, 5}), want);
  EXPECT_EQ(
      less(TENON_I64, std::vector<int64_t>{int64_t{1} << 40, 0}, std::vector<int64_t>{(int64_t{1} << 40) + 1, -1}),
      want);
  EXPECT_EQ(less(TENON_U8, std::vector<uint8_t>{3, 255}, std::vector<uint8_t>{200, 1}), want);
  EXPECT_EQ(less(TENON_BOOL, std::vector<uint8_t>{0, 1}, std::vector<uint8_t>{1, 1}), want);
}

TEST_P(ElementwiseOps, SelectMovesBitsOfAnyType) {
  std::vector<uint8_t> c(1000);
  for (size_t i = 0; i < c.size(); ++i) c[i] = i % 3 == 0;
  const auto check = [&](int32_t dtype, auto zero) {
    using T = decltype(zero);
    std::vector<T> a(1000), b = {T(77)};
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i * 0x9E3779B97F4A7C15u);
    const auto y = run(1, [&](NodeRun& n) {
                     n.in(TENON_BOOL, {1000}, c).in(dtype, {1000}, a).in(dtype, {}, b).out(dtype, {1000}).op("select");
                   }).template get<T>(0);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], c[i] ? a[i] : b[0]);
  };
  check(TENON_U8, uint8_t{});
  check(TENON_F16, uint16_t{});
  check(TENON_F32, uint32_t{});
  check(TENON_I64, uint64_t{});
}

TEST_P(ElementwiseOps, RefusesWhatIsOutsideItsTypes) {
  EXPECT_EQ(verdict("exp", TENON_I32, TENON_I32), TENON_REFUSE);
  EXPECT_EQ(verdict("neg", TENON_U8, TENON_U8), TENON_REFUSE);
  EXPECT_EQ(verdict("neg", TENON_F32, TENON_F64), TENON_REFUSE);
  EXPECT_EQ(verdict("neg", TENON_I64, TENON_I64), TENON_TAKE);
}

TEST_P(ElementwiseOps, MayRunInPlace) {
  Floats x = random(1000);
  const Floats before = x, other = random(1000);
  plugin::GraphBuilder g;
  const uint32_t a = g.input(TENON_F32, {1000}, TENON_ROLE_FEED), b = g.input(TENON_F32, {1000}, TENON_ROLE_FEED),
                 y = g.value(TENON_F32, {1000});
  g.node("sub", {a, b}, {y}).name("n");
  const plugin::FlatGraph flat = g.build();
  const plugin::Kernel kernel = table_.find("sub", 1)->make(plugin::GraphView(*flat.graph()).node(0), {});
  ASSERT_NE(std::find(kernel.in_place.begin(), kernel.in_place.end(), std::pair(0, 0)), kernel.in_place.end());
  uint8_t* bases[] = {reinterpret_cast<uint8_t*>(x.data()),
                      const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(other.data()))};
  const plugin::Place in[] = {{0, 0}, {1, 0}}, out[] = {{0, 0}};
  plugin::Call call;
  call.bases_ = bases, call.operands_ = in, call.results_ = out;
  kernel.run(call);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], before[i] - other[i]);
}

// ---- cast ----

class Casts : public ElementwiseOps {
 protected:
  template <class To, class From>
  std::vector<To> cast(int32_t from, int32_t to, const std::vector<From>& x) {
    const Dims d = {static_cast<int64_t>(x.size())};
    return run(1, [&](NodeRun& n) { n.in(from, d, x).out(to, d).op("cast").attr_dtype("to", to); }).template get<To>(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, Casts, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; });

TEST_P(Casts, FloatToIntegerTruncatesSaturatesAndMakesNanZero) {
  const Floats x = {1.9f, -1.9f, 3e9f, -3e9f, 1e30f, -1e30f, kInf, -kInf, kNaN, 0.f, 2147483520.f, -2147483648.f};
  const int32_t lo = INT32_MIN, hi = INT32_MAX;
  EXPECT_EQ((cast<int32_t>(TENON_F32, TENON_I32, x)), (Ints{1, -1, hi, lo, hi, lo, hi, lo, 0, 0, 2147483520, lo}));
  EXPECT_EQ((cast<int64_t>(TENON_F32, TENON_I64, x)),
            (std::vector<int64_t>{1, -1, 3000000000, -3000000000, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0, 0,
                                  2147483520, lo}));
  EXPECT_EQ((cast<uint8_t>(TENON_F32, TENON_U8, x)),
            (std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 255, 0, 0, 0, 255, 0}));
  EXPECT_EQ((cast<uint8_t>(TENON_F32, TENON_U8, Floats{255.f, 255.9f, 254.9f, 256.f})),
            (std::vector<uint8_t>{255, 255, 254, 255}));
  const std::vector<double> d(x.begin(), x.end());
  EXPECT_EQ((cast<int32_t>(TENON_F64, TENON_I32, d)), (Ints{1, -1, hi, lo, hi, lo, hi, lo, 0, 0, 2147483520, lo}));
  EXPECT_EQ((cast<int32_t>(TENON_F64, TENON_I32, std::vector<double>{2147483647.0, 2147483647.5, 2147483646.5})),
            (Ints{hi, hi, hi - 1}));
  EXPECT_EQ((cast<int32_t>(TENON_BF16, TENON_I32, to_halves(TENON_BF16, x)))[4], hi);
}

TEST_P(Casts, IntegersKeepTheirLowBitsAndBoolIsNotZero) {
  EXPECT_EQ((cast<int32_t>(TENON_I64, TENON_I32, std::vector<int64_t>{(int64_t{5} << 32) + 7, -1})), (Ints{7, -1}));
  EXPECT_EQ((cast<uint8_t>(TENON_I32, TENON_U8, Ints{256 + 9, -1})), (std::vector<uint8_t>{9, 255}));
  EXPECT_EQ((cast<uint8_t>(TENON_F32, TENON_BOOL, Floats{0.f, -0.f, 0.5f, kNaN, -3.f})),
            (std::vector<uint8_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ((cast<uint8_t>(TENON_I32, TENON_BOOL, Ints{0, 256})), (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ((cast<float>(TENON_BOOL, TENON_F32, std::vector<uint8_t>{0, 1})), (Floats{0, 1}));
  EXPECT_EQ((cast<float>(TENON_U8, TENON_F32, std::vector<uint8_t>{0, 200})), (Floats{0, 200}));
}

TEST_P(Casts, NarrowFloatsRoundToNearestEvenFromEveryFloat) {
  Floats x = sweep(104729);
  std::vector<double> wide;
  for (float f : random(20000, -7e4f, 7e4f)) x.push_back(f), x.push_back(f * 1e-9f);
  for (double ties : {1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1p-11, 1 + 3 * 0x1p-11, 65519.0, 65520.0, 0x1p-25, 0x1.8p-24,
                      0x1p-14 - 0x1p-26})
    for (double e : {0.0, 0x1p-40, -0x1p-40}) wide.push_back(ties + e), x.push_back(static_cast<float>(ties));
  for (int32_t dtype : {TENON_BF16, TENON_F16}) {
    const Floats y = from_halves(dtype, cast<uint16_t>(TENON_F32, dtype, x));
    for (size_t i = 0; i < x.size(); ++i) {
      if (dtype == TENON_BF16 && std::fabs(x[i]) < 1.2e-38f) continue;  // subnormals may flush
      ASSERT_TRUE(y[i] == round_to_half(dtype, x[i]) || (std::isnan(x[i]) && std::isnan(y[i])))
          << x[i] << " became " << y[i];
    }
    // Rounding by way of f32 would break the ties that lie 2^-40 beside them.
    const Floats z = from_halves(dtype, cast<uint16_t>(TENON_F64, dtype, wide));
    for (size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(z[i], round_to_half(dtype, wide[i])) << wide[i];
  }
}

TEST_P(Casts, WideIntegersRoundOnceToSixteenBits) {
  // 2^24 + 2^16 is a tie of bf16, one more is not; f32 cannot tell them apart.
  EXPECT_EQ(from_halves(TENON_BF16, cast<uint16_t>(TENON_I32, TENON_BF16, Ints{16777216 + 65536, 16777216 + 65537})),
            (Floats{16777216, 16777216 + 131072}));
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  EXPECT_EQ(
      from_halves(TENON_BF16, cast<uint16_t>(TENON_I64, TENON_BF16, std::vector<int64_t>{tie, tie + 1, -tie - 1})),
      (Floats{0x1p60f, 0x1p60f + 0x1p53f, -0x1p60f - 0x1p53f}));
  EXPECT_EQ(from_halves(TENON_F16, cast<uint16_t>(TENON_I32, TENON_F16, Ints{70000, -70000, 2049, 2051})),
            (Floats{kInf, -kInf, 2048, 2052}));
}

TEST_P(Casts, EveryHalfWidensExactlyAndComesBack) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (int32_t dtype : {TENON_BF16, TENON_F16}) {
    const Floats wide = cast<float>(dtype, TENON_F32, all), want = from_halves(dtype, all);
    const auto back = cast<uint16_t>(TENON_F32, dtype, want);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(bits_of(wide[i]) == bits_of(want[i]) || (std::isnan(want[i]) && std::isnan(wide[i]))) << i;
      ASSERT_TRUE(back[i] == all[i] || std::isnan(want[i])) << i;
    }
  }
}

}  // namespace
}  // namespace tenon::testing
