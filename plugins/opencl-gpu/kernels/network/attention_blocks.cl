// What attention on GPUs by blocks is made of, after attention.cl and vectors.cl. A work-group of LX x LY work items has BR
// rows, of queries or of keys, and goes over the others, BO at a time; both lie in local memory, row by row, with room
// behind each for other banks. A work item has rows y, y + LY, .. of the group's, RI of them: of their scores the columns x,
// x + LX, .., RJ of them, and of their sums RD vectors of four. -D VECTORS: of four, which D fits into; LY, RI, RJ.
#define LX 8
#define ITEMS (LX * LY)
#define BR (LY * RI)
#define BO (LX * RJ)
#define PITCH (4 * VECTORS + 4)
#define TILE_PITCH (BO + 4)
#define RD ((VECTORS + LX - 1) / LX)
#define ROW(i) (y + LY * (i))
#define OTHER(j) (x + LX * (j))
#define EACH_OF(i, n) _Pragma("unroll") for (int i = 0; i < (n); ++i)
#define ALIGNED __attribute__((aligned(32)))
#define ALL_MEET barrier(CLK_LOCAL_MEM_FENCE)

typedef V4(X) W4;
typedef __local W (*Rows)[PITCH];
typedef __local W (*Tile)[TILE_PITCH];

// Elements d.. of a row of n, with zeros behind.
INLINE W4 load_some(From x, long d, long n) {
  if (d + 4 <= n) return LOAD4(X, x + d);
  return (W4)(d < n ? LOAD(X, x, d) : 0, d + 1 < n ? LOAD(X, x, d + 1) : 0, d + 2 < n ? LOAD(X, x, d + 2) : 0, 0);
}
INLINE void store_some(To x, long d, long n, W4 v) {
  if (d + 4 <= n) {
    STORE4(X, x + d, v);
    return;
  }
  if (d < n) STORE(X, x, d, v.s0);
  if (d + 1 < n) STORE(X, x, d + 1, v.s1);
  if (d + 2 < n) STORE(X, x, d + 2, v.s2);
}

// `many` rows of x[rows, n], `step` apart, by `scale`; zeros behind the last.
INLINE void load_rows(From x, long step, long rows, long n, int many, W scale, int item, Rows to) {
  for (int u = item; u < many * VECTORS; u += ITEMS) {
    const int row = u / VECTORS, d = u % VECTORS * 4;
    const W4 v = row < rows ? load_some(x + row * step, d, n) : (W4)(0);
    *(__local W4*)&to[row][d] = v * (W4)(scale);
  }
}

// sum[i][j] = rows[ROW(i)] . others[OTHER(j)]
INLINE void multiply_rows(Rows rows, Rows others, int x, int y, W (*sum)[RJ]) {
  EACH_OF(i, RI) EACH_OF(j, RJ) sum[i][j] = 0;
  for (int d = 0; d < 4 * VECTORS; d += 4) {
    W4 left[RI], right[RJ];
    EACH_OF(i, RI) left[i] = *(const __local W4*)&rows[ROW(i)][d];
    EACH_OF(j, RJ) right[j] = *(const __local W4*)&others[OTHER(j)][d];
    EACH_OF(i, RI) EACH_OF(j, RJ) {
      sum[i][j] += left[i].s0 * right[j].s0;
      sum[i][j] += left[i].s1 * right[j].s1;
      sum[i][j] += left[i].s2 * right[j].s2;
      sum[i][j] += left[i].s3 * right[j].s3;
    }
  }
}

// A vector of a row; one that is none computes what the last does.
#define COLUMN(c) (4 * min(x + LX * (c), VECTORS - 1))

// sum[i] += tile[ROW(i)] others
INLINE void add_rows(Tile tile, Rows others, int x, int y, W4 (*sum)[RD]) {
  for (int o = 0; o < BO; o += 4) {
    W4 left[RI];
    EACH_OF(i, RI) left[i] = *(const __local W4*)&tile[ROW(i)][o];
    EACH_OF(c, RD) {
      W4 right[4];
      EACH_OF(k, 4) right[k] = *(const __local W4*)&others[o + k][COLUMN(c)];
      EACH_OF(i, RI) {
        sum[i][c] += (W4)(left[i].s0) * right[0];
        sum[i][c] += (W4)(left[i].s1) * right[1];
        sum[i][c] += (W4)(left[i].s2) * right[2];
        sum[i][c] += (W4)(left[i].s3) * right[3];
      }
    }
  }
}
INLINE void clear_rows(W4 (*sum)[RD]) { EACH_OF(i, RI) EACH_OF(c, RD) sum[i][c] = (W4)(0); }

// To rows of memory `step` apart, by a factor for each; from row `rows` on there is none.
INLINE void store_rows(W4 (*sum)[RD], const W* factor, long rows, long n, int x, int y, To to, long step) {
  EACH_OF(i, RI) EACH_OF(c, RD)
    if (ROW(i) < rows) store_some(to + ROW(i) * step, 4 * (x + LX * c), n, sum[i][c] * (W4)(factor[i]));
}

// What dropout makes of 1 for `queries` x `keys` scores, that of query t and key i at first + t S + i.
INLINE void draw_tile(const Attention* a, ulong seed, ulong step, ulong first, W keep, int item, int queries, int keys,
                      int query_pitch, int key_pitch, __local W* to) {
  const int fours = keys / 4 + 1;  // a row may begin anywhere in one
  for (int u = item; u < queries * fours; u += ITEMS) {
    const int t = u / fours;
    const ulong e = first + a->before + (ulong)t * a->S;
    const int begin = u % fours * 4 - (int)(e & 3);
    const uint4 four = philox((uint)(e >> 2) + u % fours, a->stream, step, seed);
    const uint words[4] = {four.x, four.y, four.z, four.w};
    EACH_OF(k, 4) {
      const int i = begin + k;
      if (i >= 0 && i < keys) to[t * query_pitch + i * key_pitch] = words[k] >> 8 >= a->limit ? keep : 0;
    }
  }
}

#define DRAWS                                                    \
  const ulong seed = a->limit ? *POINTER(const ulong, seed) : 0; \
  const ulong step = a->limit ? *POINTER(const ulong, step) : 0;
#define WORK_ITEM \
  const int x = get_local_id(0), y = get_local_id(1), item = y * LX + x;
#define BY_BLOCKS __attribute__((reqd_work_group_size(LX, LY, 1)))
