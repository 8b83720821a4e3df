// Runs graphs on cpu.so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "unit/op/op_testing.h"

namespace tenon::device_testing {

using op_testing::Build;
using op_testing::Doubles;
using op_testing::Feed;

// cpu.so, found and opened as users do, once a process.
const std::shared_ptr<Device>& cpu();
// The same file on a pool of its own with so many threads; lives for ever.
const std::shared_ptr<Device>& cpu_of_threads(int threads);

// Random elements of the dtype: floats in [low, high), integers there too, bools by the sign.
Feed random_feed(DType dtype, const Shape& shape, int seed, double low = -2, double high = 2);
// `values` over and over.
Feed repeated(DType dtype, const Shape& shape, const Doubles& values);

// A graph of build(inputs): the inputs are named x0, x1, ...
struct Built {
  Graph graph;
  std::vector<reference::Tensor> inputs;  // rounded to their dtypes
};
Built build_graph(const Build& build, const std::vector<Feed>& feeds);

// Compiles and runs once; results in the graph's order.
Result<std::vector<reference::Tensor>> run_on(const std::shared_ptr<Device>& device, const Built& built);

}  // namespace tenon::device_testing
