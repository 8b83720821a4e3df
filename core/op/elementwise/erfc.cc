#include <iterator>

#include "op/rules.h"

namespace tenon {
namespace {

// (1 + 2 a) exp(a^2) erfc(a) for a from 0 to 28 in powers of q = (a - 4) / (a + 4), within 2^-53: a polynomial through
// Chebyshev's points.
constexpr double kScaled[] = {
    1.2329951186255526,     -0.1396211168405629,     0.01537965210262074,     0.06809705425473732,
    -0.10103906603635213,   0.09373283499679412,     -0.06633036581152939,    0.03716751556249286,
    -0.016197734059115006,  0.005031969755895426,    -0.00075777334141333,    -0.00019925550755614952,
    0.000150622243948303,   -2.4403169244974074e-05, -1.1224789135154701e-05, 5.7178872846321855e-06,
    3.0135049944875397e-07, -8.351619688696847e-07,  6.270727157198311e-08,   1.1534943745754157e-07,
    -7.71541861441783e-09,  -1.3670989863347383e-08, -1.8206098680308682e-09};
constexpr double kMost = 28;  // erfc is 0 there in any dtype

// exp(-a^2): a's leading bits, whose square is exact, and the rest.
Tensor exp_of_square(Tensor a) {
  const Tensor high = cast(cast(a, a.dtype() == DType::kF64 ? DType::kF32 : DType::kBF16), a.dtype());
  return exp(-(high * high)) * exp(-((a - high) * (a + high)));
}

Tensors erfc_decomposition(const Decompose& n) {
  const Tensor x = widened(n.in(0)), a = minimum(abs(x), scalar_like(x, kMost));
  const Tensor q = (a - 4) / (a + 4);
  Tensor scaled = full_like(q, std::rbegin(kScaled)[0]);
  for (auto c = std::rbegin(kScaled) + 1; c != std::rend(kScaled); ++c) scaled = scaled * q + *c;
  const Tensor tail = exp_of_square(a) * scaled / (1 + 2 * a);
  return {cast(select(compare(x, scalar_like(x, 0), CompareKind::kLt), 2 - tail, tail), n.in(0).dtype())};
}

Tensors erfc_gradient(const Gradient& n) {
  const Tensor x = n.in(0);
  constexpr double kTwoOverRootPi = 1.1283791670955125739;
  return {-kTwoOverRootPi * (n.g(0) * exp(-(x * x)))};
}

}  // namespace

extern const OpDef kErfc;
constexpr OpDef kErfc = {"erfc", erfc_decomposition, erfc_gradient};

Tensor erfc(Tensor x) { return emit1("erfc", {x}); }

}  // namespace tenon
