#include "op/rules.h"

namespace tenon {
namespace {

constexpr double kSeluScale = 1.0507009873554804934;
constexpr double kSeluAlpha = 1.6732632423543772848;
constexpr double kRootTwoOverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

Tensor sigmoid(Tensor x) { return 1 / (1 + exp(-x)); }
Tensor softplus(Tensor x) { return maximum(x, scalar_like(x, 0)) + log1p(exp(-abs(x))); }
Tensor below_zero(Tensor x) { return expm1(minimum(x, scalar_like(x, 0))); }  // of an argument that cannot overflow
Tensor gelu_inner(Tensor x) { return kRootTwoOverPi * (x + kGeluCubic * (x * x * x)); }
Tensor gelu_cdf(Tensor x) { return 0.5 * (1 + erf(x * 0.70710678118654752440)); }

Tensor positive(Tensor x) { return compare(x, scalar_like(x, 0), CompareKind::kGt); }

Tensor compute(Tensor x, Activation act, double alpha) {
  switch (act) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return maximum(x, scalar_like(x, 0));
    case Activation::kRelu6:
      return clamp(x, 0, 6);
    case Activation::kLeakyRelu:
      return select(positive(x), x, alpha * x);
    case Activation::kElu:
      return select(positive(x), x, alpha * below_zero(x));
    case Activation::kSelu:
      return kSeluScale * select(positive(x), x, kSeluAlpha * below_zero(x));
    case Activation::kSigmoid:
      return sigmoid(x);
    case Activation::kTanh:
      return tanh(x);
    case Activation::kSoftplus:
      return softplus(x);
    case Activation::kGelu:
      return x * gelu_cdf(x);
    case Activation::kGeluTanh:
      return x * sigmoid(2 * gelu_inner(x));
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kMish:
      return x * tanh(softplus(x));
    case Activation::kHardSigmoid:
      return clamp(x + 3, 0, 6) / 6;
    case Activation::kHardSwish:
      return x * clamp(x + 3, 0, 6) / 6;
  }
  fail("activation: no number ", static_cast<int>(act));
}

Tensors activation_decomposition(const Decompose& n) {
  const Tensor x = n.in(0);
  return {cast(compute(widened(x), activation_of(n), n.f64("alpha")), x.dtype())};
}

Tensors activation_gradient(const Gradient& n) {
  const Activation act = activation_of(n);
  return {activation_grad(n.g(0), gradient_from_result(act) ? n.out(0) : n.in(0), act, n.f64("alpha"))};
}

}  // namespace

extern const OpDef kActivation;
constexpr OpDef kActivation = {"activation", activation_decomposition, activation_gradient};

Tensor activation(Tensor x, Activation act, double alpha) {
  if (act == Activation::kNone) return x;
  return emit1("activation", {x}, {{"act", number_of(act)}, {"alpha", alpha}}, activation_name(act));
}

bool gradient_from_result(Activation act) { return act <= Activation::kSoftplus; }

namespace {

Tensor inside(Tensor t, double low, double high) {
  return minimum(compare(t, scalar_like(t, low), CompareKind::kGt), compare(t, scalar_like(t, high), CompareKind::kLt));
}

// The slope from the result t.
Tensor slope_from_result(Tensor t, Activation act, double alpha) {
  const Tensor zero = scalar_like(t, 0), one = scalar_like(t, 1);
  const Tensor negative = compare(t, zero, CompareKind::kLt);
  switch (act) {
    case Activation::kRelu:
      return select(positive(t), one, zero);
    case Activation::kRelu6:
      return select(inside(t, 0, 6), one, zero);
    case Activation::kLeakyRelu:
      return select(positive(t), one, scalar_like(t, alpha));
    case Activation::kElu:
      return select(negative, t + alpha, one);
    case Activation::kSelu:
      return select(negative, t + kSeluScale * kSeluAlpha, scalar_like(t, kSeluScale));
    case Activation::kSigmoid:
      return t * (1 - t);
    case Activation::kTanh:
      return 1 - t * t;
    default:
      return -expm1(-t);  // softplus
  }
}

Tensor gelu_tanh_slope(Tensor t) {
  const Tensor s = sigmoid(2 * gelu_inner(t));
  const Tensor inner = 2 * kRootTwoOverPi * (1 + 3 * kGeluCubic * (t * t));
  return s + t * (s * (1 - s)) * inner;
}

Tensor mish_slope(Tensor t) {
  const Tensor w = tanh(softplus(t));
  return w + t * sigmoid(t) * (1 - w * w);
}

Tensor hard_swish_slope(Tensor t) {
  const Tensor left = compare(t, scalar_like(t, -3), CompareKind::kLe);
  const Tensor right = compare(t, scalar_like(t, 3), CompareKind::kGe);
  return select(left, scalar_like(t, 0), select(right, scalar_like(t, 1), (2 * t + 3) / 6));
}

// The slope from the argument t.
Tensor slope_from_argument(Tensor t, Activation act) {
  switch (act) {
    case Activation::kGelu:
      return gelu_cdf(t) + t * (0.39894228040143267794 * exp(-0.5 * (t * t)));
    case Activation::kGeluTanh:
      return gelu_tanh_slope(t);
    case Activation::kSilu:
      return sigmoid(t) * (1 + t * (1 - sigmoid(t)));
    case Activation::kMish:
      return mish_slope(t);
    case Activation::kHardSigmoid:
      return cast(inside(t, -3, 3), t.dtype()) / 6;
    default:
      return hard_swish_slope(t);
  }
}

Tensors activation_grad_decomposition(const Decompose& n) {
  const Activation act = activation_of(n);
  const Tensor g = n.in(op::activation_grad::g), t = widened(n.in(op::activation_grad::t));
  if (act == Activation::kNone) return {g};
  const Tensor zero = scalar_like(t, 0), wide = widened(g);
  Tensor dx;
  // select, not g * 0: an infinite g does not leak through a closed gate
  if (act == Activation::kRelu)
    dx = select(positive(t), wide, zero);
  else if (act == Activation::kRelu6)
    dx = select(inside(t, 0, 6), wide, zero);
  else if (gradient_from_result(act))
    dx = wide * slope_from_result(t, act, n.f64("alpha"));
  else
    dx = wide * slope_from_argument(t, act);
  return {cast(dx, g.dtype())};
}

}  // namespace

extern const OpDef kActivationGrad;
constexpr OpDef kActivationGrad = {"activation_grad", activation_grad_decomposition};

Tensor activation_grad(Tensor g, Tensor t, Activation act, double alpha) {
  if (act == Activation::kNone) return g;
  return emit1("activation_grad", {g, t}, {{"act", number_of(act)}, {"alpha", alpha}});
}

}  // namespace tenon
