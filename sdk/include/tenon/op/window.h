// A window that slides over the spatial dimensions of [N, S.., C]: convolutions and pools. C++17, header only.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::op {

// A number for each spatial dimension: of the window, its steps, the pads before and behind, and its stretch.
struct Window {
  std::vector<int64_t> size, stride, low, high, dilation;
  int spatial() const { return static_cast<int>(size.size()); }
};

// How many places the window has along dimension d of `size` elements:
// floor((size + low + high - (window - 1) dilation - 1) / stride) + 1, 0 where there is none.
inline int64_t window_output(const Window& w, int d, int64_t size) {
  const auto at = static_cast<size_t>(d);
  const int64_t room = size + w.low[at] + w.high[at] - (w.size[at] - 1) * w.dilation[at] - 1;
  return room < 0 ? 0 : room / w.stride[at] + 1;
}

}  // namespace tenon::op
