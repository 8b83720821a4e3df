// Normalization, CategoryEncoding.
#include "layer/data_moments.h"
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "op/rules.h"
#include "tenon/preprocessing.h"

namespace tenon {
namespace {

Initializer starting_at(const std::vector<float>& values, double otherwise) {
  return values.empty() ? constant_initializer(otherwise) : values_initializer(values);
}

// A mean or variance: the numbers given, or a variable.
Tensor moment(const LayerScope& scope, Tensor x, const char* name, const MomentShapes& shapes,
              const std::vector<float>& given, const Initializer& first) {
  const int64_t n = shapes.own.elements();
  const auto expect_count = [&](const std::vector<float>& values) {
    scope.expect(static_cast<int64_t>(values.size()) == n, name, " has ", values.size(), " numbers, expected ", n);
  };
  if (!given.empty()) {
    expect_count(given);
    return constant_of(*x.graph(), DType::kF32, shapes.beside_x, {given.begin(), given.end()});
  }
  if (first.kind == Initializer::Kind::kValues) expect_count(first.values);
  return reshape(cast(variable(x, name, shapes.own, first, false), DType::kF32), shapes.beside_x);
}

}  // namespace

Tensor normalization(Tensor x, const NormalizationOptions& o) {
  const LayerScope scope(x, "normalization", o.name);
  scope.expect(x.rank() >= 1 && x.elements() > 0 && x.dtype() != DType::kBool, "input is ", x.type().str(),
               ", expected numbers of rank 1 or more");
  scope.expect(o.mean.empty() == o.variance.empty(), o.mean.empty() ? "variance" : "mean",
               " is given alone, expected mean and variance or neither");
  for (const float m : o.mean) scope.expect_number("mean", m);
  for (const float v : o.variance) scope.expect_number("variance", v, 0);
  const MomentShapes shapes = moment_shapes(x.shape(), o.axis, "normalization '" + scope.name() + "'");
  const Tensor values = is_float(x.dtype()) ? x : cast(x, DType::kF32);
  const Tensor mean = moment(scope, x, "mean", shapes, o.mean, starting_at(o.adapted_mean, 0));
  const Tensor variance = moment(scope, x, "variance", shapes, o.variance, starting_at(o.adapted_variance, 1));
  if (o.mean.empty())
    variable(x, "count", {}, constant_initializer(static_cast<double>(o.adapted_count)), false, DType::kI32);
  const Tensor deviation = cast(maximum(sqrt(variance), scalar_like(variance, 1e-7)), values.dtype());
  const Tensor middle = cast(mean, values.dtype());
  return with_mask_of(x, o.invert ? values * deviation + middle : (values - middle) / deviation);
}

void Normalization::adapt(std::vector<double> values, const Shape& shape) {
  DataMoments moments(options_->axis, "normalization: adapt()");
  moments.add(std::move(values), shape);
  take(moments);
}

void Normalization::take(const DataMoments& moments) {
  if (!options_->mean.empty()) fail("normalization: adapt() of a layer that was given its mean and variance");
  if (moments.count() > INT32_MAX)
    fail("normalization: adapt() of ", moments.count(), " values each, expected less than 2^31");
  set_variable("mean", Array(moments.mean(), moments.shape()));
  set_variable("variance", Array(moments.variance(), moments.shape()));
  set_variable("count", Array(static_cast<int32_t>(moments.count())));
  options_->adapted_mean = moments.mean();
  options_->adapted_variance = moments.variance();
  options_->adapted_count = moments.count();
}

Tensor category_encoding(Tensor indices, const CategoryEncodingOptions& o) {
  const LayerScope scope(indices, "category_encoding", o.name);
  scope.expect_value_of("output_mode", o.output_mode, OutputMode::kCount);
  indices = as_indices(indices);
  scope.expect(is_integer(indices.dtype()), "indices are ", indices.type().str(), ", expected i32, i64 or f32");
  scope.expect(o.num_tokens >= 1 && o.num_tokens <= INT32_MAX, "num_tokens is ", o.num_tokens, ", expected 1 or more");
  scope.expect(indices.rank() >= 1 && indices.elements() > 0, "indices are ", indices.type().str(),
               ", expected rank 1 or more");
  const bool last_is_one = indices.rank() > 1 && indices.dim(-1) == 1;
  if (o.output_mode == OutputMode::kOneHot && !last_is_one) return one_hot(indices, o.num_tokens);
  const Tensor marks = one_hot(indices, o.num_tokens);
  const Ints tokens{marks.rank() - 2};
  return o.output_mode == OutputMode::kCount ? reduce_sum(marks, tokens) : reduce_max(marks, tokens);
}

}  // namespace tenon
