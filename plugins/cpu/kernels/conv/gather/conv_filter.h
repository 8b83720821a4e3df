// The gradient of the filter: dw[t, c, o] = sum over images and points p of x[p stride + t dilation - low, c]
// dy[p, o]. Taps x channels are the rows and points the sums of the same register tile as everywhere.
#pragma once

#include "kernels/conv/conv_work.h"
#include "kernels/conv/gather/conv_halo.h"

namespace tenon::cpu::TENON_CPU_ISA {

class FilterGrad {
 public:
  // What x and dy are: f32; f32, of dy the 2 x 2 max-pooled form (conv_pool.h); or bf16, of which a word (pairs.h) holds
  // the elements of two images. REQUIRES one group for pairs.
  enum class Form { kPlain, kPooled, kPairs };
  explicit FilterGrad(const ConvShape& shape, Form form = Form::kPlain);

  uint64_t scratch_bytes() const { return chunks_ > 1 ? static_cast<uint64_t>(chunks_ * size_) * sizeof(float) : 0; }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(round_up(source_, 16) + packed_ + map_) * sizeof(float);
  }
  uint32_t threads() const { return threads_; }
  // Called by every thread of the gang. x [batch, x.., c], dy [batch, y.., o] -> dw [k.., c / groups, o], which is f32.
  void run(const Call& call, const ConvData& data) const;

 private:
  // Some rows of dw in one panel of its columns.
  struct Cell {
    int64_t group, column, columns, row, rows;
  };
  // A stretch of points that one copy of x serves.
  struct Stretch {
    const float* x;
    const float* dy;  // of pairs nullptr
    int64_t image, images, row, rows;
    int64_t runs, length;
    bool first;
  };
  void choose_blocks();
  void lay_out();
  void list_cells(int64_t splits);
  // What the units of a chunk read and write.
  struct Data {
    const void *x, *dy;
    const uint8_t* winner;
    float *room, *dw;
  };
  void chunk(int64_t first_unit, int64_t last_unit, Slice cells, const Data& data) const;
  void fill_source(const Data& data, const Stretch& s, const Point& first) const;
  const float* unpool(const Data& data, const Stretch& s) const;
  void pack(const Data& data, const Stretch& s, const Cell& cell, float* packed) const;
  void turn_source(const Data& data, const Stretch& s, const Point& first) const;
  // Where a place of the copy lies, of channel 0.
  int64_t place(int64_t i, int64_t j, int64_t k) const;
  void dense(const Data& data, const Stretch& s, Slice cells) const;
  void narrow(const Stretch& s, float* dw) const;

  ConvShape s_;
  uint32_t threads_ = 1;
  Form form_ = Form::kPlain;
  bool direct_ = false;
  int64_t images_given_ = 1;  // of pairs more than there are images of words
  int64_t narrow_ = 0;        // channels of a group, where they are in vectors (conv_groups.h)
  // By tiles (matrix_tile.h): the copy is [c][images][extent.., of which the last axis has every stride-th point together].
  bool tiles_ = false;
  int64_t plane_ = 0;  // floats from a channel to the next one
  bool packs_ = true;  // dy into panels: not worth it for a few rows of dw
  int axis_ = 0;
  Point x_, y_, low_, extent_, pitch_size_;
  int64_t pixel_ = 1;                                     // floats from one point of the copy to the next
  int64_t rows_ = 1, blocks_ = 1, images_ = 1;            // of the block axis in a block; images in a unit
  int64_t units_ = 1, chunks_ = 1;                        // chunks of units, summed apart and added in order
  int64_t size_ = 0, source_ = 0, packed_ = 0, map_ = 0;  // floats: dw, the copy of x, packed dy, dy where pooled
  std::vector<int64_t> a_rows_, c_rows_, runs_;
  std::vector<Cell> cells_;
};

}  // namespace tenon::cpu::TENON_CPU_ISA
