#include "tenon/variables.h"

#include <algorithm>

#include "base/strings.h"
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

void tell_builders(Graph& graph, const std::string& name) {
  for (std::vector<std::string>* names : graph.builders)
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

Tensor counter(Graph& graph, const std::string& name) {
  if (const Variable* v = graph.find_variable(name))
    return Tensor(&graph, graph.inputs[static_cast<size_t>(v->input)].value);
  const std::string scope = graph.scope();
  graph.set_scope("");
  const int v = graph.add_variable(name, {DType::kI64, {}}, Initializer(), false);
  graph.set_scope(scope);
  graph.variables[static_cast<size_t>(v)].kind = VariableKind::kCounter;
  return Tensor(&graph, graph.variable_value(v));
}

// A second one would be the first, whatever it asks for.
void expect_once(Graph& graph, std::string_view name) {
  if (graph.of_object->variables.insert(cat(graph.scope(), "/", name)).second) return;
  fail("layer '", graph.scope(), "' asks for variable '", name,
       "' twice in one call; it is there already: expected another name, or the tensor kept");
}

// That of the object that builds, where it has built before in this graph.
Tensor own_variable(Graph& graph, std::string_view name, const Type& type) {
  const Variable* v = graph.of_object ? graph.find_variable(cat(graph.scope(), "/", name)) : nullptr;
  if (!v) return {};
  const Tensor value(&graph, graph.inputs[static_cast<size_t>(v->input)].value);
  if (!(value.type() == type))
    fail("variable '", v->name, "' is ", value.type().str(), ", expected ", type.str(),
         " where its layer is called again");
  tell_builders(graph, v->name);
  return current(value);
}

}  // namespace

Tensor variable(Tensor like, std::string_view name, const Shape& shape, Initializer initializer, bool trainable,
                DType dtype) {
  Graph& graph = graph_of(like, "variable");
  if (shape.elements() > int64_t{1} << 56) fail("variable '", name, "': no memory holds ", shape.str());
  if (dtype == DType::kNone) dtype = graph.variable_dtype;
  if (graph.of_object) expect_once(graph, name);
  if (const Tensor own = own_variable(graph, name, {dtype, shape})) return own;
  const int v = graph.add_variable(name, {dtype, shape}, std::move(initializer), trainable && !graph.frozen);
  if (graph.of_object) graph.of_object->take(graph.variables[static_cast<size_t>(v)]);
  tell_builders(graph, graph.variables[static_cast<size_t>(v)].name);
  return Tensor(&graph, graph.variable_value(v));
}

bool has_variable(Tensor like, std::string_view name) {
  const Graph& graph = graph_of(like, "has_variable");
  return graph.of_object && graph.find_variable(cat(graph.scope(), "/", name));
}

void assign(Tensor variable, Tensor next) {
  Graph& graph = graph_of(variable, "assign");
  if (!next) fail("assign: the next value was never set");
  if (!next.is_of(graph)) fail("assign: the next value is ", foreign_text(next));
  Variable& v = graph.variables[static_cast<size_t>(variable_index("assign", variable))];
  if (!(next.type() == variable.type()))
    fail("assign: variable '", v.name, "' is ", variable.type().str(), ", its next value ", next.type().str());
  v.next = next.id();
}

Tensor current(Tensor variable) {
  Graph& graph = graph_of(variable, "current");
  const auto index = static_cast<size_t>(variable_index("current", variable));
  const Variable& v = graph.variables[index];
  if (v.next == kAbsent) return Tensor(&graph, graph.inputs[static_cast<size_t>(v.input)].value);
  const Node* newest = v.reads.empty() ? nullptr : graph.defining_node(v.reads.back());
  if (newest && newest->operands[0] == v.next) return Tensor(&graph, v.reads.back());
  const Tensor read = stop_gradient(Tensor(&graph, v.next));
  graph.variables[index].reads.push_back(read.id());
  return read;
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

Mode mode_of(Tensor like) { return graph_of(like, "mode_of").mode; }
bool is_frozen(Tensor like) { return graph_of(like, "is_frozen").frozen; }
DType compute_dtype(Tensor like) { return graph_of(like, "compute_dtype").compute_dtype; }
DType variable_dtype(Tensor like) { return graph_of(like, "variable_dtype").variable_dtype; }

Tensor global_step(Graph& graph) { return counter(graph, kStep); }
Tensor draw_step(Graph& graph) { return counter(graph, graph.draws_by); }

Tensor seed_input(Graph& graph) { return Tensor(&graph, graph.named_input({DType::kI64, {}}, Role::kScalar, "seed")); }

}  // namespace tenon
