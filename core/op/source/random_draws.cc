// Draws for models.
#include <numbers>

#include "base/crc32c.h"
#include "base/number.h"
#include "base/strings.h"
#include "graph/graph.h"
#include "op/source/normal.h"
#include "tenon/ops.h"
#include "tenon/random.h"
#include "tenon/variables.h"

namespace tenon {
namespace {

// Uniform in [0, 1): another stream for each draw of the function.
Tensor drawn(const char* what, const Shape& shape) {
  Graph* graph = graph_being_built();
  if (!graph) fail(what, ": no function is being traced");
  return random(seed_input(*graph), draw_step(*graph), crc32c(graph->unique_name(what)), shape, true);
}

}  // namespace

Tensor draw_uniform(const Shape& shape, double low, double high) {
  expect_number("draw_uniform: low", low);
  expect_number("draw_uniform: high", high);
  if (!(low < high)) fail("draw_uniform: expected low < high, found ", low, " and ", high);
  return drawn("draw_uniform", shape) * (high - low) + low;
}

Tensor normal_of(Tensor u, Tensor v) { return sqrt(log(1 - u) * -2.0) * cos(v * (2 * std::numbers::pi)); }

Tensor draw_normal(const Shape& shape, double mean, double stddev) {
  expect_number("draw_normal: mean", mean);
  expect_number("draw_normal: stddev", stddev, 0);
  const Tensor u = drawn("draw_normal", shape);
  return normal_of(u, drawn("draw_normal", shape)) * stddev + mean;
}

}  // namespace tenon
