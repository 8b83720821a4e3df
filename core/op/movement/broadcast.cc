#include "op/rules.h"

namespace tenon {
namespace {

Tensors broadcast_gradient(const Gradient& n) {
  const Tensor x = n.in(0);
  const Ints& dims = n.list("dims");
  Ints axes = other_axes(dims, n.g(0).rank());
  for (int i = 0; i < x.rank(); ++i)
    if (x.dim(i) == 1 && n.g(0).dim(static_cast<int>(dims[i])) != 1) axes.push_back(dims[i]);
  return {reshape(reduce(n.g(0), axes, ReduceKind::kSum), x.shape())};
}

}  // namespace

extern const OpDef kBroadcast;
constexpr OpDef kBroadcast = {"broadcast", nullptr, broadcast_gradient};

Tensor broadcast(Tensor x, const Shape& shape, const Ints& dims) {
  if (x.shape() == shape) return x;
  return emit1("broadcast", {x}, {{"shape", shape.vec()}, {"dims", dims}});
}

}  // namespace tenon
