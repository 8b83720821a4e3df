// The table of ops as an author of a backend reads it: a document, and a header in C. C++17.
#pragma once

#include <string>

#include "tenon/op/table.h"

namespace tenon::op {

// One op, in Markdown that reads well at a terminal: level, category, operands, attributes, results, meaning, units.
std::string section_of(const Row& row);
// The numbers of the enumerations that the attributes of an op have, a line each; empty where it has none.
std::string enumerations_of(const Row& row);
// Rules that hold for all ops, then each op, then all enumerations: op-specification.md.
std::string document();
// tenon/op/spec.h.
std::string c_header();
// What a version of the ABI promises of the ops, a line each: "op conv 1 primitive SIGNATURE", "enum reduce 0 sum prod max min".
std::string promise();

}  // namespace tenon::op
