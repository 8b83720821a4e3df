// Dropout of f32 elements, for whoever has them in a cache.
#pragma once

#include "kernels/element/philox_lanes.h"

namespace tenon::cpu::TENON_CPU_ISA {

struct DropoutRule {
  uint32_t id;        // of the stream
  int32_t threshold;  // word >> 8 below it drops: the draw is below the rate
  double scale;       // of what is kept
  uint64_t before;    // draws of replicas before this device's

  // Elements [at, at + count), of which x, y and residual (or nullptr) begin with the first. y may be x. REQUIRES at to be
  // a multiple of 4.
  void apply(const RandomStream& stream, int64_t at, const float* x, const float* residual, float* y,
             int64_t count) const;

 private:
  template <bool kResidual>
  void loop(const RandomStream& stream, int64_t at, const float* x, const float* residual, float* y,
            int64_t count) const;
};

// By the attributes `rate`, `stream` and `first`.
DropoutRule dropout_rule_of(const NodeView& node);

}  // namespace tenon::cpu::TENON_CPU_ISA
