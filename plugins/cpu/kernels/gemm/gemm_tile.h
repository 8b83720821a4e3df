// The one micro-kernel under dense matrix products and convolutions.
//
// C[r, n] = sum over runs i and k < run_length of A(r, i, k) W(i * run_length + k, n), for a list of
// rows r and a panel of at most kMostColumns columns n. A row of A or C is an offset in a table, so the rows of
// a matrix, the pixels of a padded image and the taps of a filter are all the same to it. Up to 6 rows
// x 16 columns of sums (with vectors of 16 lanes: 6 x 64) stay in registers for the whole of k, in the order of k: no bit
// of a result depends on how rows were grouped. Of bf16 the elements of A and W are words of two that lie side by side in
// the order of k.
#pragma once

#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {

// A normalization of columns: (x - mean) scale + shift. None: all nullptr.
struct ColumnNorm {
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  float of(int64_t column, float x) const { return (x - mean[column]) * scale[column] + shift[column]; }
  ColumnNorm at(int64_t column) const {
    return scale ? ColumnNorm{mean + column, scale + column, shift + column} : *this;
  }
};

struct Panel {
  const float* a = nullptr;
  const int64_t* a_rows = nullptr;  // A(r, i, k) = a[a_rows[r] + runs[i] + k * a_step]
  const int64_t* runs = nullptr;
  int64_t n_runs = 1;
  int64_t run_length = 0;
  int64_t a_step = 1;
  const float* w = nullptr;  // W(j, n) = w[j * w_step + n]
  int64_t w_step = 16;
  bool w_padded = true;  // W may be read up to padded_columns(columns)
  float* c = nullptr;    // C[r, n] = c[c_rows[r] + n]
  const int64_t* c_rows = nullptr;
  int columns = 16;                 // 1..kMostColumns
  bool accumulate = false;          // add to what C holds
  const float* bias = nullptr;      // [columns]
  ColumnNorm norm;                  // of the sums and the bias, before the residual
  const float* residual = nullptr;  // laid out as C
  // Elements of 16 bits that the sums meet later, those of row r from `later` + r * later_step on: they arrive while sums are
  // made. nullptr: none
  const uint16_t* later = nullptr;
  int64_t later_step = 0;
  int act = TENON_ACT_NONE;
  float alpha = 0;
  bool pairs = false;  // A and W are words of two bf16 (pairs.h), which k counts
  bool tiles = false;  // such words are added by tiles, in another order (matrix_tile.h)
};

// Columns of a panel that is followed by others; and the most that the last one may have.
constexpr int64_t kPanelColumns = Lanes::kLanes == 16 ? 64 : 16;
constexpr int64_t kMostColumns = Lanes::kLanes == 16 ? 64 : 24;

// Columns of the next panel when `left` remain.
inline int64_t panel_columns(int64_t left) { return left <= kMostColumns ? left : kPanelColumns; }
// The columns that a packed panel of `columns` takes up: whole vectors.
inline int64_t padded_columns(int64_t columns) {
  return columns <= 8 ? 8 : (columns + Lanes::kLanes - 1) / Lanes::kLanes * Lanes::kLanes;
}

// All panels of `n` columns, packed one after another, each k x padded_columns.
inline int64_t packed_columns(int64_t n) {
  return n / kPanelColumns * kPanelColumns + (n % kPanelColumns ? padded_columns(n % kPanelColumns) : 0);
}

void run_panel(const Panel& panel, int64_t rows);

// The W that is read next. A product of few rows waits for memory rather than for arithmetic.
struct Stream {
  float* packed = nullptr;     // room for W as a packed panel
  const void* next = nullptr;  // the rows that the next panel reads as its W, fetched meanwhile; nullptr: none
  int64_t next_step = 0;       // in elements of W
  // W is bf16 as it lies, in the order of widen_rows (pairs.h): its rows are read in twos, the second first. REQUIRES one run,
  // of an even length, and no pairs.
  bool halves = false;
};
// run_panel for a whole panel (columns == kPanelColumns). The first rows pack W as they read it, the others read what
// they packed; as they go on, they fetch `next`, as many rows as W has, into the cache of second level.
void run_streamed(const Panel& panel, const Stream& stream, int64_t rows);

// Packs columns [0, n) of a k x n matrix with rows `ld` apart into panels of `depth` >= k rows:
// the panel that starts at column j lies at out + j * depth.
void pack_panels(const float* b, int64_t k, int64_t n, int64_t ld, int64_t depth, float* out);

}  // namespace tenon::cpu::TENON_CPU_ISA
