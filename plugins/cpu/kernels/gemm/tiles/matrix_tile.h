// Panels of products of bf16 (gemm_tile.h) by the tiles of AMX, of 16 rows of 16 words each.
//
// The order of sums is the instruction's (TDPBF16PS), found by trying: words are taken 16 at a time, from the first word of the
// panel on, whatever its runs are. Of these the products of the low halves are added up from zero in the order of k, those of
// the high halves apart; the two sums are added, then the result is added to C. Each step, a product with its sum, is
// rounded once, and subnormal numbers are zeros of their sign, whatever the mode of the processor. So where a panel ends
// after a multiple of 16 words and the next one accumulates, the bits are those of one.
#pragma once

#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int64_t kTileSide = 16;  // rows of a tile, and words of a row

#ifdef __AMX_BF16__
// Set before kernels are made: whether request_tiles() gave them, and TENON_CPU_ISA does not ask for less.
extern bool tile_products;
inline bool has_tile_products() { return tile_products; }
// Asks the system to let all threads of this process use tiles; whether the processor has them and it does.
bool request_tiles();
// run_panel of a panel of tiles. REQUIRES has_tile_products() and w_padded.
void run_tile_panel(const Panel& panel, int64_t rows);
#else
constexpr bool has_tile_products() { return false; }
#endif

}  // namespace tenon::cpu::TENON_CPU_ISA
