#include "op/rules.h"

namespace tenon {
namespace transpose_op {

Tensors gradient_rule(const Gradient& n) {
  const Ints& perm = n.list("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return {transpose(n.g(0), inverse)};
}

}  // namespace transpose_op

extern const OpDef kTranspose;
constexpr OpDef kTranspose = {"transpose", nullptr, transpose_op::gradient_rule};

Tensor transpose(Tensor x, const Ints& perm) { return emit1("transpose", {x}, {{"perm", perm}}); }

}  // namespace tenon
