// The gradient of an embedding goes to its update as the rows that it has, not as a tensor of the variable's shape.
//
//   g = scatter(0, indices, v), added               p' = update(p, v, .., rows = indices)
//   p' = update(p, g, ..)                     ->
//
// Both mean the same (tenon/abi/optimizer.h): rows that come again add up in their order, rows out of range are dropped.
// A table that is no larger than what was looked up, or narrow, keeps its dense gradient, which is as cheap.
#include <algorithm>
#include <map>
#include <vector>

#include "compile/rewrite.h"
#include "op/decompose.h"
#include "op/update/update_rules.h"
#include "tenon/op/table.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr int64_t kFewestColumns = 16;  // of a row, where rows pay

bool gives_rows(const Node& node) { return node.operands.size() > kUpdateRows && node.operands[kUpdateRows] >= 0; }

bool is_nothing(const Graph& graph, ValueId id) {
  const Node* node = graph.defining_node(id);
  return node && node->op == "constant" &&
         std::get<std::string>(*find_attr(node->attrs, "value")).find_first_not_of('\0') == std::string::npos;
}

// As [n, ..rest] for a matrix of rows [.., ..rest].
Tensor in_rows(Tensor x, int64_t n, const Shape& whole) {
  Shape shape = whole;
  shape.set(0, n);
  return reshape(x, shape);
}

class RowUpdates {
 public:
  explicit RowUpdates(const Graph& from) : from_(from), rewrite_(from), uses_(count_uses(from)) {}

  Graph run() {
    return rewrite_.run([this](const Node& node, const Tensors& operands) { return visit(node, operands); });
  }

 private:
  // The scatter that this update alone reads its gradient from; or nullptr. In 16 bits its sums would be rounded at each
  // row.
  const Node* scatter_before(const Node& node) const {
    if (!op::is_update(node.op) || gives_rows(node)) return nullptr;
    const ValueId g = node.operands[kUpdateG];
    const Node* scatter = from_.defining_node(g);
    if (!scatter || scatter->op != "scatter" || uses_[g] != 1 || !is_nothing(from_, scatter->operands[0]))
      return nullptr;
    const Type& table = from_.type(g);
    const int64_t rows = table.shape[0], given = from_.type(scatter->operands[1]).shape.elements();
    if (given >= rows || table.shape.elements() < rows * kFewestColumns) return nullptr;
    const AttrReader a(scatter->attrs);
    const bool adds = a.enumerator("kind") == static_cast<int>(ScatterKind::kAdd);
    const bool whole = from_.type(node.operands[kUpdateP]) == table;
    const bool exact = table.dtype == DType::kF32 || table.dtype == DType::kF64;
    return adds && whole && exact && a.i64("axis") == 0 && a.i64("batch") == 0 ? scatter : nullptr;
  }

  Tensors visit(const Node& node, const Tensors& operands) {
    if (node.op == "scatter") operands_of_[&node] = operands;
    const Node* scatter = scatter_before(node);
    if (!scatter) return rewrite_.copy(node, operands);
    const Tensors& given = operands_of_.at(scatter);  // zeros, indices, v
    const int64_t n = given[1].shape().elements();
    Tensors with_rows = operands;
    with_rows.resize(std::max<size_t>(operands.size(), kUpdateRows + 1));  // what is absent at the end is left out
    const Stamp stamp(rewrite_.to());
    rewrite_.to().phase = scatter->phase;
    rewrite_.to().origin = scatter->origin;
    rewrite_.to().set_scope(scatter->name);
    with_rows[kUpdateRows] = reshape(given[1], {n});
    with_rows[kUpdateG] = in_rows(given[2], n, operands[kUpdateP].shape());
    return rewrite_.copy(node, with_rows);
  }

  const Graph& from_;
  Rewrite rewrite_;
  std::vector<int> uses_;                       // of each value
  std::map<const Node*, Tensors> operands_of_;  // of scatters, in the new graph
};

}  // namespace

Graph give_rows_to_updates(const Graph& graph) { return RowUpdates(graph).run(); }

bool has_rows(const Node& node) { return op::is_update(node.op) && gives_rows(node); }

Tensors dense_update(Rewrite& rewrite, const Node& node, const Tensors& operands) {
  const Tensor p = operands[kUpdateP];
  Graph& graph = rewrite.to();
  const Stamp stamp(graph);
  graph.phase = node.phase;
  graph.origin = node.origin;
  graph.set_scope(node.name);
  Tensors dense = operands;
  dense[kUpdateRows] = {};
  dense[kUpdateG] =
      scatter(full(graph, p.dtype(), p.shape(), 0), operands[kUpdateRows], operands[kUpdateG], 0, 0, ScatterKind::kAdd);
  return rewrite.copy(node, dense);
}

}  // namespace tenon
