// Convolutions of bf16 as sums of pairs (pairs.h): what the f32 kernels do, on words.
#pragma once

#include "kernels/conv/conv_taken.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Whether a convolution of bf16, or the gradient of its input, can be computed so, and the processor multiplies pairs by an
// instruction (else f32 arithmetic has Winograd's algorithms, which are faster).
bool pairs_gain(const ConvShape& shape, bool gradient);
// REQUIRES pairs_gain.
ConvWork pair_work(const ConvShape& shape, bool gradient);

// The same of the gradient of the filter, whose result may be f32: by pairs, or by Winograd's algorithm where that gains more.
bool has_half_filter_gradient(const ConvShape& shape, bool exact);
Kernel make_half_filter_gradient(const NodeView& node, const ConvShape& shape, bool exact);

}  // namespace tenon::cpu::TENON_CPU_ISA
