// Results of a convolution, or of its input's gradient, handed over while they are in cache: to whoever needs sums over
// them, or changes them, before they are read again.
#pragma once

#include <functional>

#include "kernels/conv_gather.h"
#include "kernels/conv_shape.h"

namespace tenon::cpu::TENON_CPU_ISA {

// What computes one of the two, chosen by shape and precision alone.
struct ConvWork {
  uint32_t thread_count = 1;
  uint64_t shared_bytes = 0, own_bytes = 0;  // of scratch memory
  int64_t parts = 0;                         // in which a ResultTaker gets the result; 0: it gets none
  std::function<void(const Call&, const GatherData&)> run;

  uint32_t threads() const { return thread_count; }
  uint64_t scratch_bytes() const { return shared_bytes; }
  uint64_t thread_scratch_bytes() const { return own_bytes; }
};

// exact: sums are those of the definition.
ConvWork conv_work(const ConvShape& shape, bool gradient, bool exact);

}  // namespace tenon::cpu::TENON_CPU_ISA
