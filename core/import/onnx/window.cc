#include "import/onnx/window.h"

#include <algorithm>

namespace tenon::onnx {
namespace {

constexpr int64_t kMost = int64_t{1} << 30;

Ints checked(Call& c, const char* name, size_t n, int64_t missing, int64_t low) {
  Ints out = c.ints(name, Ints(n, missing));
  if (out.size() != n) fail(name, " [", join(out, ","), "] of ", n, " axes");
  for (const int64_t v : out)
    if (v < low || v > kMost) fail(name, " [", join(out, ","), "], expected ", low, " to ", kMost);
  return out;
}

}  // namespace

Window window_of(Call& c, const Ints& spatial, const Ints& size) {
  const size_t n = spatial.size();
  if (size.size() != n || n == 0) fail("a window [", join(size, ","), "] of ", n, " axes");
  Window out;
  out.size = size;
  out.strides = checked(c, "strides", n, 1, 1);
  out.dilation = checked(c, "dilations", n, 1, 1);
  const Ints pads = checked(c, "pads", 2 * n, 0, 0);
  const std::string mode = c.text("auto_pad", "NOTSET");
  const bool up = c.flag("ceil_mode");
  for (size_t a = 0; a < n; ++a) {
    if (size[a] < 1 || size[a] > kMost) fail("a window [", join(size, ","), "]");
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
