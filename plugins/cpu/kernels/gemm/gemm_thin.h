// Products whose A has so few rows that reading B once takes about as long as the sums. They are computed as C^T = B^T A^T
// with rows of A in vectors. B is not packed, and its next part is fetched meanwhile. Sums go in the order of k, so the bits
// are those of the other kernels.
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
  // Computes columns [at.begin, at.end) of C from terms [k, k + depth). If B is transposed, these are all terms; else all
  // columns. data has no norm, residual or visitor. first: this is the thread's first call in this run.
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
