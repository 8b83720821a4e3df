// What reader and writer of a corpus agree on, beside the order of the fields.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/abi/op.h"

namespace tenon::conformance {

constexpr uint64_t kCorpusMagic = 0x535550524F434E54;  // the bytes "TNCORPUS"
constexpr uint32_t kCorpusVersion = 2;

// Thousands of graphs differ in little, so the parts of all graphs stand in tables, each once, and a graph is a row of
// indices. Part 0 are the bytes of attributes and constants, which lie before the arrays (GraphBuilder::build).
struct Part {
  tenon_array tenon_graph::*array;  // null: what is before the first
  uint32_t stride;
};
constexpr std::array<Part, 9> kParts{{{nullptr, 1},
                                      {&tenon_graph::values, sizeof(tenon_value)},
                                      {&tenon_graph::nodes, sizeof(tenon_node)},
                                      {&tenon_graph::ids, sizeof(uint32_t)},
                                      {&tenon_graph::attrs, sizeof(tenon_attr)},
                                      {&tenon_graph::inputs, sizeof(tenon_input)},
                                      {&tenon_graph::results, sizeof(tenon_result)},
                                      {&tenon_graph::constants, sizeof(tenon_constant)},
                                      {&tenon_graph::strings, 1}}};
constexpr uint64_t kPartAlignment = 64;

}  // namespace tenon::conformance
