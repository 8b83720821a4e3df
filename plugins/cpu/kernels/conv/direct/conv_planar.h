// Convolution with points in vectors. Where results have 10 or 20 channels, vectors of channels would be half empty. The
// source is copied channel by channel; a row of each channel's result is summed, maybe pooled, and transposed on its way
// out. Sums go in the order of conv_gather.h, so the bits are the same.
#pragma once

#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

class Planar {
 public:
  // Whether the plan can be computed so and is faster.
  static bool suits(const GatherPlan& plan);
  // Whether it suits on some machine, be its vectors of 8 lanes or of 16.
  static bool suits_somewhere(const GatherPlan& plan);

  explicit Planar(GatherPlan plan);

  uint64_t scratch_bytes() const { return static_cast<uint64_t>(round_up(weights_, 16)) * sizeof(float); }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(source_ + (p_.pooled_to ? 2 : 1) * planes_ + 2 * pooled_ + line_) * sizeof(float);
  }
  uint32_t threads() const { return plugin::kAllThreads; }
  // Called by every thread of the gang.
  void run(const Call& call, const ConvData& data) const;

 private:
  // Floats of a thread.
  struct Room {
    float* source;    // [c][height_][pitch_]
    float* planes;    // [filters][width_]: a row of the result, or two that are pooled
    float* pooled;    // [c][half_]: a row of windows, of the source or of the result
    int32_t* winner;  // [c][half_]
    int32_t* line;    // [windows_][c]: winners as they are in memory, but as integers
  };
  static bool suits(const GatherPlan& plan, int64_t lanes);
  void choose_blocks();
  void pack(const Call& call, const float* weights) const;
  void fill_source(const ConvData& d, int64_t image, int64_t row, int64_t rows, const Room& room) const;
  void row(const ConvData& d, const float* weights, int64_t at, const Room& room, float* planes) const;
  void pool(const ConvData& d, int64_t row, const Room& room) const;

  GatherPlan p_;
  GatherPhase g_;
  int64_t filters_ = 1, groups_ = 1;  // summed together; groups of them
  int64_t depth_ = 0;                 // products of a result
  int64_t rows_ = 1, blocks_ = 1;     // result rows of a block, blocks of an image
  int64_t height_ = 0, pitch_ = 0, width_ = 0;
  int64_t left_ = 0;                                                       // points of a source row before the image
  int64_t windows_ = 0, half_ = 0;                                         // of a pooled row, and with whole vectors
  int64_t weights_ = 0, source_ = 0, planes_ = 0, pooled_ = 0, line_ = 0;  // floats
};

}  // namespace tenon::cpu::TENON_CPU_ISA
