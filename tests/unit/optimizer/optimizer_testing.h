// One variable whose gradient is fed.
#pragma once

#include "tenon/optimizers.h"
#include "tenon/variables.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon::optimizer_testing {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

inline Initializer values(const Numbers& v) { return values_initializer(std::vector<float>(v.begin(), v.end())); }

// w after each of the steps whose gradients are given, row by row, in one list.
inline Numbers trained(const Optimizer& optimizer, const Shape& shape, const Numbers& start,
                       const std::vector<Numbers>& gradients) {
  Graph graph;
  const Tensor g = feed(graph, "g", shape), w = variable(g, "w", shape, values(start));
  optimizer.apply({g}, {w});
  Session session(graph, {});
  Numbers out;
  for (const Numbers& each : gradients) {
    session.run({{"g", each}});
    const Numbers& now = session.state("w");
    out.insert(out.end(), now.begin(), now.end());
  }
  EXPECT_EQ(session.state("global_step"), Numbers{static_cast<double>(gradients.size())});
  return out;
}

}  // namespace tenon::optimizer_testing
