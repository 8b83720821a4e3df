// Whether a flat graph may be read: for graphs that come from a file.
#pragma once

#include <string>

#include "tenon/abi/op.h"

namespace tenon::conformance {

// What is wrong with the graph's structure, or an empty string: arrays and texts lie within data, ids name values that
// stand before them, every value is defined once, shapes and dtypes are possible, aliases are inputs. What an op makes
// of its operands is not looked at. REQUIRED: data_size bytes may be read at data.
std::string check_graph(const tenon_graph& graph);

}  // namespace tenon::conformance
