// For GPUs. A work-group of LN x LM work items makes a tile of c, BN x BM, from blocks of a and b in local memory, BK
// deep; each work item has RM x RN elements of it in registers, LM and LN apart. -D RM, RN; B_COLUMNS: b's columns are
// contiguous.
#define LM 16
#define LN 16
#define BK 16
#define BM (LM * RM)
#define BN (LN * RN)
#define ITEMS (LM * LN)

// Neighbours in memory are read by neighbours.
INLINE void read_a(const Product* s, From a, long p, long m0, long k0, long k1, int item, __local W (*to)[BM + 1]) {
  for (int e = item; e < BM * BK; e += ITEMS) {
#if A_IS == MATRIX || A_IS == WINDOWS
    const int i = e / BK, k = e % BK;
#else
    const int i = e % BM, k = e / BM;
#endif
    to[k][i] = (m0 + i < s->m && k0 + k < k1) ? element_of_a(s, a, p, m0 + i, k0 + k) : 0;
  }
}
INLINE void read_b(const Product* s, From b, long p, long n0, long k0, long k1, int item, __local W (*to)[BN + 1]) {
  for (int e = item; e < BN * BK; e += ITEMS) {
#ifdef B_COLUMNS
    const int j = e / BK, k = e % BK;
#else
    const int j = e % BN, k = e / BN;
#endif
    to[k][j] = (n0 + j < s->n && k0 + k < k1) ? element_of_b(s, b, p, k0 + k, n0 + j) : 0;
  }
}

// The tiles: along m, along n, of the batch, and chunks of k, each by all of those before. A group goes over some, since there
// may be more than a device has groups.
__kernel __attribute__((reqd_work_group_size(LN, LM, 1))) void product_gpu(Product s, MEM(a), MEM(b), MEM(bias),
                                                                           MEM(residual), MEM(c)) {
  __local W blocks_a[BK][BM + 1], blocks_b[BK][BN + 1];
  const int x = get_local_id(0), y = get_local_id(1), item = y * LN + x;
  const long along_m = (s.m + BM - 1) / BM, along_n = (s.n + BN - 1) / BN, tiles = along_m * along_n * s.batch * s.chunks;
  for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const long m0 = tile % along_m * BM, n0 = tile / along_m % along_n * BN, product = tile / (along_m * along_n);
    const long p = product % s.batch, chunk = product / s.batch;
    const long first = s.k * chunk / s.chunks, last = s.k * (chunk + 1) / s.chunks;
    W sum[RM][RN];
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
      for (int j = 0; j < RN; ++j) sum[i][j] = 0;
    for (long k0 = first; k0 < last; k0 += BK) {
      read_a(&s, POINTER(const STORED(T), a), p, m0, k0, last, item, blocks_a);
      read_b(&s, POINTER(const STORED(T), b), p, n0, k0, last, item, blocks_b);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int k = 0; k < BK; ++k) {
        W row[RN];
#pragma unroll
        for (int j = 0; j < RN; ++j) row[j] = blocks_b[k][x + j * LN];
#pragma unroll
        for (int i = 0; i < RM; ++i) {
          const W left = blocks_a[k][y + i * LM];
#pragma unroll
          for (int j = 0; j < RN; ++j) sum[i][j] += left * row[j];
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const End e = {POINTER(const STORED(R), bias), POINTER(const STORED(R), residual),
                   POINTER(STORED(R), c) + chunk * s.batch * s.m * s.n};
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
      for (int j = 0; j < RN; ++j)
        if (m0 + y + i * LM < s.m && n0 + x + j * LN < s.n) end(&s, e, p, m0 + y + i * LM, n0 + x + j * LN, sum[i][j]);
  }
}
