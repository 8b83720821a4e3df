// Functions of one tensor, element by element.
#include <cmath>

#include "base/crc32c.h"
#include "import/onnx/onnx_rules.h"
#include "tenon/variables.h"

namespace tenon::onnx {
namespace elementwise_ops {
namespace {

template <Tensor (*F)(Tensor)>
void plain(Call& c) {
  c.map([](Tensor x) { return F(x); });
}

template <Activation A>
void act(Call& c) {
  c.map([](Tensor x) { return activation(x, A); });
}

Tensor asinh_of(Tensor x) {
  const Tensor size = abs(x);
  return sign(x) * log1p(size + square(size) / (sqrt(square(size) + 1.0) + 1.0));
}
Tensor acosh_of(Tensor x) { return log(x + sqrt(x - 1.0) * sqrt(x + 1.0)); }
Tensor atanh_of(Tensor x) { return (log1p(x) - log1p(neg(x))) * 0.5; }
Tensor asin_of(Tensor x) { return atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
Tensor acos_of(Tensor x) { return atan2(sqrt((1.0 - x) * (1.0 + x)), x); }
Tensor atan_of(Tensor x) { return atan2(x, ones_like(x)); }
Tensor sinh_of(Tensor x) { return (expm1(x) - expm1(neg(x))) * 0.5; }
Tensor cosh_of(Tensor x) { return (exp(x) + exp(neg(x))) * 0.5; }
Tensor tan_of(Tensor x) { return div(sin(x), cos(x)); }
Tensor ceil_of(Tensor x) { return neg(floor(neg(x))); }
Tensor reciprocal_of(Tensor x) { return div(ones_like(x), x); }
Tensor sign_of(Tensor x) { return sign(x); }
Tensor softsign_of(Tensor x) { return x / (abs(x) + 1.0); }

void negative(Call& c) { c.give_number(neg(c.in(0)), c.element()); }
void absolute(Call& c) {
  if (is_float(stored_as(c.element())) || c.value(0).is_empty()) return c.map([](Tensor x) { return abs(x); });
  c.give_number(abs(c.in(0)), c.element());
}

void relu_rule(Call& c) {
  c.map(
      [](Tensor x) { return is_float(x.dtype()) ? activation(x, Activation::kRelu) : maximum(x, scalar_like(x, 0)); });
}

void leaky_relu(Call& c) {
  const double alpha = c.real("alpha", 0.01);
  c.map([&](Tensor x) {
    if (alpha >= 0) return activation(x, Activation::kLeakyRelu, alpha);
    return choose(compare(x, scalar_like(x, 0), CompareKind::kLt), x * alpha, x);
  });
}

void elu(Call& c) {
  const double alpha = c.real("alpha", 1);
  c.map([&](Tensor x) { return activation(x, Activation::kElu, alpha); });
}

void selu(Call& c) {
  const double alpha = c.real("alpha", 1.67326319217681884765625), gamma = c.real("gamma", 1.05070102214813232421875);
  c.map([&](Tensor x) {
    if (std::fabs(alpha - 1.6732632) < 1e-6 && std::fabs(gamma - 1.0507010) < 1e-6)
      return activation(x, Activation::kSelu);
    return activation(x, Activation::kElu, alpha) * gamma;
  });
}

void celu(Call& c) {
  const double alpha = c.real("alpha", 1);
  c.map([&](Tensor x) { return maximum(x, scalar_like(x, 0)) + minimum(expm1(x / alpha) * alpha, scalar_like(x, 0)); });
}

void thresholded_relu(Call& c) {
  const double alpha = c.real("alpha", 1);
  c.map([&](Tensor x) { return select(compare(x, scalar_like(x, alpha), CompareKind::kGt), x, scalar_like(x, 0)); });
}

void hard_sigmoid(Call& c) {
  const double alpha = c.real("alpha", 0.2), beta = c.real("beta", 0.5);
  const bool usual = std::fabs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5;
  c.map([&](Tensor x) { return usual ? activation(x, Activation::kHardSigmoid) : clamp(x * alpha + beta, 0, 1); });
}

void gelu(Call& c) {
  const bool tanh = c.text("approximate", "none") == "tanh";
  c.map([&](Tensor x) { return activation(x, tanh ? Activation::kGeluTanh : Activation::kGelu); });
}

void swish(Call& c) {
  const double alpha = c.real("alpha", 1);
  c.map([&](Tensor x) {
    return alpha == 1 ? activation(x, Activation::kSilu) : mul(x, activation(x * alpha, Activation::kSigmoid));
  });
}

void swi_glu(Call& c) {
  const Tensor x = c.in(0);
  const double alpha = c.real("alpha", 1);
  const Tensor gate =
      alpha == 1 ? activation(x, Activation::kSilu) : mul(x, activation(x * alpha, Activation::kSigmoid));
  c.give(mul(gate, c.in(1)));
}

void shrink(Call& c) {
  const double bias = c.real("bias", 0), lambda = c.real("lambd", 0.5);
  const Tensor x = c.in(0);
  const auto at = [&](double v) { return is_float(x.dtype()) ? scalar_like(x, v) : scalar_like(x, std::trunc(v)); };
  const Tensor above = compare(cast(x, DType::kF32), c.scalar(DType::kF32, lambda), CompareKind::kGt);
  const Tensor below = compare(cast(x, DType::kF32), c.scalar(DType::kF32, -lambda), CompareKind::kLt);
  c.give_number(select(above, x - at(bias), select(below, x + at(bias), at(0))), c.element());
}

void round_rule(Call& c) {
  c.map([](Tensor x) { return is_float(x.dtype()) ? round(x) : x; });
}

void is_nan(Call& c) {
  const Value x = c.value(0);
  const Tensor t = x.file();
  c.give(compare(t, t, CompareKind::kNe), Element::kBool);
}

void is_inf(Call& c) {
  const Tensor x = c.in(0);
  const double infinity = INFINITY;
  const bool above = c.flag("detect_positive", true), below = c.flag("detect_negative", true);
  const Tensor high = compare(x, scalar_like(x, infinity), CompareKind::kEq);
  const Tensor low = compare(x, scalar_like(x, -infinity), CompareKind::kEq);
  const Tensor none = cast(cast(high, DType::kI32) * 0.0, DType::kBool);
  c.give(above && below ? maximum(high, low) : above ? high : below ? low : none, Element::kBool);
}

void logical_not(Call& c) {
  const Tensor x = c.in(0);
  c.give(compare(x, full(c.graph(), DType::kBool, {}, 0), CompareKind::kEq), Element::kBool);
}

void identity(Call& c) { c.give(c.value(0)); }

// Draws where the function trains, as the model's author wanted it; where it does not, it is the identity.
void dropout_rule(Call& c) {
  const Tensor x = c.in(0);
  const double rate = c.opset >= 12 ? c.has(1) ? c.known_real(1) : 0.5 : c.real("ratio", 0.5);
  if (!c.trains() || rate == 0) {
    c.give(c.value(0));
  } else {
    const auto stream = static_cast<int64_t>(crc32c(c.graph().unique_name("dropout")));
    c.give(dropout(x, seed_input(c.graph()), draw_step(c.graph()), {}, rate, stream));
  }
  if (c.wants(1)) c.give(full(c.graph(), DType::kBool, x.shape(), 1), Element::kBool);
}

void p_relu(Call& c) {
  const Value v = c.value(0);
  if (c.opset < 7 && v.rank() > 2 && c.value(1).rank() == 1) {  // a slope a channel
    const Tensor t = v.last();
    return c.give_last(select(compare(t, scalar_like(t, 0), CompareKind::kLt), t * c.in(1), t));
  }
  const Aligned a = align(c, {0, 1});
  const Tensor x = a.x[0];
  const Tensor below = compare(x, scalar_like(x, 0), CompareKind::kLt);
  const Tensor y = choose(below, x * a.x[1], x);
  a.last ? c.give_last(y) : c.give(y);
}

constexpr Rule kRules[] = {
    {"Abs", absolute},
    {"Acos", plain<acos_of>},
    {"Acosh", plain<acosh_of>},
    {"Asin", plain<asin_of>},
    {"Asinh", plain<asinh_of>},
    {"Atan", plain<atan_of>},
    {"Atanh", plain<atanh_of>},
    {"Ceil", plain<ceil_of>},
    {"Celu", celu},
    {"Cos", plain<cos>},
    {"Cosh", plain<cosh_of>},
    {"Dropout", dropout_rule},
    {"Elu", elu},
    {"Erf", plain<erf>},
    {"Erfc", plain<erfc>},  // this and Expm1 are TensorFlow's, which tf2onnx leaves as they are
    {"Exp", plain<exp>},
    {"Expm1", plain<expm1>},
    {"Floor", plain<floor>},
    {"Gelu", gelu},
    {"Gelu", gelu, "com.microsoft"},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", act<Activation::kHardSwish>},
    {"Identity", identity},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LeakyRelu", leaky_relu},
    {"Log", plain<log>},
    {"Mish", act<Activation::kMish>},
    {"Neg", negative},
    {"Not", logical_not},
    {"PRelu", p_relu},
    {"Reciprocal", plain<reciprocal_of>},
    {"Relu", relu_rule},
    {"Round", round_rule},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", act<Activation::kSigmoid>},
    {"Sign", plain<sign_of>},
    {"Sin", plain<sin>},
    {"Sinh", plain<sinh_of>},
    {"Softplus", act<Activation::kSoftplus>},
    {"Softsign", plain<softsign_of>},
    {"Sqrt", plain<sqrt>},
    {"SwiGLU", swi_glu},
    {"Swish", swish},
    {"Tan", plain<tan_of>},
    {"Tanh", plain<tanh>},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace
}  // namespace elementwise_ops

Rules elementwise_rules() { return elementwise_ops::kRules; }

}  // namespace tenon::onnx
