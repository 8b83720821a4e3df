#include "op/rules.h"

namespace tenon {
namespace {

Tensor less(Tensor a, Tensor b) { return compare(a, b, CompareKind::kLt); }
Tensor both(Tensor a, Tensor b) { return minimum(a, b); }

Tensor reflected(Tensor at, double n) {
  const Tensor low = at + 2 * n * floor(-at / (2 * n)), high = at - 2 * n * floor(at / (2 * n));
  const Tensor left = select(less(low, scalar_like(at, -n)), low + 2 * n, -low - 1);
  const Tensor right = select(less(high, scalar_like(at, n)), high, 2 * n - high - 1);
  return select(less(at, scalar_like(at, 0)), left, right);
}

Tensor wrapped(Tensor at, double n) {
  const double last = n - 1;
  const Tensor left = at + n * (floor(-at / last) + 1), right = at - n * floor(at / last);
  const Tensor zero = scalar_like(at, 0), end = scalar_like(at, last);
  return select(less(at, zero), left, select(less(end, at), right, at));
}

// Where a coordinate outside [0, n - 1] is read, as ImageProjectiveTransformV3 does.
Tensor folded(Tensor at, int64_t size, FillMode fill) {
  const double n = static_cast<double>(size);
  if (fill == FillMode::kConstant) return at;
  if (size > 1 && fill == FillMode::kReflect) at = reflected(at, n);
  if (size > 1 && fill == FillMode::kWrap) at = wrapped(at, n);
  return clamp(at, 0, n - 1);
}

// The pixels to read, [N, h w] each.
struct Places {
  Tensor row, column;
};

Places places_of(const Decompose& n) {
  const Shape& x = n.in(0).shape();
  const auto fill = static_cast<FillMode>(n.enumerator("fill"));
  const int64_t h = n.i64("h"), w = n.i64("w");
  const Tensor theta = widened(n.in(1));
  const Shape grid{x[0], h, w}, flat{x[0], h * w};
  const Tensor r = reshape(iota(n.graph(), theta.dtype(), grid, 1), flat);
  const Tensor c = reshape(iota(n.graph(), theta.dtype(), grid, 2), flat);
  const auto term = [&](int64_t i) { return broadcast(slice(theta, {0, i}, {x[0], i + 1}, {}), flat, {0, 1}); };
  const Tensor k = term(6) * c + term(7) * r + 1;
  Tensor column = folded((term(0) * c + term(1) * r + term(2)) / k, x[2], fill);
  Tensor row = folded((term(3) * c + term(4) * r + term(5)) / k, x[1], fill);
  // A point at infinity, or a place too far to count: outside.
  const Tensor far = scalar_like(k, 1e9), outside = scalar_like(k, -2);
  const Tensor good =
      both(compare(k, scalar_like(k, 0), CompareKind::kNe), both(less(abs(row), far), less(abs(column), far)));
  return {select(good, row, outside), select(good, column, outside)};
}

// The pixels at whole places, [N, h w, C], 0 outside.
Tensor read(Tensor x, Tensor row, Tensor column) {
  const Shape& s = x.shape();
  const auto within = [](Tensor at, int64_t size) {
    return both(less(scalar_like(at, -1), at), less(at, scalar_like(at, static_cast<double>(size))));
  };
  const Tensor r = cast(row, DType::kI32), c = cast(column, DType::kI32);
  const Tensor index =
      select(both(within(r, s[1]), within(c, s[2])), r * static_cast<double>(s[2]) + c, scalar_like(r, -1));
  return gather(reshape(x, {s[0], s[1] * s[2], s[3]}), index, 1, 1);
}

Tensor bilinear(Tensor x, const Places& p) {
  const Tensor row = floor(p.row), column = floor(p.column);
  const Tensor down = cast(p.row - row, x.dtype()), right = cast(p.column - column, x.dtype());
  const auto tap = [&](int dr, int dc) {
    const Tensor pixels = read(x, row + dr, column + dc);
    const Tensor weight = (dr ? down : 1 - down) * (dc ? right : 1 - right);
    return pixels * broadcast(weight, pixels.shape(), {0, 1});
  };
  return tap(0, 0) + tap(0, 1) + tap(1, 0) + tap(1, 1);
}

Tensors affine_image_decomposition(const Decompose& n) {
  const Tensor x = n.in(op::affine_image::x);
  const Places p = places_of(n);
  const Shape y{x.dim(0), n.i64("h"), n.i64("w"), x.dim(3)};
  if (static_cast<ResizeMethod>(n.enumerator("method")) == ResizeMethod::kNearest)
    return {reshape(read(x, floor(p.row + 0.5), floor(p.column + 0.5)), y)};
  const Tensor wide = cast(x, compute_dtype(x.dtype()));
  return {cast(reshape(bilinear(wide, p), y), x.dtype())};
}

}  // namespace

extern const OpDef kAffineImage;
constexpr OpDef kAffineImage = {"affine_image", affine_image_decomposition};

Tensor affine_image(Tensor x, Tensor theta, int64_t h, int64_t w, ResizeMethod method, FillMode fill) {
  return emit1("affine_image", {x, theta},
               {{"h", h}, {"w", w}, {"method", number_of(method)}, {"fill", number_of(fill)}});
}

}  // namespace tenon
