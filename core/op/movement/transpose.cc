#include "op/rules.h"

namespace tenon {
namespace {

Tensors transpose_gradient(const Gradient& n) {
  const Ints& perm = n.list("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return {transpose(n.g(0), inverse)};
}

}  // namespace

extern const OpDef kTranspose;
constexpr OpDef kTranspose = {"transpose", nullptr, transpose_gradient};

Tensor transpose(Tensor x, const Ints& perm) { return emit1("transpose", {x}, {{"perm", perm}}); }

}  // namespace tenon
