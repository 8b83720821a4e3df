// For GPUs. A work-group of LN x LM work items makes a tile of c, BN x BM, from blocks of a and b in local memory, BK
// deep; each work item has RM x RN elements of it in registers, in pieces of FM x FN. While a block is multiplied, the
// next one is on its way from memory into registers; from there it goes into the other of two blocks. -D VECTOR_C: c's rows
// and what is added to them are of whole vectors. After product_gpu_read.cl.
#define FM (RM < 4 ? RM : 4)
#define FN (RN < 4 ? RN : 4)
#define ROW_OF(y, i) ((i) / FM * (LM * FM) + (y)*FM + (i) % FM)
#define COLUMN_OF(x, j) ((j) / FN * (LN * FN) + (x)*FN + (j) % FN)

INLINE void fragment(const __local W* from, int across, int many, W* to) {
#pragma unroll
  for (int i = 0; i < many; i += 4) {
    const W4 x = *(const __local W4*)(from + i / 4 * across);
    to[i] = x.s0, to[i + 1] = x.s1, to[i + 2] = x.s2, to[i + 3] = x.s3;
  }
}

INLINE void multiply(const __local W (*a)[BM + 4], const __local W (*b)[BN + 4], int x, int y, W (*sum)[RN]) {
#pragma unroll 4
  for (int k = 0; k < BK; ++k) {
    W left[RM], row[RN];
#if RM < 4
    for (int i = 0; i < RM; ++i) left[i] = a[k][ROW_OF(y, i)];
#else
    fragment(&a[k][ROW_OF(y, 0)], LM * FM, RM, left);
#endif
#if RN < 4
    for (int j = 0; j < RN; ++j) row[j] = b[k][COLUMN_OF(x, j)];
#else
    fragment(&b[k][COLUMN_OF(x, 0)], LN * FN, RN, row);
#endif
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
      for (int j = 0; j < RN; ++j) sum[i][j] += left[i] * row[j];
  }
}

#ifdef VECTOR_C
ACTIVATION(activated4, V4(R))

INLINE void end4(const Product* s, End e, long p, long m, long n, V4(R) sum) {
  const long at = p * s->c_batch + m * s->c_row + n;
  if (s->bias) sum += LOAD4(R, e.bias + (p * s->c_batch % s->c_row + n));
  if (s->residual) sum += LOAD4(R, e.residual + at);
  STORE4(R, e.c + at, activated4(sum, alpha_of(s)));
}
#endif

INLINE void end_tile(const Product* s, End e, long p, long m0, long n0, int x, int y, W (*sum)[RN]) {
#pragma unroll
  for (int i = 0; i < RM; ++i) {
    const long m = m0 + ROW_OF(y, i);
    if (m >= s->m) continue;
#ifdef VECTOR_C
#pragma unroll
    for (int j = 0; j < RN; j += 4) {
      const long n = n0 + COLUMN_OF(x, j);
      if (n < s->n) end4(s, e, p, m, n, (V4(R))(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
    }
#else
#pragma unroll
    for (int j = 0; j < RN; ++j)
      if (n0 + COLUMN_OF(x, j) < s->n) end(s, e, p, m, n0 + COLUMN_OF(x, j), sum[i][j]);
#endif
  }
}

// The sums over [first, last) of k.
INLINE void sum_tile(const Product* s, From a, From b, INDEX m0, INDEX n0, INDEX first, INDEX last, int x, int y,
                     __local W (*blocks_a)[BK][BM + 4], __local W (*blocks_b)[BK][BN + 4], W (*sum)[RN]) {
  const int item = y * LN + x;
  ReadA of_a;
  ReadB of_b;
  W4 next_of_a[A_UNITS], next_of_b[B_UNITS];
  begin_a(s, &of_a, m0, first, item);
  begin_b(s, &of_b, n0, first, item);
  read_a(s, &of_a, a, item, last, next_of_a);
  read_b(s, &of_b, b, item, last, next_of_b);
  put_units(next_of_a, A_LIES_ALONG_K, BM, item, &blocks_a[0][0][0]);
  put_units(next_of_b, B_LIES_ALONG_K, BN, item, &blocks_b[0][0][0]);
  barrier(CLK_LOCAL_MEM_FENCE);
  int now = 0;
  for (INDEX k = first; k < last; k += BK, now ^= 1) {
    const int more = k + BK < last;
    if (more) {
      next_a(s, &of_a);
      next_b(s, &of_b);
      read_a(s, &of_a, a, item, last, next_of_a);
      read_b(s, &of_b, b, item, last, next_of_b);
    }
    multiply(blocks_a[now], blocks_b[now], x, y, sum);
    if (more) {
      put_units(next_of_a, A_LIES_ALONG_K, BM, item, &blocks_a[now ^ 1][0][0]);
      put_units(next_of_b, B_LIES_ALONG_K, BN, item, &blocks_b[now ^ 1][0][0]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// The tiles: along m, along n, of the batch, and chunks of k, each by all of those before. A group goes over some, since there
// may be more than a device has groups. depth: of a chunk, a multiple of all BK.
__kernel __attribute__((reqd_work_group_size(LN, LM, 1))) void product_gpu(Product s, long depth, MEM(a), MEM(b),
                                                                           MEM(bias), MEM(residual), MEM(c) JOINT_MEMORY) {
  __local W blocks_a[2][BK][BM + 4] __attribute__((aligned(32))), blocks_b[2][BK][BN + 4] __attribute__((aligned(32)));
  const int x = get_local_id(0), y = get_local_id(1);
  const long along_m = (s.m + BM - 1) / BM, along_n = (s.n + BN - 1) / BN, tiles = along_m * along_n * s.batch * s.chunks;
  for (long tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const long m0 = tile % along_m * BM, n0 = tile / along_m % along_n * BN, product = tile / (along_m * along_n);
    const long p = product % s.batch, chunk = product / s.batch;
    const long first = min(chunk * depth, s.k), last = min(first + depth, s.k);
    W sum[RM][RN];
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
      for (int j = 0; j < RN; ++j) sum[i][j] = 0;
    sum_tile(&s, POINTER(const STORED(T), a) + p * s.a_batch, MEMBER(const STORED(T), b, p) + p * s.b_batch, (INDEX)m0,
             (INDEX)n0, (INDEX)first, (INDEX)last, x, y, blocks_a, blocks_b, sum);
    const End e = {MEMBER(const STORED(R), bias, p), POINTER(const STORED(R), residual),
                   MEMBER(STORED(R), c, p) + chunk * s.batch * s.m * s.n};
    end_tile(&s, e, p, m0, n0, x, y, sum);
  }
}
