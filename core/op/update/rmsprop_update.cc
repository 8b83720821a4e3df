#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors rmsprop_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  const double rho = n.f64("rho");
  Tensors next{Tensor(), s.mean(0, rho, square(s.g()))};
  Tensor variance = next[1], mean;
  if (n.flag("centered")) {
    mean = s.mean(2, rho, s.g());
    variance = variance - square(mean);
  }
  Tensor d = s.lr() * s.g() / sqrt(variance + n.f64("eps"));
  if (s.has_slot(1)) next.push_back(d = n.f64("mu") * s.slot(1) + d);
  if (mean) next.push_back(mean);
  next[0] = s.p() - d;
  return s.results(next);
}

}  // namespace

extern const OpDef kRmspropUpdate;
constexpr OpDef kRmspropUpdate = {"rmsprop_update", rmsprop_update_decomposition};

}  // namespace tenon
