// 3x3 convolutions of stride 1 by Winograd's F(4x4, 3x3) (conv_winograd_tiles.h): the forward pass, the gradient of
// the input, which is the same with filters mirrored and transposed, and the gradient of the filter.
//
// A thread walks blocks of tiles: transform, 36 small matrix products, transform back, all in its own memory, so that
// a block stays in the second-level cache. How work is cut does not depend on the number of threads, nor do bits.
//
// Errors are a few times those of plain sums, and relative to the largest of a tile's 6 x 6 points. A value that is not
// finite spreads over its tile. Not for precision HIGHEST.
#pragma once

#include <vector>

#include "kernels/conv/conv_shape.h"
#include "kernels/conv/gather/conv_gather.h"
#include "kernels/conv/winograd/conv_winograd_tiles.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Whether the shape allows it and gains by it. All instruction sets have one rule, so that they keep the same bits.
bool winograd_gains(const ConvProblem& problem);

// The forward pass or the gradient of the input.
class Winograd {
 public:
  // kPlain: f32. kPooled: f32, and the result (for the gradient the source) is the 2 x 2 max-pooled form (conv_pool.h).
  // kHalves: source, weights and result are bf16, with at most a ReLU and no residual.
  enum class Form { kPlain, kPooled, kHalves };
  Winograd(const ConvShape& shape, bool gradient, Form form = Form::kPlain);

  uint64_t scratch_bytes() const { return static_cast<uint64_t>(wide_weights_ + shared_filters()) * sizeof(float); }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(images_.floats() + sums_.floats() + (shared_ ? 0 : filters_.floats()) + mirrored_ +
                                 points_) *
           sizeof(float);
  }
  uint32_t threads() const { return plugin::kAllThreads; }
  // In which a visitor sees the result: blocks of tiles.
  int64_t parts() const { return pooled_ ? 0 : blocks_; }
  // Called by every thread of the gang.
  void run(const Call& call, const ConvData& data) const;

 private:
  // What a thread has in its memory.
  struct Room {
    float *images, *sums, *filters, *mirrored;
    float* points;                  // of a few tiles, where pooled
    int64_t block = -1, part = -1;  // whose transformed images and filters these are; -1: only of a chunk
  };
  Slice channels(int64_t chunk) const;
  Slice results(int64_t part) const;
  const float* widen_weights(const Call& call, const float* weights) const;
  float* filters_of(const Call& call) const { return static_cast<float*>(call.scratch) + wide_weights_; }
  void share_filters(const Call& call, const float* weights, const Room& room) const;
  void transform(const float* weights, Slice from, Slice to, float* mirrored, float* out) const;
  void load_tiles(const ConvData& data, Slice tiles, Slice channels, const Room& room) const;
  void store_tiles(const ConvData& data, Slice tiles, Slice channels, const TileEpilogue& epilogue,
                   const Room& room) const;
  void unit(const Call& call, const ConvData& data, int64_t block, int64_t part, Room* room) const;
  void unpool(const ConvData& data, Slice tiles, Slice channels, const Room& room) const;
  void pool(const ConvData& data, Slice tiles, Slice channels, const TileEpilogue& epilogue, const Room& room) const;
  void hand_over(const ConvData& data, int64_t block, Slice tiles, Slice channels) const;
  Point place(int64_t tile) const;
  void multiply(const Room& room, const float* filters, Slice from, Slice to, int64_t tiles) const;

  int64_t shared_filters() const { return shared_ ? parts_ * chunks_ * filters_.floats() : 0; }

  bool gradient_, pooled_, halves_;
  int act_;
  float alpha_;
  TiledImages from_, to_;
  TileGrid grid_;
  int64_t count_ = 0;               // tiles
  int64_t tiles_ = 0, blocks_ = 0;  // of a block; blocks
  int64_t chunk_ = 0, chunks_ = 0;  // of source channels, summed in order
  int64_t part_ = 0, parts_ = 0;    // of result channels
  bool shared_ = false;             // filters are transformed once, by all threads; else by each unit
  Planes images_, filters_, sums_;
  int64_t mirrored_ = 0;      // floats: filters with channels swapped
  int64_t points_ = 0;        // floats: the points of a few tiles
  int64_t wide_weights_ = 0;  // floats: the weights of bf16, in scratch memory before the transformed filters
  std::vector<int64_t> a_rows_, c_rows_;
};

class WinogradFilterGrad {
 public:
  // halves: x and dy are bf16.
  explicit WinogradFilterGrad(const ConvShape& shape, bool halves = false);

  uint64_t scratch_bytes() const { return chunks_ > 1 ? static_cast<uint64_t>(chunks_ * size_) * sizeof(float) : 0; }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(images_.floats() + slopes_.floats() + sums_.floats()) * sizeof(float);
  }
  uint32_t threads() const { return plugin::kAllThreads; }
  // Called by every thread of the gang. x [batch, x.., c], dy [batch, y.., o] -> dw [k.., c, o], which is f32.
  void run(const Call& call, const ConvData& data) const;

 private:
  // A cell of dw: some channels of x and some of dy.
  void cell(Slice tiles, Slice c, Slice o, const void* x, const void* dy, float* room, float* dw) const;
  template <class T>
  void transform(const T* x, const T* dy, Slice block, Slice c, Slice o, float* images, float* slopes) const;

  bool halves_;
  TiledImages x_, dy_;
  TileGrid grid_;
  int64_t c_ = 0, o_ = 0, size_ = 0;  // channels; floats of dw
  int64_t count_ = 0, tiles_ = 0;     // tiles; of a block
  int64_t c_part_ = 0, c_parts_ = 0, o_part_ = 0, o_parts_ = 0;
  int64_t chunks_ = 1;  // of tiles, summed apart and added in order
  Planes images_, slopes_, sums_;
  std::vector<int64_t> a_rows_, c_rows_;
};

}  // namespace tenon::cpu::TENON_CPU_ISA
