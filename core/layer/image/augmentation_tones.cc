// RandomInvert, RandomSharpness, RandomPosterization, Solarization, AutoContrast, Equalization.
#include <algorithm>
#include <cmath>

#include "layer/image/random_change.h"

namespace tenon {
namespace {

constexpr double kMostOfAPixel = 255;

void expect_wide_values(const LayerScope& scope, const ValueRange& r) {
  scope.expect(r.low < r.high, "value_range is ", r.low, " to ", r.high, ", expected more than one value");
}

// From value_range to the pixels of eight bits, and back.
Tensor as_pixels(Tensor x, const ValueRange& r) { return (x - r.low) * (kMostOfAPixel / (r.high - r.low)); }
Tensor from_pixels(Tensor x, const ValueRange& r) { return x * ((r.high - r.low) / kMostOfAPixel) + r.low; }

// The sum of each position and its two neighbours, 0 beyond the ends.
Tensor sums_of_three(Tensor x, size_t axis) {
  Ints border(4, 0), none(4, 0);
  border[axis] = 1;
  const Tensor padded = pad(x, border, border, {}, 0);
  Tensor sum = x;
  for (const int64_t from : {0, 2}) {
    Ints start = none, limit = x.shape().vec();
    start[axis] = from;
    limit[axis] += from;
    sum = sum + slice(padded, start, limit, {});
  }
  return sum;
}

// All weights of 3 x 3 are 1/13, but 5/13 in the middle.
Tensor blurred(Tensor x) { return (sums_of_three(sums_of_three(x, 1), 2) + x * 4.0) * (1.0 / 13); }

// x [channels,pixels] as indices of bins, and how many pixels of the channel are in each bin or a lower one.
struct Histogram {
  Tensor bin;      // i32[channels,pixels]
  Tensor up_to;    // f32[channels,bins]
  Tensor present;  // f32[channels,1]: the number of pixels in the first bin that has any
};

Histogram histogram(Tensor x, int64_t bins) {
  Graph& graph = *x.graph();
  const int64_t last = bins - 1;
  const Tensor scaled = x * (static_cast<double>(last) / kMostOfAPixel);
  const Tensor bin = cast(clamp(scaled, 0, static_cast<double>(last)), DType::kI32);
  const Tensor none = full(graph, DType::kF32, {x.dim(0), bins}, 0);
  const Tensor counts = scatter(none, bin, full_like(x, 1), 1, 1, ScatterKind::kAdd);
  const Tensor up_to = cumsum(counts, 1);
  const Tensor some = compare(up_to, scalar_like(up_to, 0), CompareKind::kGt);
  const Tensor all = full_like(up_to, static_cast<double>(x.dim(1)));
  return {bin, up_to, reduce_min(select(some, up_to, all), {1}, true)};
}

// x [channels,pixels] of 0 to 255.
Tensor equalized(Tensor x, int64_t bins) {
  const Histogram h = histogram(x, bins);
  const double all = static_cast<double>(x.dim(1));
  const Tensor first = broadcast_to(h.present, h.up_to.shape());
  const Tensor others = maximum(all - first, full_like(first, 1));
  const Tensor table = clamp(round((h.up_to - first) * kMostOfAPixel / others), 0, kMostOfAPixel);
  const Tensor single = compare(h.present, scalar_like(h.present, all), CompareKind::kEq);
  return select(broadcast_to(single, x.shape()), x, gather(table, h.bin, 1, 1));
}

}  // namespace

Tensor random_invert(Tensor x, const RandomInvertOptions& o) {
  const LayerScope scope(x, "random_invert", o.name);
  const Factor factor = from_zero(o.factor);
  expect_factor(scope, "factor", factor, 0, 1);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  return select(happens(scope, images, factor), o.value_range.high - images, images);
}

Tensor random_sharpness(Tensor x, const RandomSharpnessOptions& o) {
  const Factor factor = from_zero(o.factor);
  const auto expect = [&](const LayerScope& scope, Tensor) { expect_factor(scope, "factor", factor, 0, 1); };
  return changed_pixels(x, "random_sharpness", o, expect, [&](const LayerScope& scope, Tensor images) {
    const Tensor u = drawn(scope, images, factor, "sharpness");
    return images + for_each_pixel(1.0 - u * 2.0, images) * (blurred(images) - images);
  });
}

Tensor random_posterization(Tensor x, const RandomPosterizationOptions& o) {
  const Factor factor = o.factor.low == -o.factor.high ? Factor(1, o.factor.high) : o.factor;
  const auto expect = [&](const LayerScope& scope, Tensor) {
    expect_factor(scope, "factor", factor, 1, 8);
    for (const double bits : {factor.low, factor.high})
      scope.expect(bits == std::floor(bits), "factor is ", bits, ", expected whole numbers of bits");
    expect_wide_values(scope, o.value_range);
  };
  return changed_pixels(x, "random_posterization", o, expect, [&](const LayerScope& scope, Tensor images) {
    const Tensor bits = floor(drawn(scope, images, {factor.low, std::max(factor.high, factor.low + 1)}, "bits"));
    const Tensor step = for_each_pixel(round(pow(full_like(bits, 2), 8.0 - bits)), images);
    const Tensor pixels = floor(clamp(as_pixels(images, o.value_range), 0, kMostOfAPixel));
    return from_pixels(floor(pixels / step) * step, o.value_range);
  });
}

Tensor solarization(Tensor x, const SolarizationOptions& o) {
  const Factor addition = from_zero(o.addition_factor), threshold = from_zero(o.threshold_factor);
  const auto expect = [&](const LayerScope& scope, Tensor) {
    expect_factor(scope, "addition_factor", addition, 0, 1);
    expect_factor(scope, "threshold_factor", threshold, 0, 1);
    expect_wide_values(scope, o.value_range);
  };
  return changed_pixels(x, "solarization", o, expect, [&](const LayerScope& scope, Tensor images) {
    const auto number = [&](const Factor& factor, const char* what) {
      return for_each_pixel(drawn(scope, images, factor, what) * kMostOfAPixel, images);
    };
    const Tensor pixels = clamp(as_pixels(images, o.value_range) + number(addition, "addition"), 0, kMostOfAPixel);
    const Tensor below = compare(pixels, number(threshold, "threshold"), CompareKind::kLt);
    return from_pixels(select(below, pixels, kMostOfAPixel - pixels), o.value_range);
  });
}

Tensor auto_contrast(Tensor x, const AutoContrastOptions& o) {
  const LayerScope scope(x, "auto_contrast", o.name);
  expect_values(scope, o.value_range);
  const Tensor images = float_images(scope, x), wide = widened(images);
  const Tensor low = reduce_min(wide, {1, 2}, true), range = reduce_max(wide, {1, 2}, true) - low;
  const Tensor some = compare(range, scalar_like(range, 0), CompareKind::kGt);
  const Tensor scale = (o.value_range.high - o.value_range.low) / select(some, range, full_like(range, 1));
  const Tensor stretched = clamp((wide - low) * scale + o.value_range.low, o.value_range.low, o.value_range.high);
  const Tensor changed = select(broadcast_to(some, wide.shape()), stretched, wide);
  return cast(changed, images.dtype());
}

Tensor equalization(Tensor x, const EqualizationOptions& o) {
  const auto expect = [&](const LayerScope& scope, Tensor) {
    scope.expect(2 <= o.bins && o.bins <= 65536, "bins is ", o.bins, ", expected 2 to 65536");
    expect_wide_values(scope, o.value_range);
  };
  return changed_pixels(x, "equalization", o, expect, [&](const LayerScope&, Tensor images) {
    const Tensor channels = transpose(as_pixels(images, o.value_range), {0, 3, 1, 2});  // [B,C,H,W]
    const int64_t pixels = images.dim(1) * images.dim(2);
    const Tensor rows = reshape(channels, {images.dim(0) * images.dim(3), pixels});
    const Tensor changed = transpose(reshape(equalized(rows, o.bins), channels.shape()), {0, 2, 3, 1});
    return from_pixels(changed, o.value_range);
  });
}

}  // namespace tenon
