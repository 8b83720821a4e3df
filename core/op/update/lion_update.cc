#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors lion_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor p = s.p() - s.lr() * sign(s.mean(0, n.f64("b1"), s.g()));
  return s.results({p, s.mean(0, n.f64("b2"), s.g())});
}

}  // namespace

extern const OpDef kLionUpdate;
constexpr OpDef kLionUpdate = {"lion_update", lion_update_decomposition};

}  // namespace tenon
