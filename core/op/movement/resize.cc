#include <algorithm>
#include <cmath>
#include <cstring>

#include "op/rules.h"

namespace tenon {
namespace {

// Where element i of `to` lies among `from`.
double place(Coordinates coords, int64_t i, int64_t from, int64_t to) {
  const double in = static_cast<double>(from), out = static_cast<double>(to), k = static_cast<double>(i);
  if (coords == Coordinates::kHalfPixel) return (k + 0.5) * in / out - 0.5;
  if (coords == Coordinates::kAlignCorners && to > 1) return k * (in - 1) / (out - 1);
  return k * in / out;
}

int64_t inside(double at, int64_t size) { return std::clamp<int64_t>(static_cast<int64_t>(at), 0, size - 1); }

// The axis picked at the nearest places; halves go up.
Tensor pick(Tensor x, int axis, int64_t to, Coordinates coords) {
  const int64_t from = x.dim(axis);
  std::string bytes(static_cast<size_t>(to) * sizeof(int32_t), '\0');
  for (int64_t i = 0; i < to; ++i) {
    const double half = coords == Coordinates::kLegacy ? 0 : 0.5;
    const auto k = static_cast<int32_t>(inside(std::floor(place(coords, i, from, to) + half), from));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof k, &k, sizeof k);
  }
  return gather(x, constant(*x.graph(), {DType::kI32, {to}}, bytes), axis);
}

// x[.., from] -> [.., to]: a product with the two weights of each result.
Tensor interpolate(Tensor x, int64_t to, Coordinates coords) {
  const int64_t from = x.dim(-1);
  std::vector<double> weights(static_cast<size_t>(from * to), 0);
  for (int64_t i = 0; i < to; ++i) {
    const double at = place(coords, i, from, to), low = std::floor(at);
    weights[static_cast<size_t>(inside(low, from) * to + i)] += 1 - (at - low);
    weights[static_cast<size_t>(inside(low + 1, from) * to + i)] += at - low;
  }
  DotOptions exact;
  exact.precision = MathPrecision::kHighest;
  Shape y = x.shape();
  y.set(-1, to);
  const Tensor rows = reshape(x, {x.elements() / from, from});
  return reshape(dot(rows, constant_of(*x.graph(), x.dtype(), {from, to}, weights), exact), y);
}

Tensors resize_decomposition(const Decompose& n) {
  const auto coords = static_cast<Coordinates>(n.enumerator("coords"));
  const Tensor x = n.in(0);
  if (static_cast<ResizeMethod>(n.enumerator("method")) == ResizeMethod::kNearest)
    return {pick(pick(x, 1, n.i64("h"), coords), 2, n.i64("w"), coords)};
  const Tensor columns = interpolate(transpose(widened(x), {0, 3, 1, 2}), n.i64("w"), coords);  // [N,C,H,w]
  const Tensor y = interpolate(transpose(columns, {0, 1, 3, 2}), n.i64("h"), coords);           // [N,C,w,h]
  return {cast(transpose(y, {0, 3, 2, 1}), x.dtype())};
}

}  // namespace

extern const OpDef kResize;
constexpr OpDef kResize = {"resize", resize_decomposition};

Tensor resize(Tensor x, int64_t h, int64_t w, ResizeMethod method, Coordinates coords) {
  return emit1("resize", {x}, {{"h", h}, {"w", w}, {"method", number_of(method)}, {"coords", number_of(coords)}});
}

}  // namespace tenon
