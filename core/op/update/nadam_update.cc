#include "op/update/update_rules.h"

namespace tenon {
namespace {

// b1 (1 - 0.96^t / 2)
Tensor schedule(Tensor t, double b1) { return b1 * (1 - 0.5 * pow(scalar_like(t, 0.96), t)); }

Tensors nadam_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double b1 = n.f64("b1"), b2 = n.f64("b2");
  const Tensor now = schedule(s.t(), b1), next = schedule(s.t() + 1, b1);
  const Tensor q = s.slot(2) * now;
  const Tensor m = s.mean(0, b1, s.g()), v = s.mean(1, b2, square(s.g()));
  const Tensor by_m = s.lr() * next / (1 - q * next), by_g = s.lr() * (1 - now) / (1 - q);
  const Tensor root = sqrt(v / s.unbias(b2)) + n.f64("eps");
  return s.results({s.p() - (by_m * m + by_g * s.g()) / root, m, v, q});
}

}  // namespace

extern const OpDef kNadamUpdate;
constexpr OpDef kNadamUpdate = {"nadam_update", nadam_update_decomposition};

}  // namespace tenon
