// Masking, and what layers do with masks.
#include "layer/object/masks.h"

#include "layer/object/layer_scope.h"
#include "op/bounded.h"
#include "op/replicas.h"

namespace tenon {
namespace {

Ints first_axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

}  // namespace

Tensor mask_of(Tensor x) {
  if (!x) return {};
  const auto& masks = x.graph()->masks;
  const auto found = masks.find(x.id());
  return found == masks.end() ? Tensor() : Tensor(x.graph(), found->second);
}

void set_mask(Tensor x, Tensor mask) {
  if (!x) fail("set_mask: the tensor was never set");
  auto& masks = x.graph()->masks;
  if (!mask) {
    masks.erase(x.id());
    return;
  }
  if (!mask.is_of(*x.graph())) fail("set_mask: the mask is ", foreign_text(mask));
  bool fits = mask.rank() >= 1 && mask.rank() <= x.rank();
  for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.dim(i) == x.dim(i);
  if (!fits) fail("set_mask: the mask is ", mask.type().str(), ", expected the first sizes of ", x.type().str());
  masks[x.id()] = cast(mask, DType::kBool).id();
}

Tensor masking(Tensor x, const MaskingOptions& o) {
  const LayerScope scope(x, "masking", o.name);
  scope.expect_number("mask_value", o.mask_value);
  scope.expect(x.rank() >= 2 && x.elements() > 0, "input is ", x.type().str(), ", expected rank 2 or more");
  const Tensor counts = reduce_max(compare(x, scalar_like(x, o.mask_value), CompareKind::kNe), {-1});
  const Tensor y = select(broadcast(counts, x.shape(), first_axes(counts.rank())), x, scalar_like(x, 0));
  set_mask(y, counts);
  return y;
}

Tensor with_mask_of(Tensor x, Tensor y) {
  if (const Tensor mask = mask_of(x); mask && !(x == y)) set_mask(y, mask);
  return y;
}

Tensor mask_over(Tensor x, DType dtype) {
  const Tensor mask = mask_of(x);
  return cast(broadcast(mask, x.shape(), first_axes(mask.rank())), dtype);
}

Tensor counted_steps(Tensor x) { return select(mask_over(x, DType::kBool), x, scalar_like(x, 0)); }

Tensor merged_mask(const Tensors& xs) {
  Tensor merged;
  for (const Tensor& x : xs) {
    const Tensor mask = mask_of(x);
    if (!mask) return {};
    if (!merged) {
      merged = mask;
      continue;
    }
    const Shape shape = broadcast_shapes(merged.shape(), mask.shape());
    merged = maximum(broadcast_to(merged, shape), broadcast_to(mask, shape));
  }
  return merged;
}

Tensor concatenated_mask(const Tensors& xs, int64_t axis) {
  bool any = false;
  for (const Tensor& x : xs) any = any || mask_of(x);
  if (!any) return {};
  Tensors masks;
  for (const Tensor& x : xs)
    masks.push_back(mask_of(x) ? mask_over(x, DType::kBool) : full(*x.graph(), DType::kBool, x.shape(), 1));
  return reduce_max(concat(masks, axis), {-1});
}

Tensor masked_weight(std::string_view what, Tensor mask, Tensor weight, Reduction reduction) {
  Tensor counts = cast(mask, DType::kF32);
  if (reduction == Reduction::kSumOverBatchSize) {
    const Tensor found = mean_over_replicas(reduce_sum(counts));
    const double least = 1.0 / mask.graph()->replicas;  // where there is none, nothing is weighed by it
    counts = counts * (element_count(mask) / maximum(found, scalar_like(found, least)));
  }
  if (!weight) return counts;
  return weight.rank() > counts.rank() ? cast(weight, DType::kF32) * sample_weights(what, counts, weight)
                                       : counts * sample_weights(what, weight, counts);
}

}  // namespace tenon
