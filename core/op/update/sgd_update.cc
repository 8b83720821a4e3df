#include "op/update/update_rules.h"

namespace tenon {
namespace {

Tensors sgd_update_decomposition(const Decompose& n) {
  const UpdateStep s(n);
  return s.results({s.p() - s.lr() * s.g()});
}

}  // namespace

extern const OpDef kSgdUpdate;
constexpr OpDef kSgdUpdate = {"sgd_update", sgd_update_decomposition};

}  // namespace tenon
