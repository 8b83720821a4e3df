// A TPU's numbers: dots and convolutions of f32 work on bf16 operands and accumulate in f32.
//
// Written out in ordinary ops, so that any backend can do the arithmetic: an operand x becomes bf16(x), to nearest even,
// overflow to infinity, subnormals to zero of their sign. With precision HIGH it is split into two such terms, with
// HIGHEST into three, and products of terms are added from the smallest to the largest:
//
//   DEFAULT  a1 b1
//   HIGH     (a1 b2 + a2 b1) + a1 b1
//   HIGHEST  (((a2 b2 + a1 b3) + a3 b1) + (a1 b2 + a2 b1)) + a1 b1
//
// where a1 = bf16(a), a2 = bf16(a - a1), a3 = bf16(a - a1 - a2); what is not finite takes part in a1 b1 alone. The sum of
// one product runs over k in the order of the backend below; cpu.so's is k ascending, one f32 fused multiply-add each.
#pragma once

#include "tenon/plugin/graph_rewrite.h"

namespace tpu {

// Whether a node takes part in dots inside of itself, which rounding cannot reach: it is to be decomposed.
bool hides_dots(const tenon::plugin::NodeView& node);

// An empty graph: nothing is to be rounded.
tenon::plugin::Rewritten round_operands(const tenon::plugin::GraphView& graph);

}  // namespace tpu
