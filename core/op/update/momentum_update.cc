#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors momentum_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor d = s.lr() * s.g();
  const Tensor m = n.f64("mu") * s.slot(0) - d;
  return s.results({s.p() + (n.flag("nesterov") ? n.f64("mu") * m - d : m), m});
}

}  // namespace

extern const OpDef kMomentumUpdate;
constexpr OpDef kMomentumUpdate = {"momentum_update", momentum_update_decomposition};

}  // namespace tenon
