#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors adagrad_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const Tensor sum = s.slot(0) + square(s.g());
  return s.results({s.p() - s.lr() * s.g() / sqrt(sum + n.f64("eps")), sum});
}

}  // namespace

extern const OpDef kAdagradUpdate;
constexpr OpDef kAdagradUpdate = {"adagrad_update", adagrad_update_decomposition};

}  // namespace tenon
