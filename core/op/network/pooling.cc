#include <algorithm>

#include "op/network/pooling.h"

namespace tenon {

PoolOptions pool_options(const AttrReader& a) {
  const bool counts = find_attr(a.attrs(), "count_pad") && a.flag("count_pad");
  return {a.list("window"), a.list("strides"), a.list("low"), a.list("high"), counts};
}

Attrs pool_attrs(const PoolOptions& o) {
  return {{"window", o.window}, {"strides", o.strides}, {"low", o.low}, {"high", o.high}};
}

namespace {

bool all_zero(const Ints& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t n) { return n == 0; });
}

// 0, the spatial numbers, 0.
Ints around(const Ints& spatial) {
  Ints out{0};
  out.insert(out.end(), spatial.begin(), spatial.end());
  out.push_back(0);
  return out;
}

}  // namespace

Tensor pad_spatial(Tensor x, const Window& w, double value) {
  return all_zero(w.low) && all_zero(w.high) ? x : pad(x, around(w.low), around(w.high), {}, value);
}

Tensor crop_spatial(Tensor dx, const Window& w, const Ints& size) {
  if (all_zero(w.low) && all_zero(w.high)) return dx;
  const Ints start = around(w.low);
  Ints limit = dx.shape().vec();
  for (size_t d = 0; d < size.size(); ++d) limit[d + 1] = w.low[d] + size[d];
  return slice(dx, start, limit, {});
}

Tensor take_offset(Tensor x, const Window& w, int d, int64_t offset, int64_t outputs) {
  Ints start(x.rank(), 0), limit = x.shape().vec(), stride(x.rank(), 1);
  start[d + 1] = offset;
  limit[d + 1] = offset + (outputs - 1) * w.stride[d] + 1;
  stride[d + 1] = w.stride[d];
  return slice(x, start, limit, stride);
}

Tensor put_offset(Tensor y, const Window& w, int d, int64_t offset, int64_t padded) {
  Ints low(y.rank(), 0), high(y.rank(), 0), interior(y.rank(), 0);
  low[d + 1] = offset;
  high[d + 1] = padded - offset - (y.dim(d + 1) - 1) * w.stride[d] - 1;
  interior[d + 1] = w.stride[d] - 1;
  return pad(y, low, high, interior, 0);
}

// One dimension after the other: k + k slices where k x k offsets would need k k.
Tensor fold_windows(Tensor x, const Window& w, const Shape& y, Tensor (*fold)(Tensor, Tensor)) {
  for (int d = 0; d < w.spatial(); ++d) {
    Tensor sum = take_offset(x, w, d, 0, y[d + 1]);
    for (int64_t o = 1; o < w.size[d]; ++o) sum = fold(sum, take_offset(x, w, d, o, y[d + 1]));
    x = sum;
  }
  return x;
}

}  // namespace tenon
