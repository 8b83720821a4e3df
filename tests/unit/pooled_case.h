// A convolution of NHWC images and the 2 x 2 max-pool behind it, as the tests of backends that make one node of both try it.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon {

struct PooledCase {
  using Dims = std::vector<int64_t>;
  Dims x, w;  // NHWC, HWIO
  int64_t low, stride;
  bool bias, relu;
  Dims y() const {
    const auto size = [&](int d) { return (x[d] + 2 * low - w[d - 1]) / stride + 1; };
    return {x[0], size(1), size(2), w[3]};
  }
  Dims pooled() const { return {x[0], y()[1] / 2, y()[2] / 2, w[3]}; }
};

}  // namespace tenon
