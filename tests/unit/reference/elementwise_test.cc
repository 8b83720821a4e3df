#include <cmath>

#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

constexpr int64_t kMin32 = INT32_MIN, kMax32 = INT32_MAX;

Tensor apply(const char* op, const std::vector<double>& x) {
  return elementwise(op, {floats({static_cast<int64_t>(x.size())}, x)});
}
Tensor apply(const char* op, const std::vector<double>& a, const std::vector<double>& b) {
  const int64_t n = static_cast<int64_t>(a.size());
  return elementwise(op, {floats({n}, a), floats({n}, b)});
}
std::vector<int64_t> apply_int(const char* op, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                               int32_t dtype = TENON_I32) {
  const int64_t n = static_cast<int64_t>(a.size());
  return elementwise(op, {ints({n}, a, dtype), ints({n}, b, dtype)}).i;
}
Tensor cast(const Tensor& x, int32_t to) { return Node("cast", {x}).dtype("to", to).run(to, x.dims); }

TEST(Elementwise, NegAndAbsChangeTheSign) {
  expect_floats(apply("neg", {1.5, -2, kInf}), {-1.5, 2, -kInf});
  expect_floats(apply("abs", {1.5, -2, -kInf, kNaN}), {1.5, 2, kInf, kNaN});
}

TEST(Elementwise, NegAndAbsOfTheLowestIntegerWrap) {
  EXPECT_EQ(elementwise("neg", {ints({2}, {5, kMin32})}).i, (std::vector<int64_t>{-5, kMin32}));
  EXPECT_EQ(elementwise("abs", {ints({2}, {-5, kMin32})}).i, (std::vector<int64_t>{5, kMin32}));
  EXPECT_EQ(elementwise("abs", {ints({1}, {INT64_MIN}, TENON_I64)}).i, (std::vector<int64_t>{INT64_MIN}));
}

TEST(Elementwise, FloorGoesDownAndRoundToEven) {
  expect_floats(apply("floor", {-0.5, 1.9, -2}), {-1, 1, -2});
  expect_floats(apply("round", {0.5, 1.5, 2.5, -0.5, -1.5, 2.6}), {0, 2, 2, 0, -2, 3});
}

TEST(Elementwise, FunctionsHaveTheirTextbookValues) {
  expect_floats(apply("exp", {0, 1, -kInf}), {1, 2.718281828459045, 0}, 1e-15);
  expect_floats(apply("expm1", {1e-10}), {1.00000000005e-10}, 1e-24);
  expect_floats(apply("expm1", {-kInf}), {-1});
  expect_floats(apply("log", {10, 0, -1}), {2.302585092994046, -kInf, kNaN}, 1e-15);
  expect_floats(apply("log1p", {1e-10, -1}), {9.9999999995e-11, -kInf}, 1e-24);
  expect_floats(apply("sqrt", {2, 0, -1}), {1.4142135623730951, 0, kNaN});
  expect_floats(apply("sin", {0, 1, kInf}), {0, 0.8414709848078965, kNaN}, 1e-15);
  expect_floats(apply("cos", {0, 1}), {1, 0.5403023058681398}, 1e-15);
  expect_floats(apply("tanh", {0.5, -kInf}), {0.46211715726000976, -1}, 1e-15);
  expect_floats(apply("erf", {0.5, kInf}), {0.5204998778130465, 1}, 1e-15);
}

TEST(Elementwise, ArithmeticOnFloatsIsIeee754) {
  expect_floats(apply("add", {1, kInf}, {2, -kInf}), {3, kNaN});
  expect_floats(apply("sub", {1, 5}, {2, -5}), {-1, 10});
  expect_floats(apply("mul", {3, 0}, {-2, kInf}), {-6, kNaN});
  expect_floats(apply("div", {3, 1, -1, 0}, {-2, 0, 0, 0}), {-1.5, kInf, -kInf, kNaN});
}

