// M: y[i] = f(a[i], b[i], ..). Operands have one shape and dtype; a rank-0 operand serves every i.
#include <cmath>
#include <iterator>
#include <limits>

#include "conformance/reference/ops.h"
#include "tenon/op/coverage.h"

namespace tenon::reference {
namespace {

using Float1 = double (*)(double);
using Float2 = double (*)(double, double);
using Int1 = int64_t (*)(int64_t);
using Int2 = int64_t (*)(int64_t, int64_t);

// Element i of an operand, or the only one.
template <class T>
T element(const std::vector<T>& values, int64_t i) {
  return values[values.size() == 1 ? 0 : i];
}

// The shape of the operands that are not of rank 0.
Dims common_dims(const Operands& in) {
  Dims dims;
  for (const Tensor* x : in) {
    if (x->dims.empty()) continue;
    require(dims.empty() || dims == x->dims, "operands differ in shape");
    dims = x->dims;
  }
  return dims;
}

Tensor unary(const Tensor& x, Float1 f, Int1 g = nullptr) {
  require(is_float(x) || g, "the operand must be float");
  Tensor y = zeros(x.dtype, x.dims);
  for (size_t i = 0; i < y.f.size(); ++i) y.f[i] = f(x.f[i]);
  for (size_t i = 0; g && i < y.i.size(); ++i) y.i[i] = wrap(x.dtype, g(x.i[i]));
  return y;
}

Tensor binary(const Tensor& a, const Tensor& b, Float2 f, Int2 g = nullptr) {
  require(a.dtype == b.dtype, "operands differ in dtype");
  require(is_float(a) || g, "the operands must be float");
  Tensor y = zeros(a.dtype, common_dims({&a, &b}));
  for (size_t i = 0; i < y.f.size(); ++i) y.f[i] = f(element(a.f, i), element(b.f, i));
  for (size_t i = 0; g && i < y.i.size(); ++i) y.i[i] = wrap(a.dtype, g(element(a.i, i), element(b.i, i)));
  return y;
}

// Truncates; by 0, and the one quotient that does not fit, give a.
int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) return a;
  if (b == -1) return wrapping_neg(a);
  return a / b;
}

template <class T>
bool compares(int32_t kind, T a, T b) {
  switch (kind) {
    case TENON_COMPARE_EQ:
      return a == b;
    case TENON_COMPARE_NE:
      return a != b;
    case TENON_COMPARE_LT:
      return a < b;
    case TENON_COMPARE_LE:
      return a <= b;
    case TENON_COMPARE_GT:
      return a > b;
    case TENON_COMPARE_GE:
      return a >= b;
    default:
      throw std::runtime_error("unknown compare kind");
  }
}

void neg(const NodeView&, const Operands& in, Results& out) {
  out = {unary(
      *in[0], [](double x) { return -x; }, wrapping_neg)};
}

void abs(const NodeView&, const Operands& in, Results& out) {
  out = {unary(
      *in[0], [](double x) { return std::fabs(x); }, [](int64_t x) { return x < 0 ? wrapping_neg(x) : x; })};
}

void floor(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::floor(x); })};
}

// Halves go to even: nearbyint does so in the default rounding mode.
void round(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::nearbyint(x); })};
}

void exp(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::exp(x); })};
}

void expm1(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::expm1(x); })};
}

void log(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::log(x); })};
}

void log1p(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::log1p(x); })};
}

void sqrt(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::sqrt(x); })};
}

void sin(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::sin(x); })};
}

void cos(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::cos(x); })};
}

void tanh(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::tanh(x); })};
}

void erf(const NodeView&, const Operands& in, Results& out) {
  out = {unary(*in[0], [](double x) { return std::erf(x); })};
}

void add(const NodeView&, const Operands& in, Results& out) {
  out = {binary(
      *in[0], *in[1], [](double a, double b) { return a + b; }, wrapping_add)};
}

void sub(const NodeView&, const Operands& in, Results& out) {
  out = {binary(
      *in[0], *in[1], [](double a, double b) { return a - b; },
      [](int64_t a, int64_t b) { return wrapping_add(a, wrapping_neg(b)); })};
}

void mul(const NodeView&, const Operands& in, Results& out) {
  out = {binary(
      *in[0], *in[1], [](double a, double b) { return a * b; }, wrapping_mul)};
}

void div(const NodeView&, const Operands& in, Results& out) {
  out = {binary(
      *in[0], *in[1], [](double a, double b) { return a / b; }, quotient)};
}

// For bool it is `or`.
void max(const NodeView&, const Operands& in, Results& out) {
  out = {binary(*in[0], *in[1], larger, [](int64_t a, int64_t b) { return a > b ? a : b; })};
}

