// 5x5 convolutions of stride 1 by Winograd's F(2x2, 5x5): four results in 36 products a pair of channels instead of 100.
// The forward pass and the gradient of the input. The transforms' points, and what errors follow from them, are those of
// F(4x4, 3x3) (conv_winograd_tiles.h). Not for precision HIGHEST.
//
// Vectors hold points, so that any number of channels fills them. The source is copied as four images, each of every
// second row and column: the points at one place of neighbouring tiles then lie side by side, across the ends of tile rows
// too. A strip of tiles is transformed, multiplied and transformed back in cache. A tile's 2 x 2 results are one window of
// a pool.
#pragma once

#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

class Winograd5 {
 public:
  // Whether the plan can be computed so and is faster. All instruction sets have one rule, so that they keep the same bits.
  static bool suits(const GatherPlan& plan);

  explicit Winograd5(GatherPlan plan);

  uint64_t scratch_bytes() const { return static_cast<uint64_t>(round_up(filters_, 16)) * sizeof(float); }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(source_ + images_ + sums_ + results_ + windows_room_) * sizeof(float);
  }
  uint32_t threads() const { return plugin::kAllThreads; }
  // Called by every thread of the gang. No residual, norm or visitor.
  void run(const Call& call, const ConvData& data) const;

 private:
  // Floats of a thread.
  struct Room {
    float* source;   // [c][row parity][column parity][rows_ + 2][pitch_]
    float* images;   // [36][c][kStrip]: transformed tiles
    float* sums;     // [36][group_][kStrip]
    float* results;  // [2][2][filters][flat_]; pooled: [filters][flat_], and their winners
    float* pooled;   // [c][half_]: a row of windows of the source, and its winners; or a row of winners
  };
  // Which tile rows of which image.
  struct Block {
    int64_t image, row, rows;
  };
  void transform_filters(const Call& call, const float* weights) const;
  void fill_source(const ConvData& d, const Block& block, const Room& room) const;
  void copy_row(const ConvData& d, int64_t row, int parity, float* to) const;
  void unpool_row(const Room& room, int row, int parity, float* to) const;
  void strip(const ConvData& d, const float* filters, int64_t at, const Room& room) const;
  void restore(const ConvData& d, int64_t group, int64_t at, const Room& room) const;
  void write(const ConvData& d, const Block& block, const Room& room) const;

  GatherPlan p_;
  int64_t low_[2] = {0, 0};         // rows and columns of zeros before the source
  int64_t group_ = 1, groups_ = 1;  // filters that are summed together; groups of them
  int64_t down_ = 0, across_ = 0;   // tiles of an image
  int64_t rows_ = 1, blocks_ = 1;   // tile rows of a block; blocks of an image
  int64_t pitch_ = 0, phase_ = 0;   // floats of a row, and of one of the four images of a channel
  int64_t flat_ = 0;                // tiles of a block as they lie one after the other: pitch_ a row
  int64_t windows_ = 0, half_ = 0;  // of a row of the pooled source, and with whole vectors
  int64_t filters_ = 0;             // floats: all filters, transformed
  int64_t source_ = 0, images_ = 0, sums_ = 0, results_ = 0, windows_room_ = 0;  // floats, see Room
};

}  // namespace tenon::cpu::TENON_CPU_ISA