TEST(Elementwise, ArithmeticOnIntegersWraps) {
  EXPECT_EQ(apply_int("add", {kMax32, 1}, {1, 2}), (std::vector<int64_t>{kMin32, 3}));
  EXPECT_EQ(apply_int("sub", {kMin32, 1}, {1, 2}), (std::vector<int64_t>{kMax32, -1}));
  EXPECT_EQ(apply_int("mul", {65536, 3}, {65536, -2}), (std::vector<int64_t>{0, -6}));
  EXPECT_EQ(apply_int("add", {INT64_MAX}, {1}, TENON_I64), (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(apply_int("mul", {INT64_MAX}, {2}, TENON_I64), (std::vector<int64_t>{-2}));
}

TEST(Elementwise, IntegerDivisionTruncatesAndGivesTheDividendWhereThereIsNoQuotient) {
  EXPECT_EQ(apply_int("div", {7, -7, 5, kMin32}, {2, 2, 0, -1}), (std::vector<int64_t>{3, -3, 5, kMin32}));
  EXPECT_EQ(apply_int("div", {INT64_MIN, 9}, {-1, -1}, TENON_I64), (std::vector<int64_t>{INT64_MIN, -9}));
}

TEST(Elementwise, NaNWinsMaxAndMin) {
  expect_floats(apply("max", {1, kNaN, 1, -kInf}, {2, 1, kNaN, 0}), {2, kNaN, kNaN, 0});
  expect_floats(apply("min", {1, kNaN, 1, kInf}, {2, 1, kNaN, 0}), {1, kNaN, kNaN, 0});
}

TEST(Elementwise, MaxAndMinOfBoolAreOrAndAnd) {
  EXPECT_EQ(apply_int("max", {0, 0, 1, 1}, {0, 1, 0, 1}, TENON_BOOL), (std::vector<int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(apply_int("min", {0, 0, 1, 1}, {0, 1, 0, 1}, TENON_BOOL), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(apply_int("max", {-3, 4}, {2, -9}), (std::vector<int64_t>{2, 4}));
}

TEST(Elementwise, PowAndAtan2HaveTheEdgesOfLibm) {
  expect_floats(apply("pow", {2, 0, -8, kNaN, 1}, {-1, 0, 1.0 / 3, 0, kNaN}), {0.5, 1, kNaN, 1, 1});
  expect_floats(apply("atan2", {1, 0, -1}, {1, -1, 0}), {0.7853981633974483, 3.141592653589793, -1.5707963267948966},
                1e-15);
}

TEST(Elementwise, ARankZeroOperandServesEveryElement) {
  expect_floats(elementwise("sub", {floats({2, 2}, {1, 2, 3, 4}), floats({}, {1})}), {0, 1, 2, 3});
  expect_floats(elementwise("sub", {floats({}, {1}), floats({2}, {5, 6})}), {-4, -5});
  expect_floats(elementwise("add", {floats({}, {1}), floats({}, {2})}), {3});
}

TEST(Elementwise, OfNaNOnlyNotEqualHolds) {
  const std::vector<std::vector<int64_t>> expected = {{0, 1, 0, 0}, {1, 0, 1, 1}, {1, 0, 0, 0},
                                                      {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 1, 1, 0}};
  for (int64_t kind = TENON_COMPARE_EQ; kind <= TENON_COMPARE_GE; ++kind) {
    Node node("compare", {floats({4}, {1, 2, 3, kNaN}), floats({4}, {2, 2, 2, 2})});
    EXPECT_EQ(node.enumerator("kind", kind).run(TENON_BOOL, {4}).i, expected[kind]) << "kind " << kind;
  }
}

TEST(Elementwise, LongIntegersCompareExactly) {
  const int64_t big = int64_t{1} << 60;
  Node node("compare", {ints({2}, {big, big + 1}, TENON_I64), ints({}, {big}, TENON_I64)});
  EXPECT_EQ(node.enumerator("kind", TENON_COMPARE_EQ).run(TENON_BOOL, {2}).i, (std::vector<int64_t>{1, 0}));
}

TEST(Elementwise, SelectChoosesByTheCondition) {
  expect_floats(elementwise("select", {bools({2}, {1, 0}), floats({2}, {1, 2}), floats({2}, {3, 4})}), {1, 4});
  EXPECT_EQ(elementwise("select", {bools({2}, {0, 1}), ints({}, {8}), ints({2}, {3, 4})}).i,
            (std::vector<int64_t>{3, 8}));
  expect_floats(elementwise("select", {bools({}, {1}), floats({2}, {kNaN, 2}), floats({2}, {3, 4})}), {kNaN, 2});
}

TEST(Elementwise, CastToIntegersTruncatesAndSaturates) {
  const Tensor x = floats({6}, {1.9, -1.9, 3e9, -3e9, kNaN, kInf});
  EXPECT_EQ(cast(x, TENON_I32).i, (std::vector<int64_t>{1, -1, kMax32, kMin32, 0, kMax32}));
  EXPECT_EQ(cast(x, TENON_I64).i, (std::vector<int64_t>{1, -1, 3000000000, -3000000000, 0, INT64_MAX}));
  EXPECT_EQ(cast(x, TENON_U8).i, (std::vector<int64_t>{1, 0, 255, 0, 0, 255}));
  EXPECT_EQ(cast(floats({3}, {0, 0.25, kNaN}), TENON_BOOL).i, (std::vector<int64_t>{0, 1, 1}));
}

TEST(Elementwise, CastOfIntegersKeepsTheLowBits) {
  const Tensor x = ints({3}, {(int64_t{1} << 32) + 5, 300, -1}, TENON_I64);
  EXPECT_EQ(cast(x, TENON_I32).i, (std::vector<int64_t>{5, 300, -1}));
  EXPECT_EQ(cast(x, TENON_U8).i, (std::vector<int64_t>{5, 44, 255}));
  EXPECT_EQ(cast(x, TENON_BOOL).i, (std::vector<int64_t>{1, 1, 1}));
  expect_floats(cast(ints({2}, {0, 255}, TENON_U8), TENON_F32), {0, 255});
  EXPECT_EQ(cast(bools({2}, {0, 1}), TENON_I32).i, (std::vector<int64_t>{0, 1}));
}

// 2^60 + 2^52 is in the middle of two numbers of bf16, 2^60 + 2^36 of two of f32; a double does not hold the 1 beside them.
TEST(Elementwise, CastOfIntegersRoundsOnceWhateverADoubleHolds) {
  const auto rounded = [](const std::vector<int64_t>& v, int32_t to) {
    Tensor y = cast(ints({static_cast<int64_t>(v.size())}, v, TENON_I64), to);
    round_to_dtype(y);
    return y;
  };
  const int64_t one = int64_t{1} << 60, bf16 = one + (int64_t{1} << 52), f32 = one + (int64_t{1} << 36);
  const double below = 0x1p60;
  expect_floats(rounded({bf16 - 1, bf16, bf16 + 1, -bf16 - 1}, TENON_BF16),
                {below, below, below + 0x1p53, -below - 0x1p53});
  expect_floats(rounded({f32 - 1, f32, f32 + 1, -f32 - 1}, TENON_F32), {below, below, below + 0x1p37, -below - 0x1p37});
  expect_floats(rounded({INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1}, TENON_F64), {0x1p63, -0x1p63, 0x1p53});
}

TEST(Elementwise, CastToANarrowerFloatRoundsToEvenAndOverflows) {
  Tensor y = cast(floats({3}, {65520, 1 + std::ldexp(1, -11), 0.1}), TENON_F16);
  round_to_dtype(y);
  expect_floats(y, {kInf, 1, 0.0999755859375});
}

}  // namespace
}  // namespace tenon::reference
