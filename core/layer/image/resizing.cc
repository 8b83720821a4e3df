// Resizing, CenterCrop.
#include <algorithm>
#include <cmath>

#include "layer/image/images.h"
#include "tenon/preprocessing.h"

namespace tenon {
namespace {

constexpr int64_t kMostResizingWeights = int64_t{1} << 28;

// The weight of a pixel that lies `away` from a place.
double kernel_at(Interpolation interpolation, double away) {
  const double d = std::fabs(away);
  if (interpolation == Interpolation::kBilinear) return std::max(0.0, 1 - d);
  if (d < 1) return (1.5 * d - 2.5) * d * d + 1;
  return d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
}

// [from, to]: each column sums to 1.
std::vector<double> resizing_weights(int64_t from, int64_t to, Interpolation interpolation, bool antialias) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double reach = antialias ? std::max(step, 1.0) : 1;
  std::vector<double> weights(static_cast<size_t>(from * to));
  for (int64_t j = 0; j < to; ++j) {
    double place = (static_cast<double>(j) + 0.5) * step - 0.5;
    // As TensorFlow's table of the kernel has it.
    if (!antialias) place = std::floor(place) + std::nearbyint((place - std::floor(place)) * 1024) / 1024;
    double sum = 0;
    for (int64_t i = 0; i < from; ++i) {
      double& w = weights[static_cast<size_t>(i * to + j)];
      w = kernel_at(interpolation, (static_cast<double>(i) - place) / reach);
      sum += w;
    }
    for (int64_t i = 0; i < from; ++i) weights[static_cast<size_t>(i * to + j)] /= sum;
  }
  return weights;
}

Tensor resized(const LayerScope& scope, Tensor x, int64_t h, int64_t w, Interpolation interpolation, bool antialias) {
  if (interpolation == Interpolation::kNearest) return resize(x, h, w, ResizeMethod::kNearest, Coordinates::kHalfPixel);
  const bool smaller = h < x.dim(1) || w < x.dim(2);
  if (interpolation == Interpolation::kBilinear && !(antialias && smaller))
    return resize(x, h, w, ResizeMethod::kBilinear, Coordinates::kHalfPixel);
  scope.expect(h <= kMostResizingWeights / x.dim(1) && w <= kMostResizingWeights / x.dim(2), "size is ", h, "x", w,
               ", too large to be made of ", x.type().str());
  const Tensor wide = mixed_along(x, 2, w, resizing_weights(x.dim(2), w, interpolation, antialias));
  return mixed_along(wide, 1, h, resizing_weights(x.dim(1), h, interpolation, antialias));
}

// Borders that give x the proportions of height to width, x in the middle.
Tensor padded_to_proportions(Tensor x, int64_t height, int64_t width, double value) {
  const int64_t h = x.dim(1), w = x.dim(2);
  const int64_t rows = std::max(h, w * height / width) - h, columns = std::max(w, h * width / height) - w;
  return pad(x, {0, rows / 2, columns / 2, 0}, {0, rows - rows / 2, columns - columns / 2, 0}, {}, value);
}

}  // namespace

Tensor resizing(Tensor x, const ResizingOptions& o) {
  const LayerScope scope(x, "resizing", o.name);
  scope.expect_value_of("interpolation", o.interpolation, Interpolation::kBicubic);
  expect_image_size(scope, o.height, o.width);
  scope.expect_number("fill_value", o.fill_value);
  scope.expect(!(o.crop_to_aspect_ratio && o.pad_to_aspect_ratio),
               "crop_to_aspect_ratio and pad_to_aspect_ratio are given, expected one of them");
  Tensor images = float_images(scope, x);
  if (o.crop_to_aspect_ratio) images = cut_to_proportions(images, o.height, o.width);
  if (o.pad_to_aspect_ratio) images = padded_to_proportions(images, o.height, o.width, o.fill_value);
  return resized(scope, images, o.height, o.width, o.interpolation, o.antialias);
}

Tensor centered(const LayerScope& scope, Tensor images, int64_t height, int64_t width) {
  const int64_t rows = images.dim(1) - height, columns = images.dim(2) - width;
  if (rows >= 0 && columns >= 0) return cut(images, rows / 2, columns / 2, height, width);
  return resized(scope, cut_to_proportions(images, height, width), height, width, Interpolation::kBilinear, false);
}

Tensor center_crop(Tensor x, const CenterCropOptions& o) {
  const LayerScope scope(x, "center_crop", o.name);
  expect_image_size(scope, o.height, o.width);
  return centered(scope, float_images(scope, x), o.height, o.width);
}

}  // namespace tenon
