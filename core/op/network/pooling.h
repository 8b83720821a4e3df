// What the pooling ops share. Pads never reach the size of the window, so each window holds an element.
#pragma once

#include "op/rules.h"

namespace tenon {

PoolOptions pool_options(const AttrReader& a);
Attrs pool_attrs(const PoolOptions& o);

// x with the spatial dimensions padded.
Tensor pad_spatial(Tensor x, const Window& w, double value);
// The padded gradient without its pads: the inverse of pad_spatial for an input of these sizes.
Tensor crop_spatial(Tensor dx, const Window& w, const Ints& size);
// Takes from the padded x the element at `offset` of each window along spatial dimension d.
Tensor take_offset(Tensor x, const Window& w, int d, int64_t offset, int64_t outputs);
// Its transpose: puts them back among zeros, `padded` long.
Tensor put_offset(Tensor y, const Window& w, int d, int64_t offset, int64_t padded);
// Folds the windows of the padded x.
Tensor fold_windows(Tensor x, const Window& w, const Shape& y, Tensor (*fold)(Tensor, Tensor));

}  // namespace tenon
