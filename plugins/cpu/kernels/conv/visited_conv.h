// A convolution whose result is seen while it is in cache: part by part, or afterwards, piece by piece, where its
// algorithm shows no parts.
#pragma once

#include "kernels/conv/conv_work.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct VisitedConv {
  const char* algorithm;
  ConvWork work;
  int64_t rows, c;        // of the result
  int64_t piece, pieces;  // rows of a piece
  int64_t parts;          // in which it is seen; the shape alone cuts them

  // Called by every thread of the gang, `data` without a visitor. All have seen all of the result when it returns.
  void run(const Call& call, ConvData data, const ResultVisitor& visitor) const;
};

// Forward or the gradient of the input, without residual, norm or activation.
VisitedConv visited_conv(const ConvProblem& problem);

}  // namespace tenon::cpu::TENON_CPU_ISA