// For bool it is `and`.
void min(const NodeView&, const Operands& in, Results& out) {
  out = {binary(*in[0], *in[1], smaller, [](int64_t a, int64_t b) { return a < b ? a : b; })};
}

void pow(const NodeView&, const Operands& in, Results& out) {
  out = {binary(*in[0], *in[1], [](double a, double b) { return std::pow(a, b); })};
}

void atan2(const NodeView&, const Operands& in, Results& out) {
  out = {binary(*in[0], *in[1], [](double a, double b) { return std::atan2(a, b); })};
}

// With NaN only ne holds.
void compare(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &a = *in[0], &b = *in[1];
  require(a.dtype == b.dtype, "operands differ in dtype");
  const int32_t kind = node.enumerator("kind");
  Tensor y = zeros(TENON_BOOL, common_dims(in));
  for (size_t i = 0; i < y.i.size(); ++i) {
    y.i[i] = is_float(a) ? compares(kind, element(a.f, i), element(b.f, i))
                         : compares(kind, element(a.i, i), element(b.i, i));
  }
  out = {y};
}

// y = c ? a : b
void select(const NodeView&, const Operands& in, Results& out) {
  const Tensor &c = *in[0], &a = *in[1], &b = *in[2];
  require(c.dtype == TENON_BOOL, "the condition must be bool");
  require(a.dtype == b.dtype, "operands differ in dtype");
  Tensor y = zeros(a.dtype, common_dims(in));
  for (size_t i = 0; i < y.f.size(); ++i) y.f[i] = element(c.i, i) ? element(a.f, i) : element(b.f, i);
  for (size_t i = 0; i < y.i.size(); ++i) y.i[i] = element(c.i, i) ? element(a.i, i) : element(b.i, i);
  out = {y};
}

int64_t to_integer(int32_t dtype, double x) {
  if (std::isnan(x)) return 0;
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  if (dtype == TENON_I32) low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  if (dtype == TENON_U8) low = 0, high = 255;
  if (x <= static_cast<double>(low)) return low;
  if (x >= static_cast<double>(high)) return high;
  return static_cast<int64_t>(x);
}

// An integer as a double that rounds to `to` as the integer itself would: of what 53 bits do not hold one bit is kept.
double to_float(int32_t to, int64_t v) {
  const int64_t kept = v / 2048 * 2048;
  const bool exact = std::abs(v / 2) < int64_t{1} << 52;
  if (to == TENON_F64 || exact || v == kept) return static_cast<double>(v);
  return static_cast<double>(kept) + (v < 0 ? -1024 : 1024);
}

// Float to a narrower float is the rounding of the result. Integer to a narrower one keeps the low bits.
void cast(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const int32_t to = node.enumerator("to");
  Tensor y = zeros(to, x.dims);
  for (int64_t i = 0; i < elements(y); ++i) {
    if (to == TENON_BOOL) {
      y.i[i] = is_float(x) ? x.f[i] != 0 : x.i[i] != 0;
    } else if (is_float(y)) {
      y.f[i] = is_float(x) ? x.f[i] : to_float(to, x.i[i]);
    } else {
      y.i[i] = is_float(x) ? to_integer(to, x.f[i]) : wrap(to, x.i[i]);
    }
  }
  out = {y};
}

constexpr Primitive kElementwisePrimitives[] = {
    {"neg", neg, 0},     {"abs", abs, 0},      {"floor", floor, 0}, {"round", round, 0}, {"exp", exp, 3},
    {"expm1", expm1, 3}, {"log", log, 3},      {"log1p", log1p, 2}, {"sqrt", sqrt, 3},   {"sin", sin, 4},
    {"cos", cos, 4},     {"tanh", tanh, 5},    {"erf", erf, 16},    {"add", add, 0.5},   {"sub", sub, 0.5},
    {"mul", mul, 0.5},   {"div", div, 2.5},    {"max", max, 0},     {"min", min, 0},     {"pow", pow, 16},
    {"atan2", atan2, 6}, {"compare", compare}, {"select", select},  {"cast", cast}};

constexpr bool has_ulps(std::string_view name) {
  for (const Primitive& p : kElementwisePrimitives)
    if (p.op == name) return op::arithmetic_operands(op::row(name)) == 0 || p.ulps != kNoUlps;
  return true;
}
#define TENON_CHECK(name, Name)                                                                       \
  static_assert(op::has_if_arithmetic(kElementwisePrimitives, #name), "the reference has no " #name); \
  static_assert(has_ulps(#name), "the reference does not say how far from " #name " a backend may be");
TENON_FOR_EACH_OP(TENON_CHECK)
#undef TENON_CHECK

}  // namespace

Span<Primitive> elementwise_primitives() { return {kElementwisePrimitives, std::size(kElementwisePrimitives)}; }

}  // namespace tenon::reference
