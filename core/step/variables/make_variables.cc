#include "step/variables/make_variables.h"

#include <memory>

#include "base/array_dtype.h"
#include "base/strings.h"
#include "step/function_impl.h"
#include "step/variables/loaded_tensors.h"

namespace tenon {
namespace {

// Those of files that have to fit, or of those that need not.
Status give_loaded(const Graph& traced, VariableStore& store, bool differ) {
  for (const GivenValues& given : traced.given) {
    if (given.values->empty() || given.values->may_differ() != differ) continue;  // an earlier call took them
    Types wanted;
    for (const std::string& name : given.variables)
      if (const Variable* v = traced.find_variable(name)) wanted.emplace(name, type_of(traced, *v));
    TENON_TRY(given.values->give_to(store, given.object, wanted).status());
  }
  return {};
}

// The value in the variable's dtype, which is another where the strategies have other policies.
Result<Array> as_type(Array value, const Type& type, const std::string& name) {
  if (value.type() == type) return value;
  if (!(value.shape() == type.shape) || !is_float(value.dtype()) || !is_float(type.dtype))
    return invalid("variable '", name, "' is ", type.str(), ", and in the strategy that its layer was in before ",
                   value.type().str());
  return as_dtype(value, type.dtype);
}

Status carry_over(const Graph& graph, VariableStore& store) {
  for (const Variable& v : graph.variables) {
    if (v.name_before.empty() || store.has(v.name)) continue;
    const auto from = std::dynamic_pointer_cast<Strategy::Impl>(v.store_before.lock());
    if (!from || !from->variables->has(v.name_before)) continue;
    TENON_ASSIGN(Array value, from->variables->read(v.name_before));
    TENON_ASSIGN(Array fitting, as_type(std::move(value), type_of(graph, v), v.name));
    TENON_TRY(store.give(v.name, std::move(fitting)));
  }
  return {};
}

}  // namespace

Status make_variables(const Graph& traced, VariableStore& store) {
  store.drop_dead(traced);
  TENON_TRY(give_loaded(traced, store, false));
  TENON_TRY(carry_over(traced, store));
  TENON_TRY(store.provide(traced, nullptr));
  TENON_TRY(give_loaded(traced, store, true));
  for (const auto& made : traced.when_made) made();
  return {};
}

}  // namespace tenon
