#include "op/rules.h"

namespace tenon {
namespace {

Tensors sub_gradient(const Gradient& n) {
  return {unbroadcast(n.g(0), n.in(0)), n.needs(1) ? unbroadcast(neg(n.g(0)), n.in(1)) : Tensor()};
}

}  // namespace

extern const OpDef kSub;
constexpr OpDef kSub = {"sub", nullptr, sub_gradient};

Tensor sub(Tensor a, Tensor b) { return emit1("sub", {a, b}); }

}  // namespace tenon
