// Products whose A has so few rows that B, read once, takes about as long as its sums: C^T = B^T A^T, rows of A in
// vectors. B is used as it lies, transposed or not, and what comes next of it is fetched meanwhile. Sums are in the order
// of k, so the bits are those of the other kernels.
#pragma once

#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {

class ThinProduct {
 public:
  static bool suits(const GemmShape& shape);

  // partial: sums get no activation yet.
  ThinProduct(const GemmShape& shape, bool partial);

  uint64_t thread_scratch_bytes() const;
  // Columns of C that are a good piece of work, a multiple of a tile.
  int64_t columns() const { return columns_; }
  // Columns [at.begin, at.end) of C, of terms [k, k + depth): all terms if B is transposed, else all columns. No norm,
  // residual or visitor. first: no call of this thread and run came before.
  void run(const GemmData& data, Slice at, int64_t k, int64_t depth, bool first, float* room) const;

 private:
  void pack(const float* a, int64_t k, int64_t depth, float* to) const;

  GemmShape s_;
  int64_t width_ = 0;    // rows of A, in whole vectors
  int64_t tile_ = 0;     // columns of C that are summed together
  int64_t columns_ = 0;  // a piece of work
  int64_t depth_ = 0;    // terms that are packed of A at a time
};

}  // namespace tenon::cpu::TENON_CPU_ISA
