// The scale of a loss that is found while training (Micikevicius et al. 2018), as Keras's LossScaleOptimizer finds it.
#pragma once

#include "optimizer/optimizer_names.h"

namespace tenon {

class DynamicLossScale {
 public:
  DynamicLossScale(Graph& graph, const OptimizerNames& names, const LossScaleOptions& options);
  Tensor scale() const { return scale_; }  // f32 scalar
  // The scale of the next call, after one whose gradients were all finite, or not.
  void adjust(Tensor finite) const;

 private:
  LossScaleOptions options_;
  Tensor scale_, good_steps_;
};

// Whether there is no infinity and no NaN in any of them, bool[].
Tensor all_finite(const Tensors& xs);

}  // namespace tenon
