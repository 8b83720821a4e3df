#include "kernels/elementwise.h"
#include "kernels/vmath.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// y[n] = f(x[n])
template <auto f>
void unary(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const float* x = static_cast<const float*>(in[0]);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store8(y + i, f(load8(x + i)));
  if (i < n) store8_part(y + i, f(load8_part(x + i, n - i)), n - i);
}

// y[n] = f(a[n], b[n])
template <auto f>
void binary(const void* const* in, void* out, int64_t n, const LoopParams&) {
  const float *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store8(y + i, f(load8(a + i), load8(b + i)));
  if (i < n) {
    const i32x8 m = lane_mask(n - i);
    store8_mask(y + i, f(load8_mask(a + i, m), load8_mask(b + i, m)), m);
  }
}

struct Row {
  std::string_view op;
  Loop loop;
};
const Row kRows[] = {
    {"neg", unary<[](f32x8 x) { return -x; }>},
    {"abs", unary<[](f32x8 x) { return abs8(x); }>},
    {"floor", unary<[](f32x8 x) { return vfloor(x); }>},
    {"round", unary<[](f32x8 x) { return vround(x); }>},
    {"exp", unary<[](f32x8 x) { return vexp(x); }>},
    {"expm1", unary<[](f32x8 x) { return vexpm1(x); }>},
    {"log", unary<[](f32x8 x) { return vlog(x); }>},
    {"log1p", unary<[](f32x8 x) { return vlog1p(x); }>},
    {"sqrt", unary<[](f32x8 x) { return sqrt8(x); }>},
    {"sin", unary<[](f32x8 x) { return vsin(x); }>},
    {"cos", unary<[](f32x8 x) { return vcos(x); }>},
    {"tanh", unary<[](f32x8 x) { return vtanh(x); }>},
    {"erf", unary<[](f32x8 x) { return verf(x); }>},
    {"add", binary<[](f32x8 a, f32x8 b) { return a + b; }>},
    {"sub", binary<[](f32x8 a, f32x8 b) { return a - b; }>},
    {"mul", binary<[](f32x8 a, f32x8 b) { return a * b; }>},
    {"div", binary<[](f32x8 a, f32x8 b) { return a / b; }>},
    {"max", binary<[](f32x8 a, f32x8 b) { return max8_nan(a, b); }>},
    {"min", binary<[](f32x8 a, f32x8 b) { return min8_nan(a, b); }>},
    {"pow", binary<[](f32x8 a, f32x8 b) { return vpow(a, b); }>},
    {"atan2", binary<[](f32x8 a, f32x8 b) { return vatan2(a, b); }>},
};

}  // namespace

Loop float_loop(std::string_view op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.loop;
  return nullptr;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
