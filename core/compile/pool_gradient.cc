// An activation's gradient behind a max-pool's moves in front of it.
//
//   dx = max_pool_grad(x, y, dy)             dy' = activation_grad(dy, y)
//   dz = activation_grad(dx, x)      ->      dz  = max_pool_grad(x, y, dy')
//
// The gradient goes to elements of x that equal their window's y, or are NaN as it is, so what the activation's gradient
// reads there is y: the same numbers, from a map that is a quarter as large in most models. A bias's gradient, the sum of
// dz, is that of dy'.
#include <map>
#include <vector>

#include "compile/rewrite.h"
#include "tenon/op/names.h"

namespace tenon {
namespace {

class PoolGradient {
 public:
  explicit PoolGradient(const Graph& from) : from_(from), rewrite_(from), uses_(count_uses(from)) {}

  Graph run() {
    return rewrite_.run([this](const Node& node, const Tensors& operands) { return visit(node, operands); });
  }

 private:
  using Pool = op::max_pool_grad;

  // The max_pool_grad whose result this activation's gradient reads at places of the pool's own operand; or nullptr.
  const Node* pool_before(const Node& node) const {
    if (node.op != "activation_grad" && node.op != "bias_act_grad") return nullptr;
    const ValueId gradient = node.operands[op::activation_grad::g], place = node.operands[op::activation_grad::t];
    const Node* pool = from_.defining_node(gradient);
    if (!pool || pool->op != "max_pool_grad" || uses_[gradient] != 1) return nullptr;
    const ValueId x = pool->operands[Pool::x], y = pool->operands[Pool::y];
    const bool smaller = from_.type(y).shape.elements() < from_.type(x).shape.elements();
    return place == x && smaller ? pool : nullptr;
  }

  Tensors visit(const Node& node, const Tensors& operands) {
    const Node* pool = pool_before(node);
    if (!pool) {
      Tensors results = rewrite_.copy(node, operands);
      if (node.op == "max_pool_grad") operands_of_[&node] = operands;
      return results;
    }
    const Tensors& given = operands_of_.at(pool);
    const Tensor x = given[Pool::x], y = given[Pool::y], dy = given[Pool::dy];
    Tensors results = rewrite_.copy(node, {dy, y});
    rewrite_.to().values[results[0].id()].type = y.type();
    results[0] = rewrite_.copy(*pool, {x, y, results[0]})[0];
    return results;
  }

  const Graph& from_;
  Rewrite rewrite_;
  std::vector<int> uses_;                       // of each value
  std::map<const Node*, Tensors> operands_of_;  // of max_pool_grad nodes, in the new graph
};

}  // namespace

Graph activate_before_pooling(const Graph& graph) { return PoolGradient(graph).run(); }

}  // namespace tenon
