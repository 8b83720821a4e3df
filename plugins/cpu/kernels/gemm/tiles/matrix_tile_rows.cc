#include "kernels/gemm/tiles/matrix_tile_rows.h"

#ifdef __AMX_BF16__
#include <immintrin.h>

#include <algorithm>

#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {

TileStretch::TileStretch(const Panel& p, int64_t k, int64_t depth) : groups_(ceil_div(depth, kTileSide)) {
  int16_t n = 0;
  const int64_t end = k + depth;
  for (int64_t g = 0; g < groups_; ++g) {
    const int64_t group_end = std::min(end, k + (g + 1) * kTileSide);
    for (int64_t i = k + g * kTileSide; i < group_end;) {
      const int64_t run = i / p.run_length, within = i % p.run_length;
      const int64_t count = std::min(p.run_length - within, group_end - i);
      const int64_t at = i - k - g * kTileSide;
      parts_[n++] = {p.runs[run] + within * p.a_step, static_cast<int16_t>(at), static_cast<int16_t>(count),
                     static_cast<uint16_t>(((1u << count) - 1) << at)};
      i += count;
    }
    first_[g + 1] = n;
  }
}

void TileStretch::read(const Panel& p, int64_t row, int64_t rows, float* room, TileRows* to) const {
  const int64_t* const at = p.a_rows + row;
  const bool even = p.a_step == 1 && rows == kTileSide && has_one_step(at, rows);
  for (int64_t g = 0; g < groups_; ++g) {
    const Part& part = parts_[first_[g]];
    if (even && part.count == kTileSide) {
      to->at[g] = p.a + at[0] + part.from;
      to->step[g] = (at[1] - at[0]) * 4;
      continue;
    }
    float* const own = room + g * kTileSide * kTileSide;
    p.a_step == 1 ? copy(p, row, rows, g, own) : turn(p, row, rows, g, own);
    to->at[g] = own;
    to->step[g] = 64;
  }
}

void TileStretch::copy(const Panel& p, int64_t row, int64_t rows, int64_t group, float* to) const {
  const Part *const first = parts_ + first_[group], *const end = parts_ + first_[group + 1];
  const int64_t* const at = p.a_rows + row;
  const auto words = [&](const Part& part, int64_t r, __m512 others) __attribute__((always_inline)) {
    return _mm512_mask_loadu_ps(others, part.lanes, p.a + at[r] + part.from - part.at);
  };
  if (end - first == 1) {
    const Part one = *first;
    for (int64_t r = 0; r < rows; ++r) _mm512_store_ps(to + r * kTileSide, words(one, r, _mm512_setzero_ps()));
  } else if (end - first == 2) {
    const Part one = first[0], two = first[1];
    for (int64_t r = 0; r < rows; ++r)
      _mm512_store_ps(to + r * kTileSide, words(two, r, words(one, r, _mm512_setzero_ps())));
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      __m512 all = _mm512_setzero_ps();
      for (const Part* part = first; part != end; ++part) all = words(*part, r, all);
      _mm512_store_ps(to + r * kTileSide, all);
    }
  }
  to += rows * kTileSide;
  std::fill(to, to + (kTileSide - rows) * kTileSide, 0.0f);
}

// Words of a row lie a_step apart, those of rows mostly side by side.
void TileStretch::turn(const Panel& p, int64_t row, int64_t rows, int64_t group, float* to) const {
  const int64_t* const at = p.a_rows + row;
  const bool side_by_side = p.a_step >= rows && (rows == 1 || (has_one_step(at, rows) && at[1] == at[0] + 1));
  const Part *const first = parts_ + first_[group], *const end = parts_ + first_[group + 1];
  if (rows < kTileSide || end[-1].at + end[-1].count < kTileSide) std::fill(to, to + kTileSide * kTileSide, 0.0f);
  for (const Part* part = first; part != end; ++part) {
    const float* const from = p.a + part->from;
    if (side_by_side) {
      transpose(from + at[0], part->count, rows, p.a_step, to + part->at, kTileSide);
      continue;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < part->count; ++i) to[r * kTileSide + part->at + i] = from[at[r] + i * p.a_step];
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
#endif
