// The gradient of a convolution's filter behind a 2 x 2 max-pool: dy is 0 but at the windows' winners, a quarter of it at
// most, and where a ReLU was dead not there either.
//
// With many channels the winners of a few images are listed for each filter. Each adds its dy times the taps that it saw,
// kernel row by kernel row, in vectors of (column, channel) as they lie in x. With few channels vectors hold filters. Each
// of a window's four places adds a tap times the dy of the filters that it won for, and times 0 for the others: a value of
// x that is not finite then reaches all filters, as in the convolution's own gradient.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/conv/gather/conv_halo.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

class WinnerFilterGrad {
 public:
  // Whether the shape has 2 spatial dimensions, no dilation and one group, and enough to do.
  static bool suits(const ConvShape& shape);

  explicit WinnerFilterGrad(const ConvShape& shape);

  uint64_t scratch_bytes() const { return static_cast<uint64_t>(chunks_ * size_) * sizeof(float); }
  uint64_t thread_scratch_bytes() const {
    const int64_t lists = (2 * s_.o * rows_ * half_ + s_.y[2] / 2 * s_.o + 2 * list_) * 4;
    const int64_t places = windows_ * round_up(s_.o, 16) * static_cast<int64_t>(sizeof(float) + 1) + 64;
    return static_cast<uint64_t>(source_) * sizeof(float) + static_cast<uint64_t>(lists_ ? lists : places);
  }
  uint32_t threads() const { return plugin::kAllThreads; }
  // Called by every thread of the gang. x [batch, x.., c], dp and winner [batch, y.. / 2, o] -> dw [k.., c, o].
  void run(const Call& call, const ConvData& data) const;

 private:
  struct Data {
    const float *x, *dp;
    const uint8_t* winner;
    float* source;  // room for a copy of x
    float* room;
  };
  // One filter's winners: the first tap that each saw, in x or its copy, and its dy.
  struct Winners {
    int32_t* at;
    float* dy;
    int64_t count;
  };
  void chunk(int64_t first_unit, int64_t last_unit, const Data& data, float* sums) const;
  int64_t rows_of(int64_t unit) const;
  const float* source_of(const Data& data, int64_t unit) const;
  // dy and winners of some windows, `step` floats (bytes) from one to the next.
  struct Places {
    const float* dp;
    const uint8_t* winner;
    int64_t step;
  };
  Places places_of(const Data& data, int64_t unit, int64_t rows) const;
  void add_places(const Data& data, int64_t unit, const float* source, float* sums) const;
  int64_t first_window(int64_t unit) const;
  void add_lists(const Data& data, int64_t unit, const float* x, float* sums) const;
  void list(const float* dp, const int32_t* winner, int64_t rows, Winners* to) const;
  void add(const Winners& winners, const float* x, float* sums) const;
  void add_up(const Call& call, float* dw) const;

  ConvShape s_;
  bool lists_ = true;
  bool direct_ = false;             // x needs no halo
  int64_t run_ = 0, padded_ = 0;    // floats of a kernel row, and with whole vectors
  int64_t rows_ = 1, blocks_ = 1;   // rows of windows in a unit; units of an image
  int64_t windows_ = 0;             // of a unit
  int64_t half_ = 0, list_ = 0;     // of a row of them, with whole vectors; room for a list
  int64_t height_ = 0, width_ = 0;  // of the copy of x
  int64_t units_ = 1, chunks_ = 1;  // chunks of units, summed apart and added in order
  int64_t size_ = 0, source_ = 0;   // floats: the sums [o][k1][padded_]; the copy of x
};

}  // namespace tenon::cpu::TENON_CPU_ISA
