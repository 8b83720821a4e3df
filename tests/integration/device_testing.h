// Runs graphs on cpu.so and says how far its results may be from the reference.
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

// What the graph means and how far a device may be from it. One primitive: error_bound.h's tolerance. More:
// its decomposition is evaluated with each float moved at random within its node's bound (a cast to a narrower
// dtype: within its rounding, which a kernel of the whole leaves out), with `move_inputs` each input within half an
// ulp of f32, and the tolerance is several times the largest distance seen.
struct Expected {
  std::vector<reference::Tensor> values, tolerances;
};
Expected expect_of(const Built& built, bool move_inputs = true);

}  // namespace tenon::device_testing
