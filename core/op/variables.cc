#include "tenon/variables.h"

#include "base/text.h"
#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr const char* kStep = "global_step";
constexpr const char* kLossTerms = "loss_terms";  // a topic of Graph::notes

Graph& graph_of(Tensor like, const char* function) {
  if (!like) fail(function, ": a tensor that was never set is given");
  return *like.graph();
}

}  // namespace

Tensor variable(Tensor like, std::string_view name, const Shape& shape, Initializer initializer, bool trainable,
                DType dtype) {
  Graph& graph = graph_of(like, "variable");
  if (shape.elements() > int64_t{1} << 56) fail("variable '", name, "': no memory holds ", shape.str());
  if (dtype == DType::kNone) dtype = graph.variable_dtype;
  const int v = graph.add_variable(name, {dtype, shape}, std::move(initializer), trainable);
  return Tensor(&graph, graph.variable_value(v));
}

void assign(Tensor variable, Tensor next) {
  for (Variable& v : graph_of(variable, "assign").variables) {
    if (variable.graph()->inputs[v.input].value != variable.id()) continue;
    if (!(next.type() == variable.type()))
      fail("assign: variable '", v.name, "' is ", variable.type().str(), ", its next value ", next.type().str());
    if (v.next != kAbsent) fail("assign: variable '", v.name, "' is assigned twice");
    v.next = next.id();
    return;
  }
  fail("assign: %", variable.id(), " is no variable");
}

void add_loss(Tensor term) {
  if (term.rank() != 0) fail("add_loss: the term is ", term.type().str(), ", expected a scalar");
  term.graph()->notes[kLossTerms].push_back(term.id());
}

Tensor added_losses(const Graph& graph) {
  const auto it = graph.notes.find(kLossTerms);
  if (it == graph.notes.end()) return {};
  Tensor sum;
  for (ValueId id : it->second) {
    const Tensor term(const_cast<Graph*>(&graph), id);
    sum = sum ? add(sum, term) : term;
  }
  return sum;
}

Scope::Scope(Tensor like, std::string_view name) : graph_(like.graph()), saved_(graph_of(like, "Scope").scope()) {
  graph_->set_scope(saved_.empty() ? std::string(name) : cat(saved_, "/", name));
}
Scope::~Scope() { graph_->set_scope(saved_); }

DType compute_dtype(Tensor like) { return graph_of(like, "compute_dtype").compute_dtype; }
DType variable_dtype(Tensor like) { return graph_of(like, "variable_dtype").variable_dtype; }

Tensor global_step(Graph& graph) {
  for (const Variable& v : graph.variables)
    if (v.name == kStep) return Tensor(&graph, graph.inputs[v.input].value);
  const std::string scope = graph.scope();
  graph.set_scope("");
  const int v = graph.add_variable(kStep, {DType::kI64, {}}, Initializer(), false);
  graph.set_scope(scope);
  graph.variables[v].kind = VariableKind::kCounter;
  return Tensor(&graph, graph.variable_value(v));
}

Tensor seed_input(Graph& graph) { return Tensor(&graph, graph.named_input({DType::kI64, {}}, Role::kScalar, "seed")); }

}  // namespace tenon
