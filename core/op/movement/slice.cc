#include "op/rules.h"

namespace tenon {
namespace slice_op {

void shape_rule(Infer& c) {
  const Shape& x = c.shape(0);
  const Ints &start = c.list("start"), &limit = c.list("limit");
  const Ints stride = c.list("stride").empty() ? Ints(x.rank(), 1) : c.list("stride");
  for (const Ints* list : {&start, &limit, &stride})
    c.expect(static_cast<int>(list->size()) == x.rank(), "start, limit and stride have ", list->size(),
             " numbers, expected ", x.rank());
  Shape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    c.expect(start[i] >= 0 && start[i] < limit[i] && limit[i] <= x[i] && stride[i] >= 1, "takes ", start[i], ":",
             limit[i], ":", stride[i], " of axis ", i, " of ", x.str());
    y.set(i, (limit[i] - start[i] - 1) / stride[i] + 1);
  }
  c.result(c.in(0).dtype, y);
}

Tensors gradient_rule(const Gradient& n) {
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

}  // namespace slice_op

extern const OpDef kSlice;
constexpr OpDef kSlice = {"slice", slice_op::shape_rule, nullptr, slice_op::gradient_rule};

Tensor slice(Tensor x, const Ints& start, const Ints& limit, const Ints& stride) {
  return emit1("slice", {x}, {{"start", start}, {"limit", limit}, {"stride", stride}});
}

}  // namespace tenon
