#include "tenon/initializer.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"

namespace tenon {
namespace {

// Standard deviation of a unit normal cut off at 2.
constexpr double kTruncatedStddev = 0.87962566103423978;

struct Fans {
  double in, out;
};

Fans fans(const Shape& kernel) {
  if (kernel.rank() == 0) return {1, 1};
  if (kernel.rank() == 1) return {static_cast<double>(kernel[0]), static_cast<double>(kernel[0])};
  double receptive = 1;
  for (int i = 0; i + 2 < kernel.rank(); ++i) receptive *= static_cast<double>(kernel[i]);
  return {receptive * static_cast<double>(kernel[-2]), receptive * static_cast<double>(kernel[-1])};
}

Initializer of(Initializer::Kind kind, double a, double b) { return {kind, a, b, {}, {}}; }

}  // namespace

Initializer zeros() { return of(Initializer::Kind::kConstant, 0, 0); }
Initializer ones() { return of(Initializer::Kind::kConstant, 1, 0); }
Initializer constant_initializer(double value) { return of(Initializer::Kind::kConstant, value, 0); }
Initializer values_initializer(std::vector<float> values) {
  return {Initializer::Kind::kValues, 0, 0, std::move(values)};
}
Initializer read_initializer(std::shared_ptr<const InitialValues> source) {
  if (!source) fail("read_initializer: there is no source");
  Initializer out = of(Initializer::Kind::kRead, 0, 0);
  out.source = std::move(source);
  return out;
}
Initializer random_uniform(double low, double high) {
  expect_number("random_uniform: low", low);
  expect_number("random_uniform: high", high, low);
  return of(Initializer::Kind::kUniform, low, high);
}
Initializer random_normal(double mean, double stddev) {
  expect_number("random_normal: mean", mean);
  expect_number("random_normal: stddev", stddev, 0);
  return of(Initializer::Kind::kNormal, mean, stddev);
}
Initializer truncated_normal(double mean, double stddev) {
  expect_number("truncated_normal: mean", mean);
  expect_number("truncated_normal: stddev", stddev, 0);
  return of(Initializer::Kind::kTruncatedNormal, mean, stddev);
}
Initializer orthogonal(double gain) {
  expect_number("orthogonal: gain", gain);
  return of(Initializer::Kind::kOrthogonal, gain, 0);
}
Initializer identity_initializer(const Shape& matrix, double gain) {
  expect_number("identity_initializer: gain", gain);
  if (matrix.rank() != 2) fail("identity_initializer: the variable is ", matrix.str(), ", expected a matrix");
  std::vector<float> values(static_cast<size_t>(matrix.elements()));
  for (int64_t i = 0; i < std::min(matrix[0], matrix[1]); ++i)
    values[static_cast<size_t>(i * matrix[1] + i)] = static_cast<float>(gain);
  return values_initializer(std::move(values));
}
Initializer identity_initializer(const Shape& matrix) { return identity_initializer(matrix, 1); }

Initializer variance_scaling(double scale, FanMode mode, Distribution distribution, const Shape& kernel) {
  if (scale <= 0) fail("variance_scaling: scale is ", scale, ", expected more than 0");
  expect_number("variance_scaling: scale", scale);
  const Fans f = fans(kernel);
  const double fan = mode == FanMode::kFanIn ? f.in : mode == FanMode::kFanOut ? f.out : (f.in + f.out) / 2;
  const double variance = scale / std::max(1.0, fan);
  switch (distribution) {
    case Distribution::kUniform: {
      const double limit = std::sqrt(3 * variance);
      return random_uniform(-limit, limit);
    }
    case Distribution::kTruncatedNormal:
      return truncated_normal(0, std::sqrt(variance) / kTruncatedStddev);
    case Distribution::kUntruncatedNormal:
      break;
  }
  return random_normal(0, std::sqrt(variance));
}

Initializer glorot_uniform(const Shape& k) { return variance_scaling(1, FanMode::kFanAvg, Distribution::kUniform, k); }
Initializer glorot_normal(const Shape& k) {
  return variance_scaling(1, FanMode::kFanAvg, Distribution::kTruncatedNormal, k);
}
Initializer he_uniform(const Shape& k) { return variance_scaling(2, FanMode::kFanIn, Distribution::kUniform, k); }
Initializer he_normal(const Shape& k) {
  return variance_scaling(2, FanMode::kFanIn, Distribution::kTruncatedNormal, k);
}
Initializer lecun_uniform(const Shape& k) { return variance_scaling(1, FanMode::kFanIn, Distribution::kUniform, k); }
Initializer lecun_normal(const Shape& k) {
  return variance_scaling(1, FanMode::kFanIn, Distribution::kTruncatedNormal, k);
}

}  // namespace tenon
