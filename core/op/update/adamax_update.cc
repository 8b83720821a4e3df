#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors adamax_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double b1 = n.f64("b1");
  const Tensor m = s.mean(0, b1, s.g());
  const Tensor u = maximum(n.f64("b2") * s.slot(1), abs(s.g()));
  return s.results({s.p() - s.lr() / s.unbias(b1) * m / (u + n.f64("eps")), m, u});
}

}  // namespace

extern const OpDef kAdamaxUpdate;
constexpr OpDef kAdamaxUpdate = {"adamax_update", adamax_update_decomposition};

}  // namespace tenon
