// Functions whose units have the same inputs: what they draw is the same too, whatever draws it.
#include <gtest/gtest.h>

#include <algorithm>

#include "op/replicas.h"
#include "step/trace.h"
#include "tenon/gradients.h"
#include "tenon/layers.h"
#include "tenon/noise.h"
#include "tenon/optimizers.h"
#include "tenon/random.h"

namespace tenon {
namespace {

Outputs trained(const Features& in) {
  const Tensor x = in["x"];
  Tensor y = spatial_dropout1d(x, {.rate = 0.5}) + gaussian_dropout(x, {.rate = 0.5});
  y = multi_head_attention(dropout(y, 0.5), y, {.num_heads = 2, .key_dim = 2, .dropout = 0.5});
  const Tensor loss = reduce_mean(square(y + draw_uniform(y.shape(), 0, 1)));
  minimize(SGD(0.1), loss);
  return {{"loss", loss}};
}

bool varies(bool same_draws) {
  TraceOptions options;
  options.mode = Mode::kTrain;
  options.same_draws = same_draws;
  const Trace traced = trace(trained, {{"x", {DType::kF32, {3, 4, 4}}, false, {}}}, options).take();
  const std::vector<bool> varying = varying_values(*traced.graph);
  return std::any_of(varying.begin(), varying.end(), [](bool v) { return v; });
}

TEST(SameDraws, LeaveNothingThatUnitsDrawApart) {
  EXPECT_FALSE(varies(true));
  EXPECT_TRUE(varies(false));
}

}  // namespace
}  // namespace tenon
