#include "kernels/element/elementwise.h"
#include "kernels/vmath.h"
#include "tenon/op/coverage.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// y[n] = f(x[n])
template <auto f>
void unary_f32(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const float* x = static_cast<const float*>(in[0]);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  if constexpr (std::is_invocable_v<decltype(f), Lanes::Vector>)
    for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) Lanes::store(y + i, f(Lanes::load(x + i)));
  for (; i + 8 <= n; i += 8) store8(y + i, f(load8(x + i)));
  if (i < n) store8_part(y + i, f(load8_part(x + i, n - i)), n - i);
}

// y[n] = f(a[n], b[n])
template <auto f>
void binary_f32(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const float *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store8(y + i, f(load8(a + i), load8(b + i)));
  if (i < n) {
    const i32x8 m = lane_mask(n - i);
    store8_mask(y + i, f(load8_mask(a + i, m), load8_mask(b + i, m)), m);
  }
}

constexpr LoopRow kFloatRows[] = {
    {"neg", unary_f32<[](auto x) { return -x; }>},
    {"abs", unary_f32<[](auto x) { return vabs(x); }>},
    {"floor", unary_f32<[](auto x) { return vfloor(x); }>},
    {"round", unary_f32<[](auto x) { return vround(x); }>},
    {"exp", unary_f32<[](auto x) { return vexp(x); }>},
    {"expm1", unary_f32<[](auto x) { return vexpm1(x); }>},
    {"log", unary_f32<[](auto x) { return vlog(x); }>},
    {"log1p", unary_f32<[](auto x) { return vlog1p(x); }>},
    {"sqrt", unary_f32<[](f32x8 x) { return sqrt8(x); }>},
    {"sin", unary_f32<[](f32x8 x) { return vsin(x); }>},
    {"cos", unary_f32<[](f32x8 x) { return vcos(x); }>},
    {"tanh", unary_f32<[](auto x) { return vtanh(x); }>},
    {"erf", unary_f32<[](auto x) { return verf(x); }>},
    {"erfc", unary_f32<[](auto x) { return verfc(x); }>},
    {"add", binary_f32<[](f32x8 a, f32x8 b) { return a + b; }>},
    {"sub", binary_f32<[](f32x8 a, f32x8 b) { return a - b; }>},
    {"mul", binary_f32<[](f32x8 a, f32x8 b) { return a * b; }>},
    {"div", binary_f32<[](f32x8 a, f32x8 b) { return a / b; }>},
    {"max", binary_f32<[](f32x8 a, f32x8 b) { return vmax_nan(a, b); }>},
    {"min", binary_f32<[](f32x8 a, f32x8 b) { return vmin_nan(a, b); }>},
    {"pow", binary_f32<[](f32x8 a, f32x8 b) { return vpow(a, b); }>},
    {"atan2", binary_f32<[](f32x8 a, f32x8 b) { return vatan2(a, b); }>},
};

#define TENON_CHECK(name, Name) static_assert(op::has_if_arithmetic(kFloatRows, #name), "no loop of f32 for " #name);
TENON_FOR_EACH_OP(TENON_CHECK)
#undef TENON_CHECK

}  // namespace

Loop float_loop(std::string_view op) {
  for (const LoopRow& row : kFloatRows)
    if (row.op == op) return row.loop;
  return nullptr;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
