// Gradients of a loss, and the optimizer applied to them.
#include <algorithm>

#include "base/strings.h"
#include "graph/graph.h"
#include "tenon/gradients.h"
#include "tenon/optimizers.h"

namespace tenon {

TrainOp minimize(const Optimizer& optimizer, Tensor loss) {
  if (!loss) fail("minimize: the loss was never set");
  Graph& graph = *loss.graph();
  if (const Tensor extra = added_losses(graph)) loss = add(loss, extra);
  Tensors values;
  for (size_t i = 0; i < graph.variables.size(); ++i)
    if (graph.variables[i].trainable && graph.variables[i].kind == VariableKind::kWeight)
      values.emplace_back(&graph, graph.variable_value(static_cast<int>(i)));
  const Tensors grads = gradients(optimizer.scale_loss(loss), values);
  if (std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return static_cast<bool>(g); }))
    fail("minimize: the loss depends on no trainable variable");
  optimizer.apply(grads, values);
  return {&graph};
}

}  // namespace tenon
