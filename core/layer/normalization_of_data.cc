// Normalization, CategoryEncoding.
#include <algorithm>
#include <cmath>

#include "layer/object/layer.h"
#include "layer/object/masks.h"
#include "op/rules.h"
#include "tenon/preprocessing.h"

namespace tenon {
namespace {

// The shape that has mean and variance, and the shape of x with 1 where they have no axis.
struct MomentShapes {
  Shape own, beside_x;
};

MomentShapes moment_shapes(const Shape& x, const Ints& axis, const std::string& what) {
  std::vector<int64_t> own, beside(static_cast<size_t>(x.rank()), 1);
  Ints axes;
  for (const int64_t a : axis) {
    if (a < -x.rank() || a >= x.rank()) fail(what, ": axis ", a, " is out of range for ", x.str());
    axes.push_back(a < 0 ? a + x.rank() : a);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail(what, ": axis repeats: ", join(axis, ","));
  for (const int64_t a : axes) {
    own.push_back(x[static_cast<int>(a)]);
    beside[static_cast<size_t>(a)] = own.back();
  }
  return {Shape(own), Shape(beside)};
}

// Which of the moments each element of data has, in their order.
std::vector<size_t> moment_of_element(const Shape& data, const Shape& beside) {
  std::vector<size_t> strides(static_cast<size_t>(data.rank()), 0), out;
  size_t stride = 1;
  for (int i = data.rank() - 1; i >= 0; --i)
    if (beside[i] != 1) strides[static_cast<size_t>(i)] = stride, stride *= static_cast<size_t>(beside[i]);
  out.reserve(static_cast<size_t>(data.elements()));
  for (int64_t e = 0; e < data.elements(); ++e) {
    size_t at = 0;
    int64_t rest = e;
    for (int i = data.rank() - 1; i >= 0; --i) {
      at += static_cast<size_t>(rest % data[i]) * strides[static_cast<size_t>(i)];
      rest /= data[i];
    }
    out.push_back(at);
  }
  return out;
}

std::vector<double> means_by(const std::vector<size_t>& groups, const std::vector<double>& values, size_t count) {
  std::vector<double> sums(count, 0);
  for (size_t i = 0; i < values.size(); ++i) sums[groups[i]] += values[i];
  for (double& s : sums) s /= static_cast<double>(values.size() / count);
  return sums;
}

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
  if (shape.rank() < 1 || values.empty()) fail("normalization: adapt() has no data");
  if (shape.elements() != static_cast<int64_t>(values.size()))
    fail("normalization: adapt() has ", values.size(), " values, expected ", shape.str());
  for (const double v : values) expect_number("normalization: adapt(): a value", v);
  const MomentShapes shapes = moment_shapes(shape, options_.axis, "normalization: adapt()");
  const std::vector<size_t> groups = moment_of_element(shape, shapes.beside_x);
  const auto count = static_cast<size_t>(shapes.own.elements());
  const std::vector<double> mean = means_by(groups, values, count);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (values[i] - mean[groups[i]]) * (values[i] - mean[groups[i]]);
  const std::vector<double> variance = means_by(groups, values, count);
  options_.adapted_mean.assign(mean.begin(), mean.end());
  options_.adapted_variance.assign(variance.begin(), variance.end());
  options_.adapted_count = static_cast<int64_t>(values.size() / count);
}

Tensor category_encoding(Tensor indices, const CategoryEncodingOptions& o) {
  const LayerScope scope(indices, "category_encoding", o.name);
  scope.expect_value_of("output_mode", o.output_mode, OutputMode::kCount);
  scope.expect(is_integer(indices.dtype()), "indices are ", indices.type().str(), ", expected i32 or i64");
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
