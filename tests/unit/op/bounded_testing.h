// Runs a function twice: on inputs of their size, and on the same inputs at the bounds of their dynamic dimensions with
// garbage behind them.
#pragma once

#include <string>
#include <vector>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {

// That axis of an input ends with the dimension of that number.
struct Ends {
  int input, axis, dim;
};

// Expects equal results as far as they are there. `bounds`: of the dimensions.
void expect_equal_when_bounded(const Build& build, const std::vector<Feed>& feeds, const std::vector<Ends>& ends,
                               const std::vector<int64_t>& bounds, double tolerance = 1e-9);

// The graph of the function on inputs of these types with dynamic dimensions "d0", "d1", ..
std::string bounded_graph_text(const Build& build, const std::vector<Type>& types, const std::vector<Ends>& ends);
// The message of the Error that building it throws.
std::string error_when_bounded(const Build& build, const std::vector<Type>& types, const std::vector<Ends>& ends);

}  // namespace tenon::op_testing
