// The register tile of SlabProduct: 12 rows x 32 columns, both operands packed.
#pragma once

#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int64_t kSlabRows = 12, kSlabColumns = 32;
constexpr int64_t kSlabDepth = 256;  // of a slab at most

// Lines of memory that are fetched while a tile is computed, one every two steps of k as long as there are steps.
struct SlabFetch {
  static constexpr int64_t kMost = 64;
  const float* lines[kMost + 1];  // one more may be read
  int64_t count = 0;
  void add(const float* line) {
    if (count < kMost) lines[count++] = line;
  }
};

// What is in `p` means what it means to run_panel(), but A is a packed tile of
// [run_length][kSlabRows]. rows in [1, kSlabRows]; at most kSlabColumns columns, with whole vectors of W.
void run_slab_tile(const Panel& p, const int64_t* c_rows, int64_t rows, const SlabFetch& fetch);

}  // namespace tenon::cpu::TENON_CPU_ISA
