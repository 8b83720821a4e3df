// b as kernels/product/product_cpu.cl reads it: panels of NR columns, k x NR each; zeros behind the last column. -D NR,
// SAME_DTYPE.
#define STEP 16
#define DEPTH 256

INLINE void pack_rows(From row, long step, long rows, long columns, Room to) {
  if (columns == NR) {
    for (long r = 0; r < rows; ++r)
      for (int j = 0; j < NR; ++j) to[r * NR + j] = LOAD(T, row, r * step + j);
  } else {
    for (long r = 0; r < rows; ++r)
      for (int j = 0; j < NR; ++j) to[r * NR + j] = j < columns ? LOAD(T, row, r * step + j) : 0;
  }
}

INLINE void pack_columns(From row, long row_step, long column_step, long rows, long columns, Room to) {
  for (long first = 0; first < rows; first += STEP)
    for (int j = 0; j < NR; ++j)
      for (long r = first; r < min(first + STEP, rows); ++r)
        to[r * NR + j] = j < columns ? LOAD(T, row, r * row_step + j * column_step) : 0;
}

__kernel void pack_b(Product s, MEM(b), MEM(to) JOINT_MEMORY) {
  const long panels = (s.n + NR - 1) / NR, blocks = (s.k + DEPTH - 1) / DEPTH;
  EACH(i, (ulong)(s.batch * panels * blocks)) {
    const long panel = i % panels, p = i / panels / blocks, first = i / panels % blocks * DEPTH;
    const long last = min(first + DEPTH, s.k), columns = min((long)NR, s.n - panel * NR);
    Room to = POINTER(W, to) + (p * panels + panel) * s.k * NR;
    for (long k = first, run; k < last; k += run) {
      const long inner = k % s.b_inner;
      run = min(s.b_inner - inner, last - k);
      From row = MEMBER(const STORED(T), b, p) + p * s.b_batch + k / s.b_inner * s.b_outer_row + inner * s.b_row +
                 panel * NR * s.b_column;
      if (s.b_column == 1)
        pack_rows(row, s.b_row, run, columns, to + k * NR);
      else
        pack_columns(row, s.b_row, s.b_column, run, columns, to + k * NR);
    }
  }
}
