// Elementwise loops that the compiler vectorises by itself or leaves to libm: f64, integers, bool.
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/element/elementwise.h"
#include "tenon/op/coverage.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// y[n] = f(x[n]); y may be x itself, never a shifted one.
template <class T, auto f>
void unary(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}
template <class T, auto f, class Y = T>
void binary(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  Y* y = static_cast<Y*>(out);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

Loop find(const LoopRow* rows, size_t n, std::string_view op) {
  for (size_t i = 0; i < n; ++i)
    if (rows[i].op == op) return rows[i].loop;
  return nullptr;
}

using D = double;
constexpr LoopRow kDouble[] = {
    {"neg", unary<D, [](D x) { return -x; }>},
    {"abs", unary<D, [](D x) { return std::fabs(x); }>},
    {"floor", unary<D, [](D x) { return std::floor(x); }>},
    {"round", unary<D, [](D x) { return std::nearbyint(x); }>},
    {"exp", unary<D, [](D x) { return std::exp(x); }>},
    {"expm1", unary<D, [](D x) { return std::expm1(x); }>},
    {"log", unary<D, [](D x) { return std::log(x); }>},
    {"log1p", unary<D, [](D x) { return std::log1p(x); }>},
    {"sqrt", unary<D, [](D x) { return std::sqrt(x); }>},
    {"sin", unary<D, [](D x) { return std::sin(x); }>},
    {"cos", unary<D, [](D x) { return std::cos(x); }>},
    {"tanh", unary<D, [](D x) { return std::tanh(x); }>},
    {"erf", unary<D, [](D x) { return std::erf(x); }>},
    {"erfc", unary<D, [](D x) { return std::erfc(x); }>},
    {"add", binary<D, [](D a, D b) { return a + b; }>},
    {"sub", binary<D, [](D a, D b) { return a - b; }>},
    {"mul", binary<D, [](D a, D b) { return a * b; }>},
    {"div", binary<D, [](D a, D b) { return a / b; }>},
    {"max", binary<D, [](D a, D b) { return a != a || b < a ? a : b; }>},
    {"min", binary<D, [](D a, D b) { return a != a || a < b ? a : b; }>},
    {"pow", binary<D, [](D a, D b) { return std::pow(a, b); }>},
    {"atan2", binary<D, [](D a, D b) { return std::atan2(a, b); }>},
};

#define TENON_CHECK(name, Name) static_assert(op::has_if_arithmetic(kDouble, #name), "no loop of f64 for " #name);
TENON_FOR_EACH_OP(TENON_CHECK)
#undef TENON_CHECK

// Integers wrap: arithmetic in the unsigned type.
template <class T>
struct Integers {
  using U = std::make_unsigned_t<T>;
  static T divide(T a, T b) { return b == 0 || (b == -1 && a == std::numeric_limits<T>::min()) ? a : a / b; }
  static inline const LoopRow rows[] = {
      {"neg", unary<T, [](T x) { return T(U(0) - U(x)); }>},
      {"abs", unary<T, [](T x) { return x < 0 ? T(U(0) - U(x)) : x; }>},
      {"add", binary<T, [](T a, T b) { return T(U(a) + U(b)); }>},
      {"sub", binary<T, [](T a, T b) { return T(U(a) - U(b)); }>},
      {"mul", binary<T, [](T a, T b) { return T(U(a) * U(b)); }>},
      {"div", binary<T, [](T a, T b) { return divide(a, b); }>},
      {"max", binary<T, [](T a, T b) { return b < a ? a : b; }>},
      {"min", binary<T, [](T a, T b) { return a < b ? a : b; }>},
  };
};

const LoopRow kBool[] = {
    {"max", binary<uint8_t, [](uint8_t a, uint8_t b) { return uint8_t(a | b); }>},
    {"min", binary<uint8_t, [](uint8_t a, uint8_t b) { return uint8_t(a & b); }>},
};

template <class T>
Loop compare_of(int32_t kind) {
  switch (kind) {
    case TENON_COMPARE_EQ:
      return binary<T, [](T a, T b) { return a == b; }, uint8_t>;
    case TENON_COMPARE_NE:
      return binary<T, [](T a, T b) { return a != b; }, uint8_t>;
    case TENON_COMPARE_LT:
      return binary<T, [](T a, T b) { return a < b; }, uint8_t>;
    case TENON_COMPARE_LE:
      return binary<T, [](T a, T b) { return a <= b; }, uint8_t>;
    case TENON_COMPARE_GT:
      return binary<T, [](T a, T b) { return b < a; }, uint8_t>;
    case TENON_COMPARE_GE:
      return binary<T, [](T a, T b) { return b <= a; }, uint8_t>;
    default:
      return nullptr;
  }
}

// y[n] = c[n] ? a[n] : b[n], whatever the elements mean.
template <class T>
void select(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
  T* y = static_cast<T*>(out);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const T u = a[i], v = b[i];
    y[i] = c[i] ? u : v;
  }
}

template <class R>
Loop find(const R& rows, std::string_view op) {
  return find(rows, std::size(rows), op);
}

}  // namespace

Loop double_loop(std::string_view op) { return find(kDouble, op); }

Loop integer_loop(std::string_view op, int32_t dtype) {
  if (dtype == TENON_I32) return find(Integers<int32_t>::rows, op);
  if (dtype == TENON_I64) return find(Integers<int64_t>::rows, op);
  return dtype == TENON_BOOL ? find(kBool, op) : nullptr;
}

Loop compare_loop(int32_t dtype, int32_t kind) {
  switch (dtype) {
    case TENON_F64:
      return compare_of<double>(kind);
    case TENON_I32:
      return compare_of<int32_t>(kind);
    case TENON_I64:
      return compare_of<int64_t>(kind);
    case TENON_U8:
    case TENON_BOOL:
      return compare_of<uint8_t>(kind);
    default:
      return compare_of<float>(kind);
  }
}

Loop select_loop(int32_t dtype) {
  switch (plugin::dtype_bytes(dtype)) {
    case 8:
      return select<uint64_t>;
    case 4:
      return select<uint32_t>;
    case 2:
      return select<uint16_t>;
    default:
      return select<uint8_t>;
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
