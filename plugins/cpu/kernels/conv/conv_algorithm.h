// The algorithms that compute a convolution or a gradient of one, and the choice among them.
#pragma once

#include "kernels/conv/conv_work.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct ConvAlgorithm {
  const char* name;
  int32_t dtype;        // that it reads and writes
  unsigned directions;  // of ConvDirection
  unsigned features;    // of those in conv_algorithm.cc
  bool (*suits)(const ConvProblem&);
  ConvWork (*make)(const ConvProblem&);
};

// Whether it takes a batch norm of given moments and a residual, in the forward pass, itself.
bool normalizes(const ConvAlgorithm& algorithm);

// The first of the table that suits: it depends on the problem alone, and on the machine only where algorithms have the
// same bits or the dtype is bf16. Where its dtype is not the problem's, it takes copies of f32.
const ConvAlgorithm& choose_algorithm(const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
