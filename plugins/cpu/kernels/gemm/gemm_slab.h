// Large products with A transposed, such as gradients of weights, by vectors of 16 lanes. Both operands are packed slab by
// slab of K, and registers hold 12 rows x 32 columns of sums. Sums go in the order of k, so the bits are those of the other
// kernels.
#pragma once

#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

class SlabProduct {
 public:
  explicit SlabProduct(const GemmShape& shape);

  // Whether packing pays, and this instruction set has a tile for it.
  static bool suits(const GemmShape& shape);

  uint64_t thread_scratch_bytes() const;
  // Called by every thread of the gang; no barrier inside.
  void run(const Call& call, const GemmData& data) const;

 private:
  struct Range {
    int64_t row, rows, column, columns;
  };
  struct Fetch;
  // The part of C that is this thread's.
  Range range_of(const Call& call) const;
  void columns(const GemmData& d, const Range& range, float* room) const;
  void block(const GemmData& d, const Range& block, int64_t k, const float* a, const float* b, Fetch& next) const;
  void pack_a(const float* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;
  // The first row of bf16 that step k reads.
  int64_t first_row(int64_t k) const { return s_.pairs ? 2 * k : k ^ 1; }
  void pack_halves(const uint16_t* rows, int64_t ld, int64_t n, uint32_t* to) const;
  void pair_a(const uint16_t* a, int64_t row, int64_t rows, int64_t at, int64_t depth, float* out) const;
  void pair_b(const uint16_t* b, int64_t column, int64_t columns, int64_t at, int64_t depth, float* out) const;
  void pack_b(const float* b, int64_t column, int64_t columns, int64_t at, int64_t depth, float* out) const;

  GemmShape s_;
  int64_t depth_;       // of a slab
  int64_t slabs_;       // of K
  int64_t kept_slabs_;  // packed at a time: all where they fit into the cache
  int64_t panel_room_;  // floats of a packed panel of B
  std::vector<int64_t> c_rows_;
};

}  // namespace tenon::cpu::TENON_CPU_ISA
