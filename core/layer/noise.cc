// GaussianNoise, GaussianDropout, AlphaDropout, ActivityRegularization.
#include "tenon/noise.h"

#include <cmath>

#include "layer/image/draws.h"
#include "layer/object/masks.h"

namespace tenon {
namespace {

void expect_noise_rate(const LayerScope& scope, double rate) {
  scope.expect(rate >= 0 && rate < 1, "rate is ", rate, ", expected 0 to less than 1");
}

bool disturbs(Tensor x, double amount) { return mode_of(x) == Mode::kTrain && amount > 0; }

}  // namespace

Tensor gaussian_noise(Tensor x, const GaussianNoiseOptions& o) {
  const LayerScope scope(x, "gaussian_noise", o.name);
  scope.expect_number("stddev", o.stddev, 0);
  scope.expect_float(x, 0);
  if (!disturbs(x, o.stddev)) return x;
  return with_mask_of(x, x + cast(normal(scope, x, x.shape()) * o.stddev, x.dtype()));
}

Tensor gaussian_dropout(Tensor x, const GaussianDropoutOptions& o) {
  const LayerScope scope(x, "gaussian_dropout", o.name);
  expect_noise_rate(scope, o.rate);
  scope.expect_float(x, 0);
  if (!disturbs(x, o.rate)) return x;
  const Tensor factor = normal(scope, x, x.shape()) * std::sqrt(o.rate / (1 - o.rate)) + 1;
  return with_mask_of(x, x * cast(factor, x.dtype()));
}

Tensor alpha_dropout(Tensor x, const AlphaDropoutOptions& o) {
  constexpr double kLimit = -1.6732632423543772 * 1.0507009873554805;  // -alpha scale of selu
  const LayerScope scope(x, "alpha_dropout", o.name);
  expect_noise_rate(scope, o.rate);
  scope.expect_float(x, 0);
  if (!disturbs(x, o.rate)) return x;
  const Tensor draw = uniform(scope, x, x.shape());
  const Tensor kept = compare(draw, scalar_like(draw, o.rate), CompareKind::kGe);
  const double a = 1 / std::sqrt((1 - o.rate) * (1 + o.rate * kLimit * kLimit));
  return with_mask_of(x, select(kept, x, scalar_like(x, kLimit)) * a - a * kLimit * o.rate);
}

Tensor activity_regularization(Tensor x, const ActivityRegularizationOptions& o) {
  const LayerScope scope(x, "activity_regularization", o.name);
  scope.expect_number("l1", o.l1, 0);
  scope.expect_number("l2", o.l2, 0);
  scope.expect_float(x, 1);
  add_penalty("the activity", x, {.l1 = o.l1, .l2 = o.l2}, Share::kExample);
  return x;
}

}  // namespace tenon
