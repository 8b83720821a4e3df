#include "export/tensorflow/windows.h"

#include <algorithm>

namespace tenon::tensorflow {

bool Spatial::any_pads() const {
  const auto is_pad = [](int64_t pad) { return pad != 0; };
  return std::any_of(window.low.begin(), window.low.end(), is_pad) ||
         std::any_of(window.high.begin(), window.high.end(), is_pad);
}

bool Spatial::is_same() const {
  for (int d = 0; d < axes(); ++d) {
    const auto at = static_cast<size_t>(d);
    const PerRows& dim = dims[at + 1];
    if (dim.each != 0) return false;
    const int64_t stride = window.stride[at], places = (dim.base + stride - 1) / stride;
    const int64_t pads =
        std::max<int64_t>((places - 1) * stride + (window.size[at] - 1) * window.dilation[at] + 1 - dim.base, 0);
    if (window.low[at] != pads / 2 || window.high[at] != pads - pads / 2) return false;
  }
  return true;
}

Spatial spatial_of(const NodeScribe& n, Ints size, Dims dims, bool dilated) {
  Spatial out;
  out.dims = std::move(dims);
  const auto axes = static_cast<int>(size.size());
  out.window.size = std::move(size);
  out.window.stride = n.fixed_list("strides", axes);
  out.window.low = n.fixed_list("low", axes);
  out.window.high = n.fixed_list("high", axes);
  out.window.dilation = dilated ? n.fixed_list("dilation", axes) : Ints(static_cast<size_t>(axes), 1);
  return out;
}

Ref with_two_axes(NodeScribe& n, const Ref& x, DType dtype, int axes, int at) {
  return axes == 1 ? n.typed("ExpandDims", dtype, {x, n.nodes().whole(at)}, {type_field("Tdim", DT_INT32)}) : x;
}

Ref with_one_axis(NodeScribe& n, const Ref& y, DType dtype, int axes) {
  return axes == 1 ? n.typed("Squeeze", dtype, {y}, {list_field("squeeze_dims", {1})}) : y;
}

Ints strides_field(const Ints& spatial) {
  Ints out(spatial.size() == 1 ? 2 : 1, 1);
  out.insert(out.end(), spatial.begin(), spatial.end());
  out.push_back(1);
  return out;
}

Ref padded(NodeScribe& n, const Ref& x, DType dtype, Spatial* spatial, double value) {
  Dims low = {fixed(0)}, high = low;
  for (const int64_t pad : spatial->window.low) low.push_back(fixed(pad));
  for (const int64_t pad : spatial->window.high) high.push_back(fixed(pad));
  low.push_back(fixed(0));
  high.push_back(fixed(0));
  std::fill(spatial->window.low.begin(), spatial->window.low.end(), 0);
  std::fill(spatial->window.high.begin(), spatial->window.high.end(), 0);
  return n.pad(x, dtype, &spatial->dims, low, high, {}, value);
}

}  // namespace tenon::tensorflow
