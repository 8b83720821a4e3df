#include "op/rules.h"

namespace tenon {
namespace {

// [N, size]: 0, 1, .. in each row, in offset's dtype.
Tensor counted(Tensor offset, int64_t size) { return iota(*offset.graph(), offset.dtype(), {offset.dim(0), size}, 1); }
Tensor rows_of(Tensor x, int64_t size) { return broadcast(x, {x.dim(0), size}, {0}); }

Tensors crop_flip_decomposition(const Decompose& n) {
  using Op = op::crop_flip;
  const int64_t h = n.i64("h"), w = n.i64("w");
  const Tensor top = n.in(Op::top), left = n.in(Op::left), flip = n.in(Op::flip);
  const Tensor c = counted(left, w), back = scalar_like(left, static_cast<double>(w - 1)) - c;
  const Tensor rows = rows_of(top, h) + counted(top, h);
  const Tensor columns = rows_of(left, w) + select(rows_of(flip, w), back, c);
  return {gather(gather(n.in(Op::x), rows, 1, 1), columns, 2, 1)};
}

}  // namespace

extern const OpDef kCropFlip;
constexpr OpDef kCropFlip = {"crop_flip", crop_flip_decomposition};

Tensor crop_flip(Tensor x, Tensor top, Tensor left, Tensor flip, int64_t h, int64_t w) {
  return emit1("crop_flip", {x, top, left, flip}, {{"h", h}, {"w", w}});
}

}  // namespace tenon
