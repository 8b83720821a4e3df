#include "layer/layer.h"

namespace tenon {
LayerScope::LayerScope(Tensor x, std::string_view name) : graph_(*x.graph()), saved_(graph_.scope()) {
  name_ = graph_.unique_name(name);
  graph_.set_scope(name_);
}

Tensor weight(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
              Regularizer regularizer) {
  const Tensor w = variable(x, name, shape, rule(shape), trainable);
  if (regularizer.l1 != 0) add_loss(mul(reduce_sum(abs(w)), scalar_like(w, regularizer.l1)));
  if (regularizer.l2 != 0) add_loss(mul(reduce_sum(square(w)), scalar_like(w, regularizer.l2)));
  return cast(w, x.dtype());
}

Ints Extent::of(int dimensions) const {
  if (sizes_.size() == 1) return Ints(static_cast<size_t>(dimensions), sizes_[0]);
  if (static_cast<int>(sizes_.size()) != dimensions)
    fail("has ", sizes_.size(), " sizes, expected 1 or ", dimensions);
  return sizes_;
}

Paddings paddings(Padding padding, const Ints& input, const Ints& kernel, const Ints& strides, const Ints& dilation) {
  Paddings p{Ints(input.size(), 0), Ints(input.size(), 0)};
  for (size_t d = 0; d < input.size(); ++d) {
    const int64_t reach = (kernel[d] - 1) * dilation[d];
    if (padding == Padding::kCausal) p.low[d] = reach;
    if (padding != Padding::kSame) continue;
    const int64_t output = (input[d] + strides[d] - 1) / strides[d];
    const int64_t total = std::max<int64_t>((output - 1) * strides[d] + reach + 1 - input[d], 0);
    p.low[d] = total / 2;
    p.high[d] = total - total / 2;
  }
  return p;
}

}  // namespace tenon
