// A tile of c in registers, for CPU devices; after lanes.cl. -D NV: vectors of a panel of b, MR: rows.
#define NR (VW * NV)

// tile (MR x NR) = or += a b. a_row, a_column: constants
INLINE void multiply(const __global W* restrict a, long a_row, long a_column, const __global W* restrict b, long b_step,
                     long kc, int adds, Room restrict tile) {
  V sum[MR][NV];
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) sum[i][j] = adds ? GET(i * NV + j, tile) : (V)(0);
  for (long k = 0; k < kc; ++k) {
    V row[NV];
#pragma unroll
    for (int j = 0; j < NV; ++j) row[j] = GET(j, b);
#pragma unroll
    for (int i = 0; i < MR; ++i) {
      const V x = (V)(a[i * a_row + k * a_column]);
#pragma unroll
      for (int j = 0; j < NV; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
    }
    b += b_step;
  }
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) PUT(sum[i][j], i * NV + j, tile);
}
