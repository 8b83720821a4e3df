// Builds graphs of f64 inputs, evaluates them by the reference and checks gradients by central differences.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"
#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/ops.h"

namespace tenon::op_testing {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Doubles = std::vector<double>;

// An input's type and elements; integers and bools are given as doubles too.
struct Feed {
  Type type;
  Doubles values;
};

Feed f64(const Shape& shape, Doubles values);
Feed f32(const Shape& shape, Doubles values);  // f32, which the reference keeps unrounded
Feed of(DType dtype, const Shape& shape, Doubles values);
// Elements in [low, high) that look random, the same ones for the same seed.
Feed noise(const Shape& shape, int seed, double low = -1, double high = 1);
// Distinct elements at least `gap` apart in a shuffled order, none nearer to 0 than gap / 2: for ops with kinks.
Feed distinct(const Shape& shape, int seed, double gap = 0.1);

// A function of tensors: what a test builds.
using Build = std::function<Tensors(const Tensors& inputs)>;

struct Evaluated {
  Type type;
  Doubles values;  // integers and bools as doubles
};

// The results of build(inputs), lowered to primitives. Fails the test on an error.
std::vector<Evaluated> evaluate(const Build& build, const std::vector<Feed>& feeds);
// The first result.
Doubles value(const Build& build, const std::vector<Feed>& feeds);
// The same with every float rounded to its dtype after each node.
Doubles rounded_value(const Build& build, const std::vector<Feed>& feeds);

void expect_near(const Doubles& actual, const Doubles& expected, double tolerance = 1e-12);

// Compares gradients() of loss = sum over results of result * fixed weights with central differences at every
// element of every f64 input. `skip`: inputs that are not differentiated.
void expect_gradients(const Build& build, const std::vector<Feed>& feeds, const std::vector<int>& skip = {},
                      double tolerance = 1e-6);

// The message of the Error that `build` throws; fails the test when it throws none.
std::string error_of(const Build& build, const std::vector<Type>& inputs);

// Every result of the decomposition of the op that `build` emits has the inferred type, for inputs of `types`
// with f64 replaced by each float dtype.
void expect_types_survive_lowering(const Build& build, const std::vector<Type>& types);

// How many nodes of that op are in the graph.
int count(const Graph& graph, std::string_view op);

}  // namespace tenon::op_testing
