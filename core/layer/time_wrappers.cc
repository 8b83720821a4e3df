// Bidirectional, TimeDistributed.
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "tenon/recurrent.h"

namespace tenon {
namespace {

Tensors merged_ways(Tensor a, Tensor b, MergeMode mode) {
  switch (mode) {
    case MergeMode::kConcat:
      return {concat({a, b}, a.rank() - 1)};
    case MergeMode::kSum:
      return {a + b};
    case MergeMode::kMul:
      return {a * b};
    case MergeMode::kAve:
      return {(a + b) * 0.5};
    case MergeMode::kNone:
      break;
  }
  return {a, b};
}

}  // namespace

Bidirectional::Bidirectional(AnyLayer forward, const Given& of_forward, AnyLayer backward, const Given& of_backward,
                             const BidirectionalOptions& options)
    : LayerOf(options.name),
      forward_(std::move(forward)),
      backward_(std::move(backward)),
      given_(of_forward),
      merge_mode_(options.merge_mode) {
  if (of_forward.backwards == of_backward.backwards)
    fail("bidirectional: both layers go the same way, expected one with go_backwards");
  if (of_forward.sequences != of_backward.sequences || of_forward.state != of_backward.state)
    fail("bidirectional: the layers give different results, expected the same return_sequences and return_state");
}

Tensors Bidirectional::call_all(const Tensors& xs) {
  if (xs.size() % 2 == 0)
    fail("bidirectional '", name(), "': given ", xs.size() - 1, " states, expected as many for each way");
  const auto half = static_cast<std::ptrdiff_t>(xs.size() / 2);
  Tensors one{xs[0]}, other{xs[0]};
  one.insert(one.end(), xs.begin() + 1, xs.begin() + 1 + half);
  other.insert(other.end(), xs.begin() + 1 + half, xs.end());
  const Tensors a = forward_->all(one), b = backward_->all(other);
  Tensors out = merged_ways(a[0], given_.sequences ? reverse(b[0], {1}) : b[0], merge_mode_);
  if (given_.sequences)
    for (const Tensor& y : out) set_mask(y, mask_of(xs[0]));
  out.insert(out.end(), a.begin() + 1, a.end());
  out.insert(out.end(), b.begin() + 1, b.end());
  return out;
}

Tensor time_distributed(Tensor x, const std::function<Tensor(Tensor)>& layer) {
  if (!x) fail("time_distributed: the input was never set");
  if (x.rank() < 2 || x.elements() == 0)
    fail("time_distributed: input is ", x.type().str(), ", expected rank 2 or more");
  std::vector<int64_t> dims = x.shape().vec();
  const int64_t batch = dims[0], steps = dims[1];
  dims.erase(dims.begin());
  dims[0] = batch * steps;
  const Tensor each = reshape(x, Shape(dims)), mask = mask_of(x);
  if (mask && mask.rank() > 1) {
    std::vector<int64_t> of_each = mask.shape().vec();
    of_each.erase(of_each.begin());
    of_each[0] = batch * steps;
    set_mask(each, reshape(mask, Shape(of_each)));
  }
  const Tensor y = layer(each);
  dims = y.shape().vec();
  if (dims.empty() || dims[0] != batch * steps)
    fail("time_distributed: the layer gives ", y.type().str(), ", expected a result for each of ", batch * steps,
         " steps");
  dims[0] = steps;
  dims.insert(dims.begin(), batch);
  return with_mask_of(x, reshape(y, Shape(dims)));
}

Tensor TimeDistributed::call(Tensor x) {
  if (x.rank() < 3)
    fail("time_distributed '", name(), "': input is ", x.type().str(),
         ", expected rank 3 or more: a batch, steps and what each step holds");
  return time_distributed(x, [this](Tensor each) { return (*layer_)(each); });
}

}  // namespace tenon
