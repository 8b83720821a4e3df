#include "op/rules.h"

namespace tenon {
namespace broadcast_op {

void shape_rule(Infer& c) {
  const Shape shape(c.list("shape"));
  const Ints& dims = c.list("dims");
  c.expect(static_cast<int>(dims.size()) == c.shape(0).rank(), "dims has ", dims.size(), " numbers, expected ",
           c.shape(0).rank());
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    c.expect(dims[i] >= 0 && dims[i] < shape.rank() && (i == 0 || dims[i] > dims[i - 1]), "dims [", join(dims, ","),
             "] do not increase within rank ", shape.rank());
    const int64_t from = c.shape(0)[i], to = shape[static_cast<int>(dims[i])];
    c.expect(from == to || from == 1, "axis ", i, " of ", c.in(0).str(), " cannot become axis ", dims[i], " of ",
             shape.str());
  }
  c.result(c.in(0).dtype, shape);
}

Tensors gradient_rule(const Gradient& n) {
  const Tensor x = n.in(0);
  const Ints& dims = n.list("dims");
  Ints axes = other_axes(dims, n.g(0).rank());
  for (int i = 0; i < x.rank(); ++i)
    if (x.dim(i) == 1 && n.g(0).dim(static_cast<int>(dims[i])) != 1) axes.push_back(dims[i]);
  return {reshape(reduce(n.g(0), axes, ReduceKind::kSum), x.shape())};
}

}  // namespace broadcast_op

extern const OpDef kBroadcast;
constexpr OpDef kBroadcast = {"broadcast", broadcast_op::shape_rule, nullptr, broadcast_op::gradient_rule};

Tensor broadcast(Tensor x, const Shape& shape, const Ints& dims) {
  return x.shape() == shape ? x : emit1("broadcast", {x}, {{"shape", shape.vec()}, {"dims", dims}});
}

}  // namespace tenon
