#include "kernels/element/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <int kAct>
TENON_INLINE void act_some(const float* x, float* y, int64_t n, float alpha) {
  const auto a = Lanes::splat(alpha);
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) Lanes::store(y + i, activated<kAct>(Lanes::load(x + i), a));
  if (i == n) return;
  Lanes::store_part(y + i, activated<kAct>(Lanes::load(x + i, Lanes::first(n - i)), a), n - i);
}
template <int kAct>
void act_floats(const float* x, float* y, int64_t n, float alpha) {
  act_some<kAct>(x, y, n, alpha);
}

template <int kAct>
void act_tile(float* y, const int64_t* rows, int64_t count, int64_t n, float alpha) {
  for (int64_t r = 0; r < count; ++r) act_some<kAct>(y + rows[r], y + rows[r], n, alpha);
}

template <int kAct>
void act_grad_floats(const float* g, const float* t, float* dz, int64_t n, float alpha) {
  const auto a = Lanes::splat(alpha);
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes)
    Lanes::store(dz + i, act_grad<kAct>(Lanes::load(g + i), Lanes::load(t + i), a));
  if (i == n) return;
  const auto rest = Lanes::first(n - i);
  Lanes::store_part(dz + i, act_grad<kAct>(Lanes::load(g + i, rest), Lanes::load(t + i, rest), a), n - i);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
double relu6(double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
double gelu_tanh_factor(double x) { return sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }
double softplus(double x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x))); }

constexpr double kAlpha64 = 1.6732632423543772, kScale64 = 1.0507009873554805;

}  // namespace

ActLoop act_loop(int32_t act) {
  return with_act(act, [](auto a) -> ActLoop { return act_floats<a.value>; });
}
ActRows act_rows(int32_t act) {
  return with_act(act, [](auto a) -> ActRows { return act_tile<a.value>; });
}
ActGradLoop act_grad_loop(int32_t act) {
  return with_act(act, [](auto a) -> ActGradLoop { return act_grad_floats<a.value>; });
}

double act_f64(int32_t act, double x, double alpha) {
  switch (act) {
    case TENON_ACT_RELU:
      return x < 0 ? 0 : x;
    case TENON_ACT_RELU6:
      return relu6(x);
    case TENON_ACT_LEAKY_RELU:
      return x > 0 ? x : alpha * x;
    case TENON_ACT_ELU:
      return x > 0 ? x : alpha * std::expm1(x);
    case TENON_ACT_SELU:
      return kScale64 * (x > 0 ? x : kAlpha64 * std::expm1(x));
    case TENON_ACT_SIGMOID:
      return sigmoid(x);
    case TENON_ACT_TANH:
      return std::tanh(x);
    case TENON_ACT_SOFTPLUS:
      return softplus(x);
    case TENON_ACT_GELU:
      return x * normal_cdf(x);
    case TENON_ACT_GELU_TANH:
      return x * gelu_tanh_factor(x);
    case TENON_ACT_SILU:
      return x * sigmoid(x);
    case TENON_ACT_MISH:
      return x * std::tanh(softplus(x));
    case TENON_ACT_HARD_SIGMOID:
      return relu6(x + 3) / 6;
    case TENON_ACT_HARD_SWISH:
      return x * relu6(x + 3) / 6;
    default:
      return x;
  }
}

double act_grad_f64(int32_t act, double g, double t, double alpha) {
  switch (act) {
    case TENON_ACT_RELU:
      return t > 0 ? g : 0;
    case TENON_ACT_RELU6:
      return t > 0 && t < 6 ? g : 0;
    case TENON_ACT_LEAKY_RELU:
      return t > 0 ? g : alpha * g;
    case TENON_ACT_ELU:
      return t < 0 ? g * (t + alpha) : g;
    case TENON_ACT_SELU:
      return t < 0 ? g * (t + kScale64 * kAlpha64) : g * kScale64;
    case TENON_ACT_SIGMOID:
      return g * (t * (1 - t));
    case TENON_ACT_TANH:
      return g * (1 - t * t);
    case TENON_ACT_SOFTPLUS:
      return g * -std::expm1(-t);
    case TENON_ACT_GELU:
      return g * (normal_cdf(t) + t * std::exp(-0.5 * t * t) / std::sqrt(2 * M_PI));
    case TENON_ACT_GELU_TANH: {
      const double s = gelu_tanh_factor(t), slope = 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * t * t);
      return g * (s + t * (s * (1 - s)) * slope);
    }
    case TENON_ACT_SILU: {
      const double s = sigmoid(t);
      return g * (s * (1 + t * (1 - s)));
    }
    case TENON_ACT_MISH: {
      const double h = std::tanh(softplus(t));
      return g * (h + t * (1 - h * h) * sigmoid(t));
    }
    case TENON_ACT_HARD_SIGMOID:
      return std::fabs(t) < 3 ? g / 6 : 0;
    case TENON_ACT_HARD_SWISH:
      return g * (t <= -3 ? 0 : t >= 3 ? 1 : (2 * t + 3) / 6);
    default:
      return g;
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
