// The gathering (conv_gather.h) that a convolution is, and the one that is its input's gradient.
#pragma once

#include "kernels/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

GatherPlan forward_plan(const ConvShape& s);
GatherPlan input_gradient_plan(const ConvShape& s);

// Of n filters, how many are summed together: as many as registers hold, or a few less where fewer are left over then.
int64_t filters_together(int64_t n, int64_t most);

}  // namespace tenon::cpu::TENON_CPU_ISA
