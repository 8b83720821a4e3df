// The gathering (conv_gather.h) that a convolution is, and the one that is its input's gradient.
#pragma once

#include "kernels/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

GatherPlan forward_plan(const ConvShape& s);
GatherPlan input_gradient_plan(const ConvShape& s);

}  // namespace tenon::cpu::TENON_CPU_ISA
