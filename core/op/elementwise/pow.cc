#include "op/rules.h"

namespace tenon {
namespace {

Tensors pow_gradient(const Gradient& n) {
  const Tensor g = n.g(0), a = n.in(0), b = n.in(1);
  const Tensor zero = scalar_like(a, 0), one = scalar_like(a, 1);
  Tensor da, db;
  if (n.needs(0)) {
    const Tensor slope = mul(b, pow(a, sub(b, one)));
    da = unbroadcast(mul(g, select(compare(b, zero, CompareKind::kEq), zero, slope)), a);
  }
  if (n.needs(1)) {
    const Tensor positive = compare(a, zero, CompareKind::kGt);
    const Tensor slope = mul(n.out(0), log(select(positive, a, one)));
    db = unbroadcast(mul(g, slope), b);
  }
  return {da, db};
}

}  // namespace

extern const OpDef kPow;
constexpr OpDef kPow = {"pow", nullptr, pow_gradient};

Tensor pow(Tensor a, Tensor b) { return emit1("pow", {a, b}); }

}  // namespace tenon
