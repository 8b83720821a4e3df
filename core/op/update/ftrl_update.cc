#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensor power(Tensor x, double k) { return k == 0.5 ? sqrt(x) : pow(x, scalar_like(x, k)); }

Tensors ftrl_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double k = -n.f64("lr_power"), l1 = n.f64("l1"), shrink = n.f64("shrink");
  const Tensor sum = s.slot(0) + square(s.g());
  const Tensor high = power(sum, k) / s.lr(), sigma = high - power(s.slot(0), k) / s.lr();
  const Tensor g = shrink == 0 ? s.g() : s.g() + 2 * shrink * s.p();
  const Tensor z = s.slot(1) + (g - sigma * s.p());
  const Tensor curvature = high + (2 * n.f64("l2_reg") + n.f64("beta") / s.lr());
  return s.results({(clamp(z, -l1, l1) - z) / curvature, sum, z});
}

}  // namespace

extern const OpDef kFtrlUpdate;
constexpr OpDef kFtrlUpdate = {"ftrl_update", ftrl_update_decomposition};

}  // namespace tenon
