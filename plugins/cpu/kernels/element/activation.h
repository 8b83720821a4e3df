// The activations of the op set on eight floats or sixteen, and their gradients, for epilogues and for the
// elementwise kernels. kAct is a tenon_act.
#pragma once

#include <type_traits>

#include "kernels/vmath.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr float kSeluAlpha = 1.67326324235f;
constexpr float kSeluScale = 1.05070098736f;

template <class V>
TENON_INLINE V vrelu(V x) {
  return vmax(V{}, x);
}
template <class V>
TENON_INLINE V vrelu6(V x) {
  return vmin(splat<V>(6.f), vrelu(x));
}
template <class V>
TENON_INLINE V gelu_tanh_inner(V x) {
  return 0.797884561f * (x + 0.044715f * (x * x * x));
}

template <int kAct, class V>
TENON_INLINE V activated(V x, V alpha) {
  if constexpr (kAct == TENON_ACT_RELU) return vrelu(x);
  if constexpr (kAct == TENON_ACT_RELU6) return vrelu6(x);
  if constexpr (kAct == TENON_ACT_LEAKY_RELU) return x > 0.f ? x : alpha * x;
  if constexpr (kAct == TENON_ACT_ELU) return x > 0.f ? x : alpha * vexpm1(x);
  if constexpr (kAct == TENON_ACT_SELU) return kSeluScale * (x > 0.f ? x : kSeluAlpha * vexpm1(x));
  if constexpr (kAct == TENON_ACT_SIGMOID) return vsigmoid(x);
  if constexpr (kAct == TENON_ACT_TANH) return vtanh(x);
  if constexpr (kAct == TENON_ACT_SOFTPLUS) return vrelu(x) + vlog1p(vexp(-vabs(x)));
  if constexpr (kAct == TENON_ACT_GELU) return x * vnormal(x).cdf;
  // (1 + tanh u) / 2 = sigmoid(2 u) does not cancel
  if constexpr (kAct == TENON_ACT_GELU_TANH) return x * vsigmoid(2.f * gelu_tanh_inner(x));
  if constexpr (kAct == TENON_ACT_SILU) return x * vsigmoid(x);
  if constexpr (kAct == TENON_ACT_MISH) {  // tanh(log(1 + e)) = n / (n + 2)
    const V e = vexp(vmin(splat<V>(25.f), x)), n = e * (e + 2.f);
    return x * (n / (n + 2.f));
  }
  if constexpr (kAct == TENON_ACT_HARD_SIGMOID) return vrelu6(x + 3.f) / 6.f;
  if constexpr (kAct == TENON_ACT_HARD_SWISH) return x * vrelu6(x + 3.f) / 6.f;
  return x;
}

// Where an activation stops to be the identity: none, ReLU or ReLU6.
struct Clip {
  float floor = -kInf, ceiling = kInf;
  static constexpr Clip of(int32_t act) {
    Clip c;
    if (act == TENON_ACT_RELU || act == TENON_ACT_RELU6) c.floor = 0;
    if (act == TENON_ACT_RELU6) c.ceiling = 6;
    return c;
  }
  // NaN stays.
  template <class V>
  TENON_INLINE typename V::Vector apply(typename V::Vector x) const {
    return vmin(V::splat(ceiling), vmax(V::splat(floor), x));
  }
};
inline bool is_clip(int32_t act) { return act <= TENON_ACT_RELU6; }

