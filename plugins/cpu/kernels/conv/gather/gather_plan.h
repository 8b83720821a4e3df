// The gathering (conv_gather.h) that computes a convolution or the gradient of its input.
#pragma once

#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

// REQUIRES either direction.
GatherPlan gather_plan(const ConvProblem& problem);

// Whether there is one phase of two dimensions in which every result sums neighbouring points of the source.
bool is_dense_plane(const GatherPlan& plan);

// The place of the weight between channel c of the source and o of the result for tap `tap` of a phase. Taps are counted
// row by row in two dimensions.
int64_t weight_at(const GatherPlan& plan, const GatherPhase& phase, int64_t tap, int64_t c, int64_t o);

// How many of n filters to sum together: `most`, which registers hold, or a few less where that leaves fewer over.
int64_t filters_together(int64_t n, int64_t most);

}  // namespace tenon::cpu::TENON_CPU_ISA
