#include "import/onnx/onnx_window.h"

#include <algorithm>

namespace tenon::onnx {

std::string auto_pad_of(const Call& c) {
  const std::string mode = c.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    c.refuse("auto_pad '", mode, "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  return mode;
}

Window window_of(Call& c, const Ints& spatial, const Ints& size) {
  const size_t n = spatial.size();
  if (size.size() != n || n == 0) fail("a window [", join(size, ","), "] of ", n, " axes");
  Window out;
  out.size = size;
  out.strides = c.list("strides", n, 1, 1, kMostSize);
  out.dilation = c.list("dilations", n, 1, 1, kMostSize);
  const Ints pads = c.list("pads", 2 * n, 0, 0, kMostSize);
  const std::string mode = auto_pad_of(c);
  const bool up = c.flag("ceil_mode");
  for (size_t a = 0; a < n; ++a) {
    if (size[a] < 1 || size[a] > kMostSize) fail("a window [", join(size, ","), "]");
    if (spatial[a] < 1 || spatial[a] > int64_t{1} << 40) fail("an axis of ", spatial[a], " elements");
    const int64_t reach = (size[a] - 1) * out.dilation[a] + 1, stride = out.strides[a];
    int64_t low = pads[a], high = pads[a + n];
    if (mode == "VALID") low = high = 0;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t windows = (spatial[a] + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (windows - 1) * stride + reach - spatial[a]);
      low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    }
    const int64_t room = spatial[a] + low + high - reach;
    if (room < 0) fail("a window of ", reach, " beside ", spatial[a], " elements and pads of ", low, " and ", high);
    int64_t count = room / stride + 1;
    // The last window has to begin on what is there.
    if (up && room % stride != 0 && count * stride < spatial[a] + low) ++count;
    out.low.push_back(low);
    out.high.push_back(high);
    out.out.push_back(count);
    out.extra.push_back(std::max<int64_t>(0, (count - 1) * stride + reach - (spatial[a] + low + high)));
  }
  return out;
}

}  // namespace tenon::onnx
