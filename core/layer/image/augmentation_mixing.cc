// MixUp, CutMix: examples of a batch mixed with each other.
#include <numbers>

#include "layer/image/random_change.h"

namespace tenon {
namespace {

// Draws from Beta(a, a) for each image, f32[B]; a > 0 is f32[B]. Nothing is rejected: Y of Beta(a + 1, a + 1) is a projection
// of a point of a sphere (Ulrich 1984), and a gamma variate of a is one of a + 1 times U^(1 / a).
Tensor symmetric_beta(const LayerScope& scope, Tensor images, Tensor a) {
  const auto draw = [&](const char* what) { return 1.0 - uniform(scope, images, a.shape(), what); };  // in (0, 1]
  const Tensor radius = sqrt(1.0 - pow(draw("radius"), 2.0 / (a * 2.0 + 1.0)));
  const Tensor at = clamp(radius * cos(draw("angle") * (2 * std::numbers::pi)), -1 + 1e-7, 1 - 1e-7);
  const Tensor odds = log(1.0 + at) - log(1.0 - at) + (log(draw("one")) - log(draw("other"))) / a;
  return activation(odds, Activation::kSigmoid);
}

// Numbers from 0 to B - 1 in any order, i32[B]. Of a dynamic batch those of the examples that are there come first.
Tensor permutation(const LayerScope& scope, Tensor images) {
  const int64_t batch = images.dim(0);
  const Tensor draws = uniform(scope, images, {batch}, "order");
  const Tensor number = iota(*images.graph(), DType::kI32, {batch}, 0);
  const Tensor there = compare(number, dimension_size(images, 0), CompareKind::kLt);
  return sort(select(there, draws, full_like(draws, -1)), batch, true).indices;
}

// Each w of it and 1 - w of the other one.
Tensor mixed(Tensor x, Tensor order, Tensor w) {
  const Tensor own = for_each_pixel(w, x);
  return own * x + (1.0 - own) * gather(x, order, 0);
}

// The first are images; the others have their batch.
Tensors examples(const LayerScope& scope, const Tensors& xs) {
  Tensors out{float_images(scope, xs[0])};
  for (size_t i = 1; i < xs.size(); ++i) {
    const Tensor& x = xs[i];
    scope.expect(x && x.is_of(*xs[0].graph()), "tensor ", i, " was never set, or is of another function");
    scope.expect(is_float(x.dtype()) && x.rank() >= 1 && x.dim(0) == xs[0].dim(0), "labels are ", x.type().str(),
                 ", expected floats, ", xs[0].dim(0), " examples; classes as one_hot() has them");
    out.push_back(x);
  }
  return out;
}

}  // namespace

Tensors mix_up(const Tensors& xs, const MixUpOptions& o) {
  const LayerScope scope(xs.empty() ? Tensor() : xs[0], "mix_up", o.name);
  scope.expect_number("alpha", o.alpha, 0);
  scope.expect(o.alpha > 0, "alpha is 0, expected more than 0");
  Tensors all = examples(scope, xs);
  if (mode_of(xs[0]) != Mode::kTrain) return all;
  const Tensor alpha = full(*xs[0].graph(), DType::kF32, {xs[0].dim(0)}, o.alpha);
  const Tensor w = symmetric_beta(scope, all[0], alpha), order = permutation(scope, all[0]);
  for (Tensor& x : all) x = mixed(x, order, w);
  return all;
}

Tensor mix_up(Tensor images, const MixUpOptions& o) { return mix_up(Tensors{images}, o)[0]; }

Tensors cut_mix(const Tensors& xs, const CutMixOptions& o) {
  const LayerScope scope(xs.empty() ? Tensor() : xs[0], "cut_mix", o.name);
  const Factor factor = from_zero(o.factor);
  expect_factor(scope, "factor", factor, 0, 1);
  Tensors all = examples(scope, xs);
  if (mode_of(xs[0]) != Mode::kTrain) return all;
  const Tensor images = all[0];
  const Tensor alpha = uniform(scope, images, {}, "alpha", true) * (factor.high - factor.low) + (factor.low + 1e-6);
  const Tensor length = sqrt(1.0 - symmetric_beta(scope, images, broadcast(alpha, {images.dim(0)}, {})));
  const Rectangle inside = rectangle(scope, images, length, length);
  const Tensor order = permutation(scope, images);
  all[0] = select(inside.mask(images), gather(images, order, 0), images);
  const auto share = [](Tensor within) { return reduce_mean(cast(within, DType::kF32), {1}); };
  const Tensor w = 1.0 - share(inside.rows) * share(inside.columns);
  for (size_t i = 1; i < all.size(); ++i) all[i] = mixed(all[i], order, w);
  return all;
}

Tensor cut_mix(Tensor images, const CutMixOptions& o) { return cut_mix(Tensors{images}, o)[0]; }

}  // namespace tenon
