#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors adadelta_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double rho = n.f64("rho"), eps = n.f64("eps");
  const Tensor sum = s.mean(0, rho, square(s.g()));
  const Tensor d = s.g() * sqrt(s.slot(1) + eps) / sqrt(sum + eps);
  return s.results({s.p() - s.lr() * d, sum, s.mean(1, rho, square(d))});
}

}  // namespace

extern const OpDef kAdadeltaUpdate;
constexpr OpDef kAdadeltaUpdate = {"adadelta_update", adadelta_update_decomposition};

}  // namespace tenon
