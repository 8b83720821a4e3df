// What an optimizer calls its own in a graph, and the variables of those names.
#pragma once

#include <string>

#include "graph/graph.h"
#include "optimizer/dealt.h"
#include "tenon/optimizers.h"

namespace tenon {

// Plain names for the first optimizer of all, names under its own for others.
class OptimizerNames {
 public:
  OptimizerNames(Graph& graph, const Optimizer& optimizer);

  std::string counter() const { return plain_ ? "global_step" : of("iterations"); }
  // "learning_rate", "Adam_1/learning_rate"
  std::string of(const std::string& what) const;
  // "dense/kernel/Adam", "dense/kernel/Adam_1/Adam"
  std::string slot(const std::string& variable, std::string_view slot) const;

 private:
  std::string name_;
  bool plain_;
};

// The variable of that name as it is now, made where there is none.
Tensor own_variable_of_optimizer(Graph& graph, const std::string& name, const Type& type, VariableKind kind,
                                 double initial);
inline Tensor own_slot(Graph& graph, const std::string& name, const Type& type, double initial) {
  return own_variable_of_optimizer(graph, name, type, VariableKind::kSlot, initial);
}
// A slot of that type as a whole, of which it is this replica's part.
Tensor own_dealt_slot(Graph& graph, const std::string& name, DType dtype, const Dealt& dealt, double initial);
// How often the optimizer was applied, i64.
Tensor own_counter(Graph& graph, const OptimizerNames& names);

// Without scope, in the phase of updates, for as long as it lives; variables are the optimizer's.
class Updating {
 public:
  Updating(Graph& graph, const Optimizer& optimizer);
  ~Updating();
  Updating(const Updating&) = delete;
  Updating& operator=(const Updating&) = delete;

 private:
  Graph& graph_;
  std::string scope_, origin_;
  Phase phase_;
};

}  // namespace tenon
