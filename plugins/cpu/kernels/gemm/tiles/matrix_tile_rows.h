// Rows of A as tiles: where they lie in memory if tiles can be loaded there, else copied.
#pragma once

#include "kernels/gemm/tiles/matrix_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int64_t kTileGroups = 16;  // of 16 words of k at a time: W of 64 columns takes 64 KB

// 16 rows of each group of words: where the first lies, and bytes from one to the next.
struct TileRows {
  const float* at[kTileGroups];
  int64_t step[kTileGroups];
};

inline bool has_one_step(const int64_t* rows, int64_t n) {
  const int64_t step = rows[1] - rows[0];
  int64_t other = 0;
  for (int64_t i = 2; i < n; ++i) other |= rows[i] - rows[i - 1] - step;
  return other == 0;
}

// A stretch of a panel's k: which parts of its runs fill each group of 16 words.
class TileStretch {
 public:
  TileStretch(const Panel& panel, int64_t k, int64_t depth);

  int64_t groups() const { return groups_; }
  // `rows` of A from `row` on, at most 16. REQUIRES room for 256 floats a group, on a cache line.
  void read(const Panel& panel, int64_t row, int64_t rows, float* room, TileRows* to) const;

 private:
  // Words [at, at + count) of a group, the lanes of `lanes`, which begin `from` behind where a row does.
  struct Part {
    int64_t from;
    int16_t at, count;
    uint16_t lanes;
  };
  void copy(const Panel& panel, int64_t row, int64_t rows, int64_t group, float* to) const;
  void turn(const Panel& panel, int64_t row, int64_t rows, int64_t group, float* to) const;

  int64_t groups_ = 0;
  int16_t first_[kTileGroups + 1] = {};
  Part parts_[kTileGroups * kTileSide];
};

}  // namespace tenon::cpu::TENON_CPU_ISA
