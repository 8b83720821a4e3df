// Convolutions in f64: plain loops over the definition.
#pragma once

#include "kernels/conv/conv_work.h"

namespace tenon::cpu::TENON_CPU_ISA {

ConvWork convolution_f64(const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
