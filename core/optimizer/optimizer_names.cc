#include "optimizer/optimizer_names.h"

#include "base/strings.h"

namespace tenon {

struct Optimizer::Identity {
  bool passing = graph_being_built() != nullptr;  // made inside a traced function
};

std::shared_ptr<const Optimizer::Identity> Optimizer::make_identity() { return std::make_shared<const Identity>(); }

OptimizerNames::OptimizerNames(Graph& graph, const Optimizer& optimizer) {
  const ObjectNames::Object object{optimizer.identity, optimizer.identity->passing};
  graph.seen.push_back(optimizer.identity);
  plain_ = graph.objects->is_first("optimizer", object);  // asked before it has a name
  name_ = graph.objects->name_of(object, optimizer.name);
}

std::string OptimizerNames::of(const std::string& what) const { return plain_ ? what : cat(name_, "/", what); }

std::string OptimizerNames::slot(const std::string& variable, std::string_view slot) const {
  return plain_ ? cat(variable, "/", slot) : cat(variable, "/", name_, "/", slot);
}

Tensor own_variable_of_optimizer(Graph& graph, const std::string& name, const Type& type, VariableKind kind,
                                 double initial) {
  if (const Variable* v = graph.find_variable(name)) {
    const Tensor value(&graph, graph.inputs[static_cast<size_t>(v->input)].value);
    if (v->kind != kind || !(value.type() == type))
      fail("variable '", name, "' is ", value.type().str(), ", expected ", type.str(), " of an optimizer");
    return current(value);
  }
  const std::string scope = graph.scope();
  graph.set_scope("");
  const int made = graph.add_variable(name, type, constant_initializer(initial), false);
  graph.set_scope(scope);
  Variable& v = graph.variables[static_cast<size_t>(made)];
  v.kind = kind;
  v.owner = graph.optimizer;
  return Tensor(&graph, graph.variable_value(made));
}

Tensor own_dealt_slot(Graph& graph, const std::string& name, DType dtype, const Dealt& dealt, double initial) {
  const Tensor part = own_slot(graph, name, {dtype, dealt.part()}, initial);
  Variable& v = graph.variables[static_cast<size_t>(variable_index("own_dealt_slot", part))];
  v.dealt = dealt.whole();
  graph.inputs[static_cast<size_t>(v.input)].split = true;
  return part;
}

Tensor own_counter(Graph& graph, const OptimizerNames& names) {
  return own_variable_of_optimizer(graph, names.counter(), {DType::kI64, {}}, VariableKind::kCounter, 0);
}

Updating::Updating(Graph& graph, const Optimizer& optimizer)
    : graph_(graph), scope_(graph.scope()), origin_(graph.origin), phase_(graph.phase) {
  if (!optimizer.identity->passing) graph.optimizer = optimizer.identity;
  graph.set_scope("");
  graph.phase = Phase::kUpdate;
}

Updating::~Updating() {
  graph_.optimizer.reset();
  graph_.set_scope(scope_);
  graph_.origin = origin_;
  graph_.phase = phase_;
}

}  // namespace tenon
