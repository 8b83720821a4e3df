// Depthwise convolutions in two dimensions or one: groups of one channel, whose filters lie in vectors of channels. Source and
// result are read and written where they are, once, and taps outside the source are left out instead of multiplied with zeros.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

// As many filters as channels.
bool suits_depthwise(const ConvProblem& problem);
bool suits_depthwise_filter(const ConvProblem& problem);  // with rows of 3, 5 or 7 taps

// In f32 or bf16, as the problem is.
ConvWork depthwise(const ConvProblem& problem);
ConvWork depthwise_filter(const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
