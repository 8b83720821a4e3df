// Mean and variance of data that come batch by batch.
#pragma once

#include <string>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

// The shape that has mean and variance, and the shape of x with 1 where they have no axis.
struct MomentShapes {
  Shape own, beside_x;
};
// Throws Error that begins with `what` where an axis is out of range or repeats.
MomentShapes moment_shapes(const Shape& x, const Ints& axis, const std::string& what);

// The population's, in f64: batches are joined as Chan, Golub and LeVeque do it (1983), one batch is taken in two passes.
class DataMoments {
 public:
  DataMoments(Ints axis, std::string what) : axis_(std::move(axis)), what_(std::move(what)) {}
  // Row-major values [N, ..] of that shape. Throws Error: none, not of that shape, not finite, or of other places than before.
  void add(std::vector<double> values, const Shape& shape);
  const Shape& shape() const { return shape_; }  // of mean and variance
  std::vector<float> mean() const { return {mean_.begin(), mean_.end()}; }
  std::vector<float> variance() const;
  int64_t count() const { return count_; }  // values that each is of

 private:
  Ints axis_;
  std::string what_;
  Shape shape_ = {};
  std::vector<double> mean_, squares_;  // the second: of what the values are off the mean
  int64_t count_ = 0;
};

}  // namespace tenon
