#include <limits>

#include "op/network/pooling.h"

namespace tenon {
namespace {

Shape result_shape(Tensor x, const Window& w) {
  Shape y = x.shape();
  for (int d = 0; d < w.spatial(); ++d) y.set(d + 1, window_output(w, d, y[d + 1]));
  return y;
}

Tensors max_pool_decomposition(const Decompose& n) {
  const Tensor x = n.in(0);
  const Window w = read_window(n, n.list("window"));
  return {fold_windows(pad_spatial(x, w, -std::numeric_limits<double>::infinity()), w, result_shape(x, w), maximum)};
}

Tensors max_pool_gradient(const Gradient& n) { return {max_pool_grad(n.in(0), n.out(0), n.g(0), pool_options(n))}; }

}  // namespace

extern const OpDef kMaxPool;
constexpr OpDef kMaxPool = {"max_pool", max_pool_decomposition, max_pool_gradient};

Tensor max_pool(Tensor x, const PoolOptions& o) { return emit1("max_pool", {x}, pool_attrs(o)); }

namespace {

// The next offset in row-major order; false after the last.
bool advance(Ints& offset, const Ints& size) {
  for (size_t d = offset.size(); d-- > 0;) {
    if (++offset[d] < size[d]) return true;
    offset[d] = 0;
  }
  return false;
}

Tensors max_pool_grad_decomposition(const Decompose& n) {
  using Op = op::max_pool_grad;
  const Tensor x = n.in(Op::x), y = n.in(Op::y), dy = widened(n.in(Op::dy)), zero = scalar_like(dy, 0);
  const Window w = read_window(n, n.list("window"));
  const Tensor padded = pad_spatial(x, w, std::numeric_limits<double>::quiet_NaN());  // equal to no maximum
  const Tensor lost = pad_spatial(compare(x, x, CompareKind::kNe), w, 0);             // NaN, of which a pad is none
  Tensor free, dx;
  Ints offset(w.spatial(), 0);
  do {
    Tensor element = padded, nan = lost;
    for (int d = 0; d < w.spatial(); ++d) {
      element = take_offset(element, w, d, offset[d], y.dim(d + 1));
      nan = take_offset(nan, w, d, offset[d], y.dim(d + 1));
    }
    const Tensor hit = maximum(compare(element, y, CompareKind::kEq), nan);
    Tensor part = select(free ? minimum(hit, free) : hit, dy, zero);
    for (int d = w.spatial(); d-- > 0;) part = put_offset(part, w, d, offset[d], padded.dim(d + 1));
    dx = dx ? add(dx, part) : part;
    const Tensor miss = compare(hit, full(n.graph(), DType::kBool, {}, 0), CompareKind::kEq);
    free = free ? minimum(free, miss) : miss;
  } while (advance(offset, w.size));
  return {cast(crop_spatial(dx, w, spatial_dims(x.shape())), x.dtype())};
}

}  // namespace

extern const OpDef kMaxPoolGrad;
constexpr OpDef kMaxPoolGrad = {"max_pool_grad", max_pool_grad_decomposition};

Tensor max_pool_grad(Tensor x, Tensor y, Tensor dy, const PoolOptions& o) {
  return emit1("max_pool_grad", {x, y, dy}, pool_attrs(o));
}

}  // namespace tenon
