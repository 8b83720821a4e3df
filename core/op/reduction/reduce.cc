#include <algorithm>

#include "op/rules.h"

namespace tenon {
namespace {

// The product of the elements before and after each one, by log2 n shifted products, so that a zero
// among them does no harm.
Tensor product_of_others(Tensor x, const Ints& axes) {
  const Ints kept = other_axes(axes, x.rank());
  Ints perm = kept;
  int64_t count = 1;
  std::vector<int64_t> dims;
  for (int64_t a : kept) dims.push_back(x.dim(static_cast<int>(a)));
  for (int i = 0; i < x.rank(); ++i)
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) perm.push_back(i), count *= x.dim(i);
  const Tensor moved = transpose(x, perm);
  std::vector<int64_t> flat = dims;
  flat.push_back(count);
  const auto exclusive = [&](Tensor t, bool from_end) {
    const int axis = t.rank() - 1;
    const auto shifted = [&](Tensor v, int64_t by) {
      Ints low(v.rank(), 0), high(v.rank(), 0), start(v.rank(), 0), limit = v.shape().vec();
      (from_end ? high : low)[axis] = by;
      (from_end ? start : limit)[axis] = from_end ? by : count - by;
      if (from_end) limit[axis] = count;
      return pad(slice(v, start, limit, {}), low, high, {}, 1);
    };
    Tensor p = count > 1 ? shifted(t, 1) : full_like(t, 1);
    for (int64_t by = 1; by < count; by *= 2) p = mul(p, shifted(p, by));
    return p;
  };
  const Tensor t = reshape(moved, Shape(flat));
  const Tensor others = reshape(mul(exclusive(t, false), exclusive(t, true)), moved.shape());
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return transpose(others, inverse);
}

Tensors reduce_gradient(const Gradient& n) {
  const Tensor x = n.in(0), g = n.g(0);
  const Ints& axes = n.list("axes");
  const Tensor wide = expand_reduced(g, x.shape(), axes);
  switch (static_cast<ReduceKind>(n.enumerator("kind"))) {
    case ReduceKind::kSum:
      return {wide};
    case ReduceKind::kProd:
      return {mul(wide, product_of_others(x, axes))};
    default:
      break;
  }
  // max, min: shared by ties
  const Tensor hit = compare(x, expand_reduced(n.out(0), x.shape(), axes), CompareKind::kEq);
  const Tensor ones = cast(hit, g.dtype());
  const Tensor count = expand_reduced(reduce(ones, axes, ReduceKind::kSum), x.shape(), axes);
  return {div(mul(wide, ones), count)};
}

}  // namespace

extern const OpDef kReduce;
constexpr OpDef kReduce = {"reduce", nullptr, reduce_gradient};

Tensor reduce(Tensor x, const Ints& axes, ReduceKind kind) {
  return axes.empty() ? x
                      : emit1("reduce", {x}, {{"axes", positive_axes("reduce", x, axes)}, {"kind", number_of(kind)}});
}

}  // namespace tenon
