// RandomHue, RandomSaturation: changes of colour in terms of HSV, without its saturation where red, green and blue do.
// RandomColorDegeneration, RandomGrayscale.
#include "layer/image/random_change.h"

namespace tenon {
namespace {

// Each [B,H,W,1].
struct Chroma {
  Tensor value, range;  // the greatest of red, green and blue, and how much the least is below it
  Tensor coloured;      // whether it is
  Tensor safe_range;    // to divide by
};

Chroma colour_of(Tensor rgb) {
  const Tensor value = reduce_max(rgb, {-1}, true), range = value - reduce_min(rgb, {-1}, true);
  const Tensor coloured = compare(range, scalar_like(range, 0), CompareKind::kGt);
  return {value, range, coloured, select(coloured, range, full_like(range, 1))};
}

Tensor channel(Tensor rgb, int64_t c) {
  return slice(rgb, {0, 0, 0, c}, {rgb.dim(0), rgb.dim(1), rgb.dim(2), c + 1}, {});
}

// Turns: 0 is red, a third green. Below 0 between red and blue.
Tensor hue_of(Tensor rgb, const Chroma& c) {
  const Tensor r = channel(rgb, 0), g = channel(rgb, 1), b = channel(rgb, 2), turn = c.safe_range * 6.0;
  const auto most = [&](Tensor x) { return compare(x, c.value, CompareKind::kEq); };
  const Tensor other = select(most(g), (b - r) / turn + 1.0 / 3, (r - g) / turn + 2.0 / 3);
  return select(c.coloured, select(most(r), (g - b) / turn, other), full_like(turn, 0));
}

// How much of red, green and blue a pure colour has.
Tensor pure(Tensor hue) {
  const Tensor sixth = (hue - floor(hue)) * 6.0;
  const auto far = [&](double from) { return abs(sixth - from); };
  return concat({clamp(far(3) - 1.0, 0, 1), clamp(2.0 - far(2), 0, 1), clamp(2.0 - far(4), 0, 1)}, 3);
}

// As television had it.
Tensor grey_of(Tensor rgb) {
  const Tensor grey = channel(rgb, 0) * 0.2989 + channel(rgb, 1) * 0.587 + channel(rgb, 2) * 0.114;
  return broadcast(reshape(grey, {rgb.dim(0), rgb.dim(1), rgb.dim(2)}), rgb.shape(), {0, 1, 2});
}

}  // namespace

void expect_colours(const LayerScope& scope, Tensor images) {
  scope.expect(images.dim(3) == 3, "input is ", images.type().str(), ", expected 3 channels: red, green, blue");
}

namespace {

// Changes images of three channels, each by a number u that is drawn from a factor from 0 to 1.
template <class Options, class Change>
Tensor recoloured(Tensor x, const char* layer, const Options& o, const char* draw, Change change) {
  const Factor factor = from_zero(o.factor);
  const auto expect = [&](const LayerScope& scope, Tensor images) {
    expect_factor(scope, "factor", factor, 0, 1);
    expect_colours(scope, images);
  };
  return changed_pixels(x, layer, o, expect, [&](const LayerScope& scope, Tensor rgb) {
    return change(scope, rgb, drawn(scope, rgb, factor, draw));
  });
}

}  // namespace

Tensor random_hue(Tensor x, const RandomHueOptions& o) {
  return recoloured(x, "random_hue", o, "hue", [](const LayerScope& scope, Tensor rgb, Tensor u) {
    const Chroma colour = colour_of(rgb);
    const Tensor by = u * either_sign(scope, rgb) * 0.5;
    const Tensor turned = pure(hue_of(rgb, colour) + for_each_pixel(by, colour.value));
    return colour.value - colour.range * (1.0 - turned);
  });
}

// The distance of a channel from the value is in proportion to the saturation, so HSV itself is not needed.
Tensor random_saturation(Tensor x, const RandomSaturationOptions& o) {
  return recoloured(x, "random_saturation", o, "saturation", [&](const LayerScope&, Tensor rgb, Tensor u) {
    const Chroma colour = colour_of(rgb);
    // Then the least channel is at the low end.
    const Tensor most = (colour.value - o.value_range.low) / colour.safe_range;
    const Tensor times = minimum(for_each_pixel(u / (1.0 - u + 1e-7), colour.value), most);
    return colour.value - (colour.value - rgb) * times;
  });
}

Tensor random_color_degeneration(Tensor x, const RandomColorDegenerationOptions& o) {
  return recoloured(x, "random_color_degeneration", o, "degeneration", [](const LayerScope&, Tensor rgb, Tensor u) {
    return rgb + for_each_pixel(u, rgb) * (grey_of(rgb) - rgb);
  });
}

Tensor random_grayscale(Tensor x, const RandomGrayscaleOptions& o) {
  const LayerScope scope(x, "random_grayscale", o.name);
  expect_factor(scope, "factor", {o.factor, o.factor}, 0, 1);
  const Tensor images = float_images(scope, x);
  expect_colours(scope, images);
  if (mode_of(x) != Mode::kTrain) return images;
  const Tensor chosen = happens(scope, images, {o.factor, o.factor});
  return select(chosen, cast(grey_of(widened(images)), images.dtype()), images);
}

}  // namespace tenon
