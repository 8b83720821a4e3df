// The graph of one core as its compiler sees it before it fuses: dead nodes gone, reshapes that move nothing resolved,
// composites parted into what can be fused apart (the statistics of a batch norm and their use, each operand of an
// all-reduce).
#pragma once

#include <cstdint>
#include <vector>

#include "machine/layout.h"
#include "tenon/plugin/graph.h"

namespace tpu {

enum class PieceKind {
  kElementwise,  // an element of the result needs one of each operand (or a moved one)
  kReduce,       // sums over whole operands into something small; rides on the kernel that makes its operand
  kRows,         // softmax, layer norm, pools: takes elementwise producers in, nothing takes it in
  kMatrix,       // dots and convolutions
  kUpdate,       // an optimizer's
  kCollective,
  kMove  // gather, scatter, sort: reads and writes memory only
};

struct Piece {
  uint32_t node = 0;
  PieceKind kind = PieceKind::kElementwise;
  std::vector<uint32_t> in, out;  // values; TENON_NONE never
  double vector_ops = 1;          // for each element of the largest operand or result
  double passes = 1;              // over the memory of operands and results
  bool dear = false;              // not to be computed twice
};

struct StepGraph {
  explicit StepGraph(const tenon::plugin::GraphView& g) : graph(g) {}

  tenon::plugin::GraphView graph;
  std::vector<Piece> pieces;  // in the graph's order
  // For each value:
  std::vector<Layout> layouts;
  std::vector<uint32_t> base;               // the value whose memory it is: itself, or what it reshapes
  std::vector<int> producer;                // piece, -1: an input or a constant
  std::vector<std::vector<int>> consumers;  // pieces
  std::vector<char> is_result;
  std::vector<uint32_t> input_of;  // index of the input, TENON_NONE: none
  std::vector<uint32_t> alias_of;  // value of the state that it replaces, TENON_NONE: none

  uint64_t bytes(uint32_t value) const { return layouts[value].bytes; }
};

StepGraph lower(const tenon::plugin::GraphView& graph);

}  // namespace tpu
