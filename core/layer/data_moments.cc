#include "layer/data_moments.h"

#include <algorithm>

#include "base/number.h"
#include "base/strings.h"

namespace tenon {
namespace {

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

std::vector<double> sums_by(const std::vector<size_t>& groups, const std::vector<double>& values, size_t count) {
  std::vector<double> sums(count, 0);
  for (size_t i = 0; i < values.size(); ++i) sums[groups[i]] += values[i];
  return sums;
}

}  // namespace

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

void DataMoments::add(std::vector<double> values, const Shape& shape) {
  if (shape.rank() < 1 || values.empty()) fail(what_, " has no data");
  if (shape.elements() != static_cast<int64_t>(values.size()))
    fail(what_, " has ", values.size(), " values, expected ", shape.str());
  for (const double v : values) expect_number(cat(what_, ": a value"), v);
  const MomentShapes shapes = moment_shapes(shape, axis_, what_);
  if (count_ > 0 && !(shapes.own == shape_))
    fail(what_, ": a batch has moments of ", shapes.own.str(), ", those before it ", shape_.str());
  const std::vector<size_t> groups = moment_of_element(shape, shapes.beside_x);
  const auto places = static_cast<size_t>(shapes.own.elements());
  const auto n = static_cast<int64_t>(values.size() / places);
  std::vector<double> mean = sums_by(groups, values, places);
  for (double& m : mean) m /= static_cast<double>(n);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (values[i] - mean[groups[i]]) * (values[i] - mean[groups[i]]);
  const std::vector<double> squares = sums_by(groups, values, places);
  if (count_ == 0) {
    shape_ = shapes.own, mean_ = std::move(mean), squares_ = squares, count_ = n;
    return;
  }
  const auto before = static_cast<double>(count_), now = static_cast<double>(n), all = before + now;
  for (size_t i = 0; i < places; ++i) {
    const double apart = mean[i] - mean_[i];
    mean_[i] += apart * now / all;
    squares_[i] += squares[i] + apart * apart * before * now / all;
  }
  count_ += n;
}

std::vector<float> DataMoments::variance() const {
  std::vector<float> out;
  for (const double s : squares_) out.push_back(static_cast<float>(s / static_cast<double>(count_)));
  return out;
}

}  // namespace tenon
