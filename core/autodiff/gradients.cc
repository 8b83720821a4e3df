// Reverse-mode differentiation: adds the gradient's nodes to the graph. They carry phase kBackward and forward_of. Composites
// without a gradient rule, or whose rule passes, are differentiated through their decomposition.
#include "tenon/gradients.h"

#include "graph/graph.h"
#include "op/bounded.h"
#include "op/custom_node.h"
#include "op/decompose.h"
#include "op/rules.h"

namespace tenon {
namespace {

Tensors tensors(Graph& graph, const std::vector<ValueId>& ids) {
  Tensors out;
  for (ValueId id : ids) out.push_back(id < 0 ? Tensor() : Tensor(&graph, id));
  return out;
}

bool is_zero(const Graph& graph, ValueId id) {
  const Node* node = graph.defining_node(id);
  if (!node || node->op != "constant") return false;
  return std::get<std::string>(*find_attr(node->attrs, "value")).find_first_not_of('\0') == std::string::npos;
}

// `dense` and what `sparse` adds to zeros, as one scatter: an embedding's gradient stays rows where its matrix has a
// dense gradient too. Nothing when `sparse` is no such scatter.
Tensor scattered_into(Tensor dense, Tensor sparse) {
  Graph& graph = *sparse.graph();
  const Node* node = graph.defining_node(sparse.id());
  if (!node || node->op != "scatter" || !is_zero(graph, node->operands[op::scatter::x])) return {};
  const AttrReader a(node->attrs);
  if (a.enumerator("kind") != static_cast<int>(ScatterKind::kAdd)) return {};
  const Tensor i(&graph, node->operands[op::scatter::i]), u(&graph, node->operands[op::scatter::u]);
  return scatter(dense, i, u, a.i64("axis"), a.i64("batch"), ScatterKind::kAdd);
}

Tensor gradient_sum(Tensor a, Tensor b) {
  if (const Tensor sum = scattered_into(a, b)) return sum;
  if (const Tensor sum = scattered_into(b, a)) return sum;
  return add(a, b);
}

class Backward {
 public:
  Backward(Graph& graph, Tensor loss, const Tensors& variables) : graph_(graph) {
    grow();
    for (const Tensor& v : variables) needed_[v.id()] = true;
    mark_needed(0);
    grads_[loss.id()] = scalar_like(loss, 1);
  }

  // Walks the forward nodes backwards; every gradient is complete when its node is reached.
  void run(NodeId first, NodeId last) {
    for (NodeId i = last; i >= first; --i)
      if (wanted(i)) visit(i);
  }

  // The sum over all that the tensor was read as.
  Tensor gradient(const Tensors& reads) const {
    Tensor sum;
    for (const Tensor& x : reads)
      if (const Tensor g = grads_[x.id()]) sum = sum ? gradient_sum(sum, g) : g;
    return sum;
  }

 private:
  void grow() {
    needed_.resize(graph_.values.size(), false);
    grads_.resize(graph_.values.size());
  }

  void mark_needed(size_t first) {
    for (size_t i = first; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.stops_gradient) continue;
      bool any = false;
      for (ValueId id : node.operands) any = any || (id >= 0 && needed_[id]);
      if (any)
        for (ValueId id : node.results) needed_[id] = is_float(graph_.type(id).dtype);
    }
  }

  bool wanted(NodeId i) const {
    if (graph_.nodes[i].stops_gradient) return false;
    for (ValueId id : graph_.nodes[i].results)
      if (grads_[id] && needed_[id]) return true;
    return false;
  }

  void visit(NodeId i) {
    const Node node = graph_.nodes[i];  // a copy: the graph grows while rules run
    Tensors out_grads;
    for (ValueId id : node.results) out_grads.push_back(grads_[id]);
    std::vector<bool> needs;
    for (ValueId id : node.operands) needs.push_back(id >= 0 && needed_[id]);
    graph_.forward_of = i;
    graph_.origin = node.origin;
    graph_.set_scope(node.name + "/grad");
    const Gradient context(graph_, node.attrs, tensors(graph_, node.operands), tensors(graph_, node.results),
                           std::move(out_grads), needs);
    const Tensors in_grads = rule(node, context);
    if (in_grads.empty()) return visit_decomposition(node);
    for (size_t k = 0; k < in_grads.size() && k < needs.size(); ++k)
      if (in_grads[k] && needs[k]) accumulate(node, node.operands[k], in_grads[k]);
  }

  // None at all where there is no rule, or where it passes.
  static Tensors rule(const Node& node, const Gradient& context) {
    if (node.custom) return custom_gradient(node, context);
    const OpDef& op = *find_op(node.op, node.version);
    return op.gradient ? op.gradient(context) : Tensors();
  }

  // A composite without a rule: its decomposition is added (the compiler merges it with the forward
  // pass where that is lowered too) and differentiated node by node.
  void visit_decomposition(const Node& node) {
    if (!has_decomposition(node)) return;  // floor, round: constant almost everywhere
    const NodeId first = static_cast<NodeId>(graph_.nodes.size());
    const Tensors inner = decompose_node(graph_, node, tensors(graph_, node.operands));
    const NodeId last = static_cast<NodeId>(graph_.nodes.size()) - 1;
    grow();
    mark_needed(static_cast<size_t>(first));
    for (size_t r = 0; r < inner.size(); ++r)
      if (const Tensor g = grads_[node.results[r]]) accumulate(node, inner[r].id(), g);
    run(first, last);
  }

  void accumulate(const Node& node, ValueId id, Tensor g) {
    if (!(g.type() == graph_.type(id)))
      fail(describe(node), ": gradient is ", g.type().str(), ", expected ", graph_.type(id).str());
    g = gradient_of(g, Tensor(&graph_, id));
    const Tensor sum = grads_[id] ? gradient_sum(grads_[id], g) : g;
    grads_[id] = sum;
  }

  Graph& graph_;
  std::vector<bool> needed_;
  Tensors grads_;
};

// The tensor; of a variable, all values that it was read as.
Tensors reads_of(Tensor x) {
  Graph& graph = *x.graph();
  const int index = graph.variable_of(x.id());
  if (index < 0) return {x};
  Tensors out{Tensor(&graph, graph.variable_value(index))};
  for (ValueId id : graph.variables[static_cast<size_t>(index)].reads) out.emplace_back(&graph, id);
  return out;
}

}  // namespace

Tensors gradients(Tensor loss, const Tensors& by) {
  if (!loss) fail("gradients: the loss was never set");
  if (loss.rank() != 0 || !is_float(loss.dtype()))
    fail("gradients: the loss is ", loss.type().str(), ", expected a float scalar");
  Graph& graph = *loss.graph();
  for (size_t i = 0; i < by.size(); ++i)
    if (!by[i] || !by[i].is_of(graph))
      fail("gradients: variable ", i, by[i] ? cat(" is ", foreign_text(by[i])) : " was never set");
  Tensors all;
  for (const Tensor& x : by)
    for (const Tensor& read : reads_of(x)) all.push_back(read);
  const NodeId last = graph.values[loss.id()].node;
  const Stamp stamp(graph);
  graph.phase = Phase::kBackward;
  Backward backward(graph, loss, all);
  backward.run(0, last);
  Tensors out;
  for (const Tensor& x : by) {
    out.push_back(backward.gradient(reads_of(x)));
    if (out.back()) continue;
    out.back().serial_ = x.serial_;
    out.back().id_ = x.id_;
  }
  return out;
}

}  // namespace tenon
