#include "optimizer/loss_scale.h"

#include "base/number.h"
#include "op/rules.h"

namespace tenon {
namespace {

// Within these it and its reciprocal are normal numbers.
constexpr double kLowestScale = 0x1p-100, kHighestScale = 0x1p100;

}  // namespace

DynamicLossScale::DynamicLossScale(Graph& graph, const OptimizerNames& names, const LossScaleOptions& options)
    : options_(options),
      scale_(own_slot(graph, names.of("dynamic_scale"), {DType::kF32, {}}, options.initial_scale)),
      good_steps_(own_slot(graph, names.of("step_counter"), {DType::kI64, {}}, 0)) {}

void DynamicLossScale::adjust(Tensor finite) const {
  const Tensor more = good_steps_ + 1, none = scalar_like(good_steps_, 0);
  const Tensor grows = compare(more, scalar_like(more, options_.dynamic_growth_steps), CompareKind::kGe);
  const Tensor kept = select(grows, scale_ * 2, scale_);
  assign(scale_, clamp(select(finite, kept, scale_ * 0.5), kLowestScale, kHighestScale));
  assign(good_steps_, select(finite, select(grows, none, more), none));
}

// A finite number times 0 is 0, another is NaN, and so is any sum with it: no device's maximum is asked what it makes of NaN.
Tensor all_finite(const Tensors& xs) {
  Tensor sum;
  for (const Tensor& x : xs) {
    const Tensor wide = widened(x);
    const Tensor zero = cast(reduce_sum(wide * 0.0), DType::kF32);
    sum = sum ? sum + zero : zero;
  }
  return compare(sum, scalar_like(sum, 0), CompareKind::kEq);
}

Optimizer LossScaleOptimizer(Optimizer optimizer, const LossScaleOptions& options) {
  if (optimizer.loss_scale)
    fail("LossScaleOptimizer: ", optimizer.name, " is one already, expected an optimizer without");
  if (optimizer.options.loss_scale_factor > 0)
    fail("LossScaleOptimizer: ", optimizer.name, " has a loss_scale_factor, expected none");
  expect_number("LossScaleOptimizer: initial_scale", options.initial_scale, kLowestScale, kHighestScale);
  expect_number("LossScaleOptimizer: dynamic_growth_steps", options.dynamic_growth_steps, 1);
  optimizer.loss_scale = options;
  return optimizer;
}

Tensor Optimizer::scale_loss(Tensor loss) const {
  if (!loss) fail(name, ": the loss to scale was never set");
  if (!loss_scale && options.loss_scale_factor == 0) return loss;
  loss = widened(loss);  // a loss of 16 bits times 32768 would be infinite
  if (!loss_scale) return loss * options.loss_scale_factor;
  Graph& graph = *loss.graph();
  return loss * cast(DynamicLossScale(graph, OptimizerNames(graph, *this), *loss_scale).scale(), loss.dtype());
}

}  // namespace tenon
