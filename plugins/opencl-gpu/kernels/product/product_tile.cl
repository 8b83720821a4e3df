// A tile of c in registers, for CPU devices. -D VW: elements of a vector, NV: vectors of a panel of b, MR: rows,
// W_VECTOR: the name of W as OpenCL C has it.
#define NR (VW * NV)
#define V JOIN(W_VECTOR, VW)
#define GET JOIN(vload, VW)
#ifdef __clang__  // PoCL's vstore16 stores four quarters, for which a load soon after waits
typedef V Unaligned __attribute__((aligned(4)));
#define PUT(x, j, p) (*(__global Unaligned*)((p) + (j)*VW) = (x))
#else
#define PUT JOIN(vstore, VW)
#endif

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
