// The gathering (conv_gather.h) that computes a convolution or the gradient of its input.
#pragma once

#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

// REQUIRES either direction.
GatherPlan gather_plan(const ConvProblem& problem);

// One phase of two dimensions, whose every point of the result sums points of the source side by side.
bool is_dense_plane(const GatherPlan& plan);

// Where the weight between channel c of the source and o of the result is that tap `tap` of a phase, counted row by row
// in two dimensions, multiplies.
int64_t weight_at(const GatherPlan& plan, const GatherPhase& phase, int64_t tap, int64_t c, int64_t o);

// Of n filters, how many are summed together: as many as registers hold, or a few less where fewer are left over then.
int64_t filters_together(int64_t n, int64_t most);

}  // namespace tenon::cpu::TENON_CPU_ISA
