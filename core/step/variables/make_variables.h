// The variables of a function are made: with them the objects get what they were given, and what they had elsewhere.
#pragma once

#include "step/variables/variable_store.h"

namespace tenon {

// Makes the variables of `graph`, which is what was traced or what became of it, that the store does not have yet. An object
// that was given values begins with these; one that has variables in another strategy begins with theirs.
Status make_variables(const Graph& traced, const Graph& graph, VariableStore& store);

}  // namespace tenon
