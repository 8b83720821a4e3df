// Whether a flat graph means anything: looked at before anything else is done with it, so that no caller's mistake is
// more than an error. Part of the static runtime.
#pragma once

#include <string>

#include "tenon/abi/device.h"

namespace tenon::plugin {

// What is wrong with the graph's structure, or an empty string: arrays and texts lie within data, ids name values that
// stand before them, every value is defined once, shapes are possible, inputs and results have a role, a mode and a
// place, an alias is a state of the same type that no other result updates. What an op makes of its operands is not
// looked at, and names may repeat. Structs of an older or a newer version are read as far as version 1.0 has them.
// REQUIRED: struct_size bytes may be read at &graph, data_size bytes at data.
std::string structure_fault(const tenon_graph& graph);

// What the entries `supports` and `compile` begin with: throws Error, INVALID, for a graph whose structure is wrong,
// and for a node of a published op whose operands, results and attributes its op does not have or cannot have together.
// What a later version may define is left to kernels to refuse: unknown ops, attributes, dtypes and enumerators.
void check_graph(const tenon_graph* graph, const char* entry);

// The same, and throws Error, UNSUPPORTED, for flags of the graph and for flags of the options that are none of
// `flags`; hints are no flags. The options as far as the host knows them.
tenon_options checked_request(const tenon_graph* graph, const tenon_options* given, uint64_t flags, const char* entry);

}  // namespace tenon::plugin
