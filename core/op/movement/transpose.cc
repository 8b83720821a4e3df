#include "op/rules.h"

namespace tenon {
namespace transpose_op {

void shape_rule(Infer& c) {
  const Ints& perm = c.list("perm");
  const int rank = c.shape(0).rank();
  c.expect(static_cast<int>(perm.size()) == rank && checked_axes(c, perm, rank).size() == perm.size(), "perm [",
           join(perm, ","), "] is no permutation of ", rank, " axes");
  std::vector<int64_t> dims;
  for (int64_t p : perm) {
    c.expect(p >= 0, "perm [", join(perm, ","), "] has a negative axis");
    dims.push_back(c.shape(0)[static_cast<int>(p)]);
  }
  c.result(c.in(0).dtype, Shape(dims));
}

Tensors gradient_rule(const Gradient& n) {
  const Ints& perm = n.list("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return {transpose(n.g(0), inverse)};
}

}  // namespace transpose_op

extern const OpDef kTranspose;
constexpr OpDef kTranspose = {"transpose", transpose_op::shape_rule, nullptr, transpose_op::gradient_rule};

Tensor transpose(Tensor x, const Ints& perm) { return emit1("transpose", {x}, {{"perm", perm}}); }

}  // namespace tenon
