// Images made larger or smaller: each axis by a matrix of weights, the nearest element by its index.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace resize_ops {
namespace {

struct Resizing {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, outside = 0;
  bool exclude = false, antialias = false;
};

// One axis: how many elements become how many, by which scale; the part of it that tf_crop_and_resize takes.
struct Along {
  int64_t in, out;
  double scale, from = 0, to = 1;
  bool crops = false;
};

double place(const Resizing& r, const Along& a, int64_t i) {
  const auto at = static_cast<double>(i), in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  if (r.coordinates == "asymmetric") return at / a.scale;
  // The size that the scale gives, before it is made whole.
  if (r.coordinates == "align_corners") return a.scale * in == 1 ? 0 : at * (in - 1) / (a.scale * in - 1);
  if (r.coordinates == "pytorch_half_pixel") return a.out == 1 ? 0 : (at + 0.5) / a.scale - 0.5;
  if (r.coordinates == "half_pixel_symmetric") {
    const double adjust = out / (a.scale * in), offset = in / 2 * (1 - adjust);
    return offset + (at + 0.5) / a.scale - 0.5;
  }
  if (r.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / a.scale;
  if (r.coordinates == "tf_crop_and_resize")
    return out > 1 ? a.from * (in - 1) + at * (a.to - a.from) * (in - 1) / (out - 1) : 0.5 * (a.from + a.to) * (in - 1);
  if (r.coordinates == "half_pixel") return (at + 0.5) / a.scale - 0.5;
  fail("coordinate_transformation_mode '", r.coordinates, "'");
}

int64_t nearest_to(const Resizing& r, double x, int64_t size) {
  double at = std::floor(x);
  if (r.nearest == "round_prefer_floor") at = x - std::floor(x) > 0.5 ? std::floor(x) + 1 : std::floor(x);
  if (r.nearest == "round_prefer_ceil") at = x - std::floor(x) >= 0.5 ? std::floor(x) + 1 : std::floor(x);
  if (r.nearest == "ceil") at = std::ceil(x);
  return std::clamp<int64_t>(static_cast<int64_t>(at), 0, size - 1);
}

double kernel(const Resizing& r, double x) {
  x = std::fabs(x);
  if (r.mode == "linear") return std::max(0.0, 1 - x);
  const double a = r.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Weights [out, in]: of places outside those of the edge, or, where they are left out, none.
std::vector<float> weights(const Resizing& r, const Along& a) {
  std::vector<float> out(static_cast<size_t>(a.in * a.out), 0);
  const double shrink = r.antialias ? std::min(1.0, a.scale) : 1;
  const double reach = (r.mode == "linear" ? 1 : 2) / shrink;
  for (int64_t i = 0; i < a.out; ++i) {
    const double at = place(r, a, i);
    if (r.coordinates == "tf_crop_and_resize" && (at < 0 || at > static_cast<double>(a.in - 1))) continue;
    const auto first = static_cast<int64_t>(std::floor(at - reach)) + 1,
               last = static_cast<int64_t>(std::ceil(at + reach)) - 1;
    double sum = 0;
    std::vector<double> some;
    for (int64_t k = first; k <= last; ++k) {
      const bool left_out = r.exclude && (k < 0 || k >= a.in);
      some.push_back(left_out ? 0 : kernel(r, (static_cast<double>(k) - at) * shrink));
      sum += some.back();
    }
    for (int64_t k = first; k <= last; ++k)
      out[static_cast<size_t>(i * a.in + std::clamp<int64_t>(k, 0, a.in - 1))] +=
          static_cast<float>(some[static_cast<size_t>(k - first)] / sum);
  }
  return out;
}

Tensor floats(Call& c, const std::vector<float>& values, const Shape& shape) {
  return constant(c.graph(), {DType::kF32, shape},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

// 1 where a place lies in the image, along one axis.
Tensor inside(Call& c, const Resizing& r, const Along& a) {
  std::vector<float> out;
  expect_table(static_cast<double>(a.out));
  for (int64_t i = 0; i < a.out; ++i) {
    const double at = place(r, a, i);
    out.push_back(at >= 0 && at <= static_cast<double>(a.in - 1) ? 1 : 0);
  }
  return floats(c, out, Shape({a.out}));
}

Tensor along(Call& c, const Resizing& r, Tensor x, int64_t axis, const Along& a) {
  if (r.mode == "nearest") {
    Ints places;
    expect_table(static_cast<double>(a.out));
    for (int64_t i = 0; i < a.out; ++i) places.push_back(nearest_to(r, place(r, a, i), a.in));
    return gather(x, c.ints_constant(places, Shape({a.out})), axis);
  }
  expect_table(static_cast<double>(a.in) * static_cast<double>(a.out));
  const Tensor matrix = floats(c, weights(r, a), Shape({a.out, a.in}));
  const bool wide = x.dtype() == DType::kF64;
  const Tensor rows = axis_to_end(cast(x, wide ? DType::kF64 : DType::kF32), axis);
  std::vector<int64_t> dims = rows.shape().vec();
  dims.back() = a.out;
  const Tensor flat = reshape(rows, {rows.elements() / a.in, a.in});
  const Tensor y = dot(flat, cast(matrix, flat.dtype()), {.tb = true, .precision = MathPrecision::kHighest});
  return cast(axis_from_end(reshape(y, Shape(dims)), axis), x.dtype());
}

// Resizes images [N,H,W,C] by the op, where that means the same.
bool by_op(Call& c, const Resizing& r, const Value& x, const std::vector<Along>& axes) {
  if (x.rank() != 4 || !is_float(x.last().dtype()) || r.antialias || r.mode == "cubic") return false;
  for (size_t a = 0; a < 2; ++a)
    if (axes[a].in != axes[a].out) return false;
  for (const Along& a : axes)
    if (std::fabs(a.scale * static_cast<double>(a.in) - static_cast<double>(a.out)) > 1e-9 * static_cast<double>(a.out))
      return false;
  Coordinates coordinates;
  if (r.mode == "linear" &&
      (r.coordinates == "half_pixel" || (r.coordinates == "pytorch_half_pixel" && axes[2].out > 1 && axes[3].out > 1)))
    coordinates = Coordinates::kHalfPixel;
  else if (r.mode == "linear" && r.coordinates == "align_corners" && axes[2].out > 1 && axes[3].out > 1)
    coordinates = Coordinates::kAlignCorners;
  else if (r.coordinates == "asymmetric" && (r.mode == "linear" || r.nearest == "floor"))
    coordinates = Coordinates::kLegacy;
  else
    return false;
  if (r.exclude) return false;
  const ResizeMethod method = r.mode == "linear" ? ResizeMethod::kBilinear : ResizeMethod::kNearest;
  c.give_last(resize(x.last(), axes[2].out, axes[3].out, method, coordinates));
  return true;
}

void resized(Call& c, const Resizing& r, const std::vector<Along>& axes) {
  const Value x = c.value(0);
  if (by_op(c, r, x, axes)) return;
  const bool last = x.is_last();
  Tensor y = last ? x.last() : x.file();
  Tensor mask;
  for (size_t a = 0; a < axes.size(); ++a) {
    const int64_t axis = last ? axis_in_last(static_cast<int64_t>(a), x.rank()) : static_cast<int64_t>(a);
    const bool same = axes[a].in == axes[a].out && axes[a].scale == 1 && !axes[a].crops;
    if (!same) y = along(c, r, y, axis, axes[a]);
  }
  if (r.coordinates == "tf_crop_and_resize") {
    for (size_t a = 0; a < axes.size(); ++a) {
      const int64_t axis = last ? axis_in_last(static_cast<int64_t>(a), x.rank()) : static_cast<int64_t>(a);
      const Tensor here = broadcast(inside(c, r, axes[a]), y.shape(), {axis});
      mask = mask ? mul(mask, here) : here;
    }
    y = select(compare(mask, scalar_like(mask, 0), CompareKind::kNe), y, scalar_like(y, r.outside));
  }
  last ? c.give_last(y) : c.give(y);
}

std::vector<double> numbers(Call& c, size_t i) { return c.has(i) ? c.known(i).to<double>() : std::vector<double>(); }

// Both sizes or both scales keep the image's form where a policy says so.
void keep_form(const std::string& policy, std::vector<Along>& axes, const Ints& which) {
  if (policy == "stretch") return;
  double scale = policy == "not_larger" ? INFINITY : 0;
  for (const int64_t a : which) {
    const double own = axes[static_cast<size_t>(a)].scale;
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (const int64_t a : which) {
    Along& one = axes[static_cast<size_t>(a)];
    one.scale = scale;
    one.out = static_cast<int64_t>(std::floor(scale * static_cast<double>(one.in) + 0.5));
  }
}

void resize_rule(Call& c) {
  Resizing r{c.text("mode", "nearest"),
             c.text("coordinate_transformation_mode", c.opset < 11 ? "asymmetric" : "half_pixel"),
             c.text("nearest_mode", c.opset < 11 ? "floor" : "round_prefer_floor"),
             c.real("cubic_coeff_a", -0.75),
             c.real("extrapolation_value", 0),
             c.flag("exclude_outside"),
             c.flag("antialias")};
  if (r.mode == "bilinear") r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic") fail("mode '", r.mode, "'");
  const Shape shape = c.value(0).shape();
  const Ints which = c.ints("axes", iota_list(shape.rank()));
  const bool old = c.opset < 11;
  const std::vector<double> regions = old ? std::vector<double>() : numbers(c, 1), scales = numbers(c, old ? 1 : 2),
                            sizes = numbers(c, 3);
  std::vector<Along> axes;
  for (int a = 0; a < shape.rank(); ++a) axes.push_back({shape[a], shape[a], 1});
  const std::vector<double>& given = sizes.empty() ? scales : sizes;
  if (given.size() != which.size()) fail(given.size(), " scales or sizes of ", which.size(), " axes");
  for (size_t i = 0; i < which.size(); ++i) {
    const int64_t a = c.axis(which[i], shape.rank());
    Along& one = axes[static_cast<size_t>(a)];
    const double in = static_cast<double>(one.in);
    if (!(given[i] > 0 && given[i] <= 0x1p40)) fail("a scale or size of ", given[i]);
    if (r.coordinates == "tf_crop_and_resize" && regions.size() == 2 * which.size()) {
      one.from = regions[i], one.to = regions[i + which.size()];
      if (!(std::fabs(one.from) <= 1e6 && std::fabs(one.to) <= 1e6)) fail("a region from ", one.from, " to ", one.to);
      one.crops = one.from != 0 || one.to != 1;
    }
    one.scale = sizes.empty() ? scales[i] : sizes[i] / in;
    one.out = sizes.empty() ? static_cast<int64_t>(std::floor(in * (one.crops ? one.to - one.from : 1) * scales[i]))
                            : static_cast<int64_t>(sizes[i]);
  }
  Ints places;
  for (const int64_t a : which) places.push_back(c.axis(a, shape.rank()));
  if (!sizes.empty()) keep_form(c.text("keep_aspect_ratio_policy", "stretch"), axes, places);
  for (const Along& a : axes)
    if (a.out < 1 || a.in < 1 || !(a.scale > 0) || a.out > int64_t{1} << 40)
      fail("an axis of ", a.in, " elements made ", a.out);
  resized(c, r, axes);
}

void upsample_rule(Call& c) {
  const std::vector<double> scales = c.opset < 9 ? c.reals("scales") : numbers(c, 1);
  const Shape shape = c.value(0).shape();
  if (scales.size() != static_cast<size_t>(shape.rank())) fail(scales.size(), " scales of ", shape.str());
  const std::string mode = c.text("mode", "nearest");
  const Resizing r{mode == "bilinear" ? "linear" : mode, "asymmetric", "floor"};
  std::vector<Along> axes;
  for (const double scale : scales)
    if (!(scale > 0 && scale <= 0x1p40)) fail("a scale of ", scale);
  for (int a = 0; a < shape.rank(); ++a)
    axes.push_back({shape[a],
                    static_cast<int64_t>(std::floor(static_cast<double>(shape[a]) * scales[static_cast<size_t>(a)])),
                    scales[static_cast<size_t>(a)]});
  for (const Along& a : axes)
    if (a.out < 1 || a.in < 1 || a.out > int64_t{1} << 40) fail("an axis of ", a.in, " elements made ", a.out);
  resized(c, r, axes);
}

constexpr Rule kRules[] = {{"Resize", resize_rule}, {"Upsample", upsample_rule}};

}  // namespace
}  // namespace resize_ops

Rules resize_rules() { return resize_ops::kRules; }

}  // namespace tenon::onnx
