#include <algorithm>

#include "op/network/pooling.h"

namespace tenon {
namespace {

// How many elements window o of dimension d averages.
int64_t elements_of(const Window& w, int d, int64_t o, int64_t size) {
  const int64_t begin = o * w.stride[d] - w.low[d];
  return std::min(begin + w.size[d], size) - std::max<int64_t>(begin, 0);
}

// z divided by the size of its window; size: the input's spatial dimensions.
Tensor divide_by_count(Tensor z, const Window& w, const Ints& size, bool count_pad) {
  std::vector<double> counts{1};
  std::vector<int64_t> dims;
  bool equal = true, inside = true;  // without pads every window is whole: no table, however large the image
  double whole = 1;
  for (int d = 0; d < w.spatial(); ++d) {
    inside = inside && w.low[d] == 0 && w.high[d] == 0;
    whole *= static_cast<double>(w.size[d]);
  }
  if (inside || count_pad) return div(z, scalar_like(z, whole));
  for (int d = 0; d < w.spatial(); ++d) {
    std::vector<double> longer;
    dims.push_back(z.dim(d + 1));
    for (double before : counts)
      for (int64_t o = 0; o < dims.back(); ++o)
        longer.push_back(before * static_cast<double>(elements_of(w, d, o, size[d])));
    counts = std::move(longer);
  }
  for (double count : counts) equal = equal && count == counts[0];
  if (equal) return div(z, scalar_like(z, counts[0]));
  Ints axes;
  for (int d = 0; d < w.spatial(); ++d) axes.push_back(d + 1);
  return div(z, broadcast(constant_of(*z.graph(), z.dtype(), Shape(dims), counts), z.shape(), axes));
}

Tensors avg_pool_decomposition(const Decompose& n) {
  const Tensor x = n.in(0);
  const Window w = read_window(n, n.list("window"));
  Shape y = x.shape();
  for (int d = 0; d < w.spatial(); ++d) y.set(d + 1, window_output(w, d, y[d + 1]));
  const Tensor sum = fold_windows(pad_spatial(widened(x), w, 0), w, y, add);
  return {cast(divide_by_count(sum, w, spatial_dims(x.shape()), n.flag("count_pad")), x.dtype())};
}

Tensors avg_pool_gradient(const Gradient& n) {
  return {avg_pool_grad(n.g(0), spatial_dims(n.in(0).shape()), pool_options(n))};
}

}  // namespace

extern const OpDef kAvgPool;
constexpr OpDef kAvgPool = {"avg_pool", avg_pool_decomposition, avg_pool_gradient};

Tensor avg_pool(Tensor x, const PoolOptions& o) {
  Attrs attrs = pool_attrs(o);
  attrs.push_back({"count_pad", o.count_pad});
  return emit1("avg_pool", {x}, std::move(attrs));
}

namespace {

Tensors avg_pool_grad_decomposition(const Decompose& n) {
  const Tensor dy = n.in(0);
  const Ints& size = n.list("size");
  const Window w = read_window(n, n.list("window"));
  Tensor dx = divide_by_count(widened(dy), w, size, n.flag("count_pad"));
  for (int d = w.spatial(); d-- > 0;) {
    const int64_t padded = w.low[d] + size[d] + w.high[d];
    Tensor sum = put_offset(dx, w, d, 0, padded);
    for (int64_t o = 1; o < w.size[d]; ++o) sum = add(sum, put_offset(dx, w, d, o, padded));
    dx = sum;
  }
  return {cast(crop_spatial(dx, w, size), dy.dtype())};
}

Tensors avg_pool_grad_gradient(const Gradient& n) { return {avg_pool(n.g(0), pool_options(n))}; }

}  // namespace

extern const OpDef kAvgPoolGrad;
constexpr OpDef kAvgPoolGrad = {"avg_pool_grad", avg_pool_grad_decomposition, avg_pool_grad_gradient};

Tensor avg_pool_grad(Tensor dy, const Ints& size, const PoolOptions& o) {
  Attrs attrs = pool_attrs(o);
  attrs.push_back({"count_pad", o.count_pad});
  attrs.push_back({"size", size});
  return emit1("avg_pool_grad", {dy}, std::move(attrs));
}

}  // namespace tenon
