// Flatten, Reshape, Permute, Concatenate, Rescaling, ZeroPadding2D, Cropping2D, UpSampling2D.
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

struct Margins {
  int64_t top, bottom, left, right;
};

Margins margins(const LayerScope& scope, std::string_view what, const Extent& extent) {
  if (extent.count() <= 2) {
    const Ints p = scope.sizes(what, extent, 2, 0);
    return {p[0], p[0], p[1], p[1]};
  }
  scope.expect(extent.count() == 4, what, " has ", extent.count(), " numbers, expected 1, 2 or 4");
  const Ints p = scope.sizes(what, extent, 4, 0);
  return {p[0], p[1], p[2], p[3]};
}

void expect_image(const LayerScope& scope, Tensor x) {
  scope.expect(x.rank() == 4, "input is ", x.type().str(), ", expected rank 4");
}

}  // namespace

Tensor flatten(Tensor x) {
  const LayerScope scope(x, "flatten", "flatten");
  scope.expect(x.rank() >= 1, "input is a scalar, expected rank 1 or more");
  scope.expect(x.elements() > 0, "input ", x.type().str(), " is empty");
  return reshape(x, {x.dim(0), x.elements() / x.dim(0)});
}

Tensor reshape(Tensor x, const ReshapeOptions& o) {
  const LayerScope scope(x, "reshape", o.name);
  const Ints& target = o.target_shape;
  scope.expect(x.rank() >= 1 && x.elements() > 0, "input is ", x.type().str(), ", expected rank 1 or more");
  const int64_t each = x.elements() / x.dim(0);
  std::vector<int64_t> dims{x.dim(0)};
  int64_t known = 1;
  int free = 0;
  for (int64_t d : target) {
    scope.expect(d == -1 || d >= 1, "target size is ", d, ", expected 1 or more, or -1");
    dims.push_back(d);
    if (d == -1)
      ++free;
    else if (__builtin_mul_overflow(known, d, &known))
      known = INT64_MAX;
  }
  scope.expect(free <= 1, "target has ", free, " sizes of -1, expected one at most");
  scope.expect(free ? each % known == 0 : each == known, "cannot give ", x.type().str(), " the shape [", x.dim(0),
               target.empty() ? "" : ",", join(target, ","), "]");
  for (int64_t& d : dims)
    if (d == -1) d = each / known;
  return reshape(x, Shape(dims));
}

Tensor permute(Tensor x, const Ints& dims) { return permute(x, PermuteOptions{.dims = dims}); }

Tensor permute(Tensor x, const PermuteOptions& o) {
  const LayerScope scope(x, "permute", o.name);
  const Ints& dims = o.dims;
  Ints perm{0};
  std::vector<bool> seen(static_cast<size_t>(x.rank()), false);
  for (int64_t d : dims) {
    scope.expect(d >= 1 && d < x.rank() && !seen[static_cast<size_t>(d)], "dims [", join(dims, ","),
                 "], expected each of 1 to ", x.rank() - 1, " once");
    seen[static_cast<size_t>(d)] = true;
    perm.push_back(d);
  }
  scope.expect(static_cast<int>(perm.size()) == x.rank(), "dims [", join(dims, ","), "], expected each of 1 to ",
               x.rank() - 1, " once");
  return transpose(x, perm);
}

Tensor concatenate(const Tensors& xs, int64_t axis) {
  if (xs.empty()) fail("concatenate: has no inputs");
  const LayerScope scope(xs[0], "concatenate", "concatenate");
  const int rank = xs[0].rank();
  scope.expect(axis >= -rank && axis < rank, "axis ", axis, " is out of range for ", xs[0].type().str());
  const int64_t along = axis < 0 ? axis + rank : axis;
  const Tensor y = concat(xs, along);
  set_mask(y, concatenated_mask(xs, along));
  return y;
}

Tensor rescaling(Tensor x, double scale, double offset) {
  const LayerScope scope(x, "rescaling", "rescaling");
  scope.expect_number("scale", scale);
  scope.expect_number("offset", offset);
  const Tensor scaled = (is_float(x.dtype()) ? x : cast(x, DType::kF32)) * scale;
  return with_mask_of(x, offset == 0 ? scaled : scaled + offset);
}

Tensor zero_padding2d(Tensor x, const Extent& padding) {
  const LayerScope scope(x, "zero_padding2d", "zero_padding2d");
  expect_image(scope, x);
  const Margins m = margins(scope, "padding", padding);
  return pad(x, {0, m.top, m.left, 0}, {0, m.bottom, m.right, 0}, {}, 0);
}

Tensor cropping2d(Tensor x, const Extent& cropping) {
  const LayerScope scope(x, "cropping2d", "cropping2d");
  expect_image(scope, x);
  const Margins m = margins(scope, "cropping", cropping);
  const int64_t bottom = x.dim(1) - m.bottom, right = x.dim(2) - m.right;
  scope.expect(m.top < bottom && m.left < right, "cropping ", m.top, " and ", m.bottom, " rows, ", m.left, " and ",
               m.right, " columns leaves nothing of ", x.type().str());
  return slice(x, {0, m.top, m.left, 0}, {x.dim(0), bottom, right, x.dim(3)}, {});
}

Tensor up_sampling2d(Tensor x, const Extent& size) { return up_sampling2d(x, size, ResizeMethod::kNearest); }

Tensor up_sampling2d(Tensor x, const Extent& size, ResizeMethod interpolation) {
  const LayerScope scope(x, "up_sampling2d", "up_sampling2d");
  expect_image(scope, x);
  const Ints s = scope.sizes("size", size, 2);
  const int64_t n = x.dim(0), h = x.dim(1), w = x.dim(2), c = x.dim(3);
  if (interpolation == ResizeMethod::kBilinear)
    return resize(x, h * s[0], w * s[1], interpolation, Coordinates::kHalfPixel);
  return reshape(broadcast(x, {n, h, s[0], w, s[1], c}, {0, 1, 3, 5}), {n, h * s[0], w * s[1], c});
}

}  // namespace tenon
