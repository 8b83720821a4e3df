// Convolutions of bf16 as sums of pairs (pairs.h): what the f32 algorithms do, on words. Where the processor has no
// instruction for pairs nothing suits: f32 arithmetic has Winograd's algorithms, which are faster.
#pragma once

#include "kernels/conv/conv_work.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Forward, or the gradient of the input.
bool suits_pair_product(const ConvProblem& problem);
ConvWork pair_product(const ConvProblem& problem);
bool suits_pair_gather(const ConvProblem& problem);
ConvWork pair_gather(const ConvProblem& problem);

// Forward, of an odd number of channels, as images of three have: on copies that have one more, of zeros.
bool suits_pair_gather_of_odd(const ConvProblem& problem);
ConvWork pair_gather_of_odd(const ConvProblem& problem);

// The gradient of the filter.
bool suits_pair_filter_product(const ConvProblem& problem);
ConvWork pair_filter_product(const ConvProblem& problem);
bool suits_pair_filter(const ConvProblem& problem);
ConvWork pair_filter(const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