// g times the derivative; t is the result up to softplus, else the argument.
template <int kAct, class V>
TENON_INLINE V act_grad(V g, V t, V alpha) {
  const V zero = {};
  if constexpr (kAct == TENON_ACT_RELU) return t > 0.f ? g : zero;
  if constexpr (kAct == TENON_ACT_RELU6) return ((t > 0.f) & (t < 6.f)) ? g : zero;
  if constexpr (kAct == TENON_ACT_LEAKY_RELU) return t > 0.f ? g : alpha * g;
  if constexpr (kAct == TENON_ACT_ELU) return t < 0.f ? g * (t + alpha) : g;
  if constexpr (kAct == TENON_ACT_SELU) return t < 0.f ? g * (t + kSeluScale * kSeluAlpha) : kSeluScale * g;
  if constexpr (kAct == TENON_ACT_SIGMOID) return g * (t * (1.f - t));
  if constexpr (kAct == TENON_ACT_TANH) return g * (1.f - t * t);
  if constexpr (kAct == TENON_ACT_SOFTPLUS) return g * -vexpm1(-t);
  if constexpr (kAct == TENON_ACT_GELU) {
    const Normal<V> n = vnormal(t);
    return g * (n.cdf + t * n.density);
  }
  if constexpr (kAct == TENON_ACT_GELU_TANH) {
    const V s = vsigmoid(2.f * gelu_tanh_inner(t));
    const V slope = 2.f * 0.797884561f * (1.f + 0.134145f * (t * t));
    return g * (s + t * (s * (1.f - s)) * slope);
  }
  if constexpr (kAct == TENON_ACT_SILU) {
    const V s = vsigmoid(t);
    return g * (s * (1.f + t * (1.f - s)));
  }
  if constexpr (kAct == TENON_ACT_MISH) {
    const V e = vexp(vmin(splat<V>(25.f), t)), n = e * (e + 2.f), d = n + 2.f;
    return g * (n / d + t * (4.f * (e / d) * ((1.f + e) / d)));
  }
  if constexpr (kAct == TENON_ACT_HARD_SIGMOID) return vabs(t) < 3.f ? g / 6.f : zero;
  if constexpr (kAct == TENON_ACT_HARD_SWISH)
    return g * (t <= -3.f ? zero : t >= 3.f ? splat<V>(1.f) : (2.f * t + 3.f) / 6.f);
  return g;
}

// Calls f(std::integral_constant<int, act>): one instantiation for each activation.
template <class F>
auto with_act(int32_t act, F&& f) {
#define TENON_ACT_CASE(a) \
  case a:                 \
    return f(std::integral_constant<int, a>{})
  switch (act) {
    TENON_ACT_CASE(TENON_ACT_RELU);
    TENON_ACT_CASE(TENON_ACT_RELU6);
    TENON_ACT_CASE(TENON_ACT_LEAKY_RELU);
    TENON_ACT_CASE(TENON_ACT_ELU);
    TENON_ACT_CASE(TENON_ACT_SELU);
    TENON_ACT_CASE(TENON_ACT_SIGMOID);
    TENON_ACT_CASE(TENON_ACT_TANH);
    TENON_ACT_CASE(TENON_ACT_SOFTPLUS);
    TENON_ACT_CASE(TENON_ACT_GELU);
    TENON_ACT_CASE(TENON_ACT_GELU_TANH);
    TENON_ACT_CASE(TENON_ACT_SILU);
    TENON_ACT_CASE(TENON_ACT_MISH);
    TENON_ACT_CASE(TENON_ACT_HARD_SIGMOID);
    TENON_ACT_CASE(TENON_ACT_HARD_SWISH);
    default:
      return f(std::integral_constant<int, TENON_ACT_NONE>{});
  }
#undef TENON_ACT_CASE
}

// Loops over n floats, one compiled function for each activation; any of the pointers may be equal.
// For the epilogue of a kernel: fetch once, call on a tile that lies in L1.
using ActLoop = void (*)(const float* x, float* y, int64_t n, float alpha);
ActLoop act_loop(int32_t act);
// The same in place for `count` rows of n floats at these offsets: those of a register tile, as soon as it is stored.
using ActRows = void (*)(float* y, const int64_t* rows, int64_t count, int64_t n, float alpha);
ActRows act_rows(int32_t act);
using ActGradLoop = void (*)(const float* g, const float* t, float* dz, int64_t n, float alpha);
ActGradLoop act_grad_loop(int32_t act);

// The same for one double.
double act_f64(int32_t act, double x, double alpha);
double act_grad_f64(int32_t act, double g, double t, double alpha);

}  // namespace tenon::cpu::TENON_CPU_ISA
