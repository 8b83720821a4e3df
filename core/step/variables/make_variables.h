// The variables of a function are made: with them the objects get what they were given, and what they had elsewhere.
#pragma once

#include "step/variables/variable_store.h"

namespace tenon {

// Makes all variables of what was traced that the store does not have yet, those that no program reads too: they are weights of
// their layers. An object that was given values begins with these; one that has variables in another strategy begins with theirs.
Status make_variables(const Graph& traced, VariableStore& store);

}  // namespace tenon
