#include "op/rules.h"

namespace tenon {
namespace {

Tensors slice_gradient(const Gradient& n) {
  const Shape& x = n.in(0).shape();
  const Ints& start = n.list("start");
  const Ints stride = n.list("stride").empty() ? Ints(x.rank(), 1) : n.list("stride");
  Ints high, interior;
  for (int i = 0; i < x.rank(); ++i) {
    interior.push_back(stride[i] - 1);
    high.push_back(x[i] - start[i] - (n.g(0).dim(i) - 1) * stride[i] - 1);
  }
  return {pad(n.g(0), start, high, interior, 0)};
}

}  // namespace

extern const OpDef kSlice;
constexpr OpDef kSlice = {"slice", nullptr, slice_gradient};

Tensor slice(Tensor x, const Ints& start, const Ints& limit, const Ints& stride) {
  return emit1("slice", {x}, {{"start", start}, {"limit", limit}, {"stride", stride}});
}

}  // namespace tenon
