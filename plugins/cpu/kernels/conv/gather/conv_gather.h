// Convolution as gathering: every point of the result sums taps of a source image. It serves the
// forward pass (source x, weights as they are) and the gradient of the input (source dy, weights
// transposed and mirrored), where a stride s makes s x s interleaved results, each with its own taps.
#pragma once

#include "kernels/conv/conv_shape.h"
#include "kernels/conv/conv_work.h"
#include "kernels/conv/gather/conv_halo.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Results at q * to_step + to_first, for q below count, read the source at
// q * from_step + first + tap * step; tap i is the filter's tap_first + i * tap_step.
struct GatherPhase {
  Point count, to_first, first, step, taps, tap_first, tap_step;
};

struct GatherPlan {
  int64_t batch = 1, groups = 1, from_c = 1, to_c = 1;  // channels of source and result, all groups
  Point from, to;                                       // sizes of source and result images
  Point kernel;
  Point from_step, to_step;
  bool transposed = false;  // weights [taps, to_c / G, from_c], else [taps, from_c / G, to_c]
  std::vector<GatherPhase> phases;
  int act = TENON_ACT_NONE;
  float alpha = 0;
  // The source, or the result, is in memory as its 2 x 2 max-pooled form (conv_pool.h). Then there is one phase, no residual,
  // and sizes are even.
  bool pooled_from = false, pooled_to = false;
  // Source, weights and result are bf16, and from_c counts the source's channels in words of two (pairs.h). Then there is
  // one group and no residual.
  bool pairs = false;
  bool tiles = false;  // such words are added by tiles (matrix_tile.h)
};

class Gather {
 public:
  explicit Gather(GatherPlan plan);
  // Whether a block of the result, along the axis that it cuts, is one stretch of memory.
  static bool is_whole(const GatherPlan& plan);

  uint64_t scratch_bytes() const { return static_cast<uint64_t>(round_up(weights_, 16)) * sizeof(float); }
  uint64_t thread_scratch_bytes() const {
    return static_cast<uint64_t>(round_up(source_ + fresh_, 16) + map_) * sizeof(float);
  }
  uint32_t threads() const { return threads_; }
  // In which a visitor sees the result: blocks; 0: none.
  int64_t parts() const;
  // Called by every thread of the gang.
  void run(const Call& call, const ConvData& data) const;

 private:
  // A piece of the sums of one phase whose packed weights fit in half of L1.
  struct Piece {
    int64_t first_run, runs, offset, length, depth;  // depth: sums before it
  };
  struct Phase {
    std::vector<int64_t> from_rows, to_rows;  // offsets of the points of one block
    std::vector<int64_t> runs;
    std::vector<int64_t> taps;  // in the weights, where groups are narrow
    std::vector<Piece> pieces;
    int64_t depth = 0, weights = 0;  // taps x channels; where its packed weights start
    int64_t points = 0;              // for each step of the block axis
  };
  // The weights of one tap, group and panel.
  struct Pack {
    int64_t from, to, columns;
  };
  struct Block {
    const float* from;      // the source at the block's first point
    const float* weights;   // packed, or plain
    const float* residual;  // at the block's first point, or nullptr
    float* to;
    float* fresh;        // room for weights packed as they are needed
    const float* next;   // where the plain weights of this thread's next block begin, or nullptr
    int64_t rows, part;  // of the block axis
  };
  // Sets low_; returns the highest place that a phase's first point reads.
  Point set_low();
  void choose_blocks();
  void fill_source(const ConvData& d, int64_t image, const Point& first, float* room) const;
  void pool(const ConvData& d, const Block& b, int64_t image, int64_t q) const;
  PointRun points_of(int64_t image, int64_t q) const;
  void round(const ConvData& d, const Block& b, int64_t image, int64_t q) const;
  Slice channels(int64_t part) const;
  void hand_over(const ConvData& d, int64_t part, int64_t image, int64_t q, Slice channels) const;
  void lay_out(const GatherPhase& g, Phase* phase) const;
  void cut_pieces(Phase* phase) const;
  void list_packs(const GatherPhase& g, const Phase& phase);
  void pack(const Call& call, const float* weights) const;
  void pack_narrow(const Call& call, const float* weights) const;
  void dense(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const;
  void dense_fresh(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const;
  void set_piece(const Phase& phase, const Piece& piece, const Block& b, int64_t column, Panel* panel) const;
  void narrow(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const;
  void clear(const Phase& phase, float* to, int64_t points, Slice channels) const;
  void block(const ConvData& d, const Block& b, int64_t q) const;

  GatherPlan p_;
  std::vector<Phase> phases_;
  std::vector<Pack> packs_;
  uint32_t threads_ = 1;
  int64_t narrow_ = 0;   // channels of a group, where they are in vectors (conv_groups.h)
  bool direct_ = false;  // no point outside the source is read: no copy
  int axis_ = 0;
  int64_t length_ = 1, rows_ = 1, blocks_ = 1;  // of the block axis: all, in one block, blocks
  int64_t parts_ = 1;                           // of the result's channels, in panels
  Point low_, extent_, pitch_;                  // of a block's source: origin, size, size in memory
  // Floats: the copy of a block's source; all packed weights; or those of one piece, where blocks are
  // so few that each packs its own on the way.
  int64_t source_ = 0, weights_ = 0, fresh_ = 0;
  int64_t map_ = 0;  // floats of a block's results, where they are pooled or rounded
};

}  // namespace tenon::cpu::TENON_CPU_ISA
