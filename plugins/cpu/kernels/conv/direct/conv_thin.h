// A convolution of images of 1 or 3 channels by 3 x 3 filters, with ReLU and max-pool in registers. The weights of a vector
// of filters stay there for a row of windows, and so do a window's four sums. It needs 32 vectors of 16 lanes. Sums go in
// the order of conv_gather.h, so the bits are the same.
#pragma once

#include "kernels/conv/conv_shape.h"
#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

class ThinPooled {
 public:
  static bool suits(const ConvShape& shape);

  explicit ThinPooled(const ConvShape& shape);

  uint64_t scratch_bytes() const { return 0; }
  uint64_t thread_scratch_bytes() const { return static_cast<uint64_t>(source_) * sizeof(float); }
  uint32_t threads() const { return plugin::kAllThreads; }
  // Called by every thread of the gang; pooled: data.to and data.to_winner.
  void run(const Call& call, const ConvData& data) const;

 private:
  ConvShape s_;
  int64_t rows_ = 1, blocks_ = 1;   // rows of windows in a unit; units of an image
  int64_t height_ = 0, width_ = 0;  // of the copy of x
  int64_t source_ = 0;              // floats
};

}  // namespace tenon::cpu::TENON_CPU_ISA
