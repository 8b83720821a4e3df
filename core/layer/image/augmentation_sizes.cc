// RandomHeight, RandomWidth.
#include <cmath>

#include "layer/image/random_change.h"

namespace tenon {
namespace {

template <class Options>
Tensor resized_at_random(Tensor x, const char* layer, int axis, const char* instead, const Options& o) {
  const LayerScope scope(x, layer, o.name);
  expect_factor(scope, "factor", o.factor, -1, 1e6);
  scope.expect_value_of("interpolation", o.interpolation, Interpolation::kBicubic);
  const Tensor images = float_images(scope, x);
  if (mode_of(x) != Mode::kTrain) return images;
  std::string sizes;
  for (int d = 0; d < images.rank(); ++d) {
    const auto most = static_cast<int64_t>(std::floor(static_cast<double>(images.dim(d)) * (1 + o.factor.high)));
    append(sizes, d == 0 ? cat(images.dim(d)) : d == axis ? cat(",<=", most) : cat(",", images.dim(d)));
  }
  scope.fail("Dynamic Spatial Convolution is not supported: lhs shape is ", dtype_name(images.dtype()), "[", sizes,
             "], as its images are of another size in each step; RandomZoom({", instead, "}) keeps their size");
}

}  // namespace

Tensor random_height(Tensor x, const RandomHeightOptions& o) {
  return resized_at_random(x, "random_height", 1, ".height_factor = .., .width_factor = 0", o);
}
Tensor random_width(Tensor x, const RandomWidthOptions& o) {
  return resized_at_random(x, "random_width", 2, ".height_factor = 0, .width_factor = ..", o);
}

}  // namespace tenon
