// Convolutions by 3 x 3 taps as Winograd's F(4 x 4, 3 x 3), for CPU devices: a work item takes BLOCK tiles of 4 x 4
// points of the result, transforms the 6 x 6 points below each, multiplies by the transformed filters, 36 products of
// BLOCK x k by k x n, and transforms back, all in memory of its own. Points 0, 1, -1, 2, -2, infinity. -D KC: least
// multiple of 16 that k fits in, at most 256; BLOCK: a multiple of MR. POOLED: a 2 x 2 max-pool of the result, and which of its
// four won (one of the least index, or the first NaN); rows and columns are even then.
#define PLANES 36
#define PITCH (KC + 16)

// Fields as opencl_gpu::Winograd has them.
typedef struct {
  long images, rows, columns, from_rows, from_columns, low_row, low_column, k, n;
  long tap, k_step, n_step;  // of the filter, in elements; tap < 0: from the last tap to the first
  float floor;
  int bias, residual, unused;
} Winograd;

#define TILE_ROWS(s) (((s)->rows + 3) / 4)
#define TILE_COLUMNS(s) (((s)->columns + 3) / 4)

// ---- filters: [plane][panel][k][NR] ----

#define FILTER(T, g0, g1, g2, to, step)                                                          \
  {                                                                                              \
    const T ends = ((g0) + (g2)) * (-1.0f / 6), middle = (g1) * (1.0f / 6);                      \
    const T wide = (g0) * (1.0f / 24) + (g2) * (1.0f / 6), half_g = (g1) * (1.0f / 12);          \
    (to)[0] = (g0)*0.25f, (to)[step] = ends - middle, (to)[2 * (step)] = ends + middle;          \
    (to)[3 * (step)] = wide + half_g, (to)[4 * (step)] = wide - half_g, (to)[5 * (step)] = (g2); \
  }

// NR filters that lie side by side.
INLINE void panel_of_filters(const Winograd* s, const __global float* w, long plane, __global float* to) {
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    V rows[6][3];
#pragma unroll
    for (int x = 0; x < 3; ++x) {
      const V g0 = GET(j, w + x * s->tap), g1 = GET(j, w + (3 + x) * s->tap), g2 = GET(j, w + (6 + x) * s->tap);
      FILTER(V, g0, g1, g2, &rows[0][x], 3)
    }
#pragma unroll
    for (int y = 0; y < 6; ++y) {
      V r[6];
      FILTER(V, rows[y][0], rows[y][1], rows[y][2], r, 1)
#pragma unroll
      for (int x = 0; x < 6; ++x) PUT(r[x], j, to + (y * 6 + x) * plane);
    }
  }
}

__kernel void winograd_filters(Winograd s, MEM(w), MEM(to)) {
  const __global float* w = POINTER(const float, w) + (s.tap < 0 ? -8 * s.tap : 0);
  const long panels = (s.n + NR - 1) / NR, plane = panels * s.k * NR;
  EACH(i, (ulong)(panels * s.k)) {
    const long panel = i / s.k, k = i % s.k;
    __global float* to = POINTER(float, to) + i * NR;
    if (s.n_step == 1 && (panel + 1) * NR <= s.n) {
      panel_of_filters(&s, w + k * s.k_step + panel * NR, plane, to);
      continue;
    }
    for (int j = 0; j < NR; ++j) {
      const long n = panel * NR + j;
      float rows[6][3];
      for (int x = 0; x < 3; ++x) {
        const __global float* g = w + k * s.k_step + n * s.n_step + x * s.tap;
        const float g0 = n < s.n ? g[0] : 0, g1 = n < s.n ? g[3 * s.tap] : 0, g2 = n < s.n ? g[6 * s.tap] : 0;
        FILTER(float, g0, g1, g2, &rows[0][x], 3)
      }
      for (int y = 0; y < 6; ++y) {
        float r[6];
        FILTER(float, rows[y][0], rows[y][1], rows[y][2], r, 1)
        for (int x = 0; x < 6; ++x) to[(y * 6 + x) * plane + j] = r[x];
      }
    }
  }
}

// ---- images ----

#define IMAGE(d0, d1, d2, d3, d4, d5, r0, r1, r2, r3, r4, r5)                           \
  {                                                                                     \
    const V even = (d4)-4.0f * (d2), odd = (d3)-4.0f * (d1);                            \
    const V even2 = (d4) - (d2), odd2 = 2.0f * ((d3) - (d1));                           \
    const V top = 4.0f * (d0)-5.0f * (d2) + (d4), end = 4.0f * (d1)-5.0f * (d3) + (d5); \
    r0 = top, r1 = even + odd, r2 = even - odd;                                         \
    r3 = even2 + odd2, r4 = even2 - odd2, r5 = end;                                     \
  }

// Channels [k0, k0 + kc) of the tile at (y, x) of an image: 36 planes of PITCH x BLOCK.
INLINE void tile_of_image(const Winograd* s, const __global float* image, long y, long x, long k0, long kc, Room to) {
  const long first_y = y * 4 - s->low_row, first_x = x * 4 - s->low_column;
  const int inside = first_y >= 0 && first_x >= 0 && first_y + 6 <= s->from_rows && first_x + 6 <= s->from_columns;
  for (long c = 0; c < kc; c += VW) {
    V d[6][6];
    const __global float* from = image + (first_y * s->from_columns + first_x) * s->k + k0 + c;
    if (inside) {
#pragma unroll
      for (int i = 0; i < 6; ++i)
#pragma unroll
        for (int j = 0; j < 6; ++j) d[i][j] = GET(0, from + (i * s->from_columns + j) * s->k);
    } else {
#pragma unroll
      for (int i = 0; i < 6; ++i)
#pragma unroll
        for (int j = 0; j < 6; ++j) {
          const int there =
              first_y + i >= 0 && first_y + i < s->from_rows && first_x + j >= 0 && first_x + j < s->from_columns;
          d[i][j] = there ? GET(0, from + (i * s->from_columns + j) * s->k) : (V)(0);
        }
    }
#pragma unroll
    for (int j = 0; j < 6; ++j)
      IMAGE(d[0][j], d[1][j], d[2][j], d[3][j], d[4][j], d[5][j], d[0][j], d[1][j], d[2][j], d[3][j], d[4][j], d[5][j])
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      V r[6];
      IMAGE(d[i][0], d[i][1], d[i][2], d[i][3], d[i][4], d[i][5], r[0], r[1], r[2], r[3], r[4], r[5])
#pragma unroll
      for (int j = 0; j < 6; ++j) PUT(r[j], 0, to + (i * 6 + j) * (BLOCK * PITCH) + c);
    }
  }
}

// ---- results ----

#define RESULT(r0, r1, r2, r3, r4, r5, y0, y1, y2, y3)                                            \
  {                                                                                               \
    const V near = (r1) + (r2), near_odd = (r1) - (r2), far = (r3) + (r4), far_odd = (r3) - (r4); \
    y0 = (r0) + near + far, y1 = near_odd + 2.0f * far_odd;                                       \
    y2 = near + 4.0f * far, y3 = near_odd + 8.0f * far_odd + (r5);                                \
  }

typedef struct {
  const __global float *bias, *residual;
  __global float* c;
#ifdef POOLED
  __global uchar* winner;
#endif
} End;

#ifdef POOLED
INLINE void put_pooled(V (*v)[2], V bias, V floor, __global float* p, __global uchar* winner) {
  V best = v[0][0] + bias;
  best = best < floor ? floor : best;
  JOIN(int, VW) wins = 0;
#pragma unroll
  for (int i = 1; i < 4; ++i) {
    const V sum = v[i / 2][i % 2] + bias;
    keep_largest(sum < floor ? floor : sum, i, &best, &wins);
  }
  PUT(best, 0, p);
  JOIN(vstore, VW)(JOIN(convert_uchar, VW)(wins), 0, winner);
}
#endif

// Tile i of a block, at (y, x) of an image, from its 36 sums.
INLINE void tile_of_result(const Winograd* s, End e, const __global float* sums, long plane, long i, long image, long y,
                           long x) {
  const long rows = min(4L, s->rows - y * 4), columns = min(4L, s->columns - x * 4);
  const float floor = s->floor;
  for (long n = 0; n < s->n; n += VW) {
    const __global float* from = sums + (n / NR * (BLOCK / MR) + i / MR) * (MR * NR) + i % MR * NR + n % NR;
    V t[4][6], out[4][4];
#pragma unroll
    for (int j = 0; j < 6; ++j) {
      V r[6];
#pragma unroll
      for (int k = 0; k < 6; ++k) r[k] = GET(0, from + (k * 6 + j) * plane);
      RESULT(r[0], r[1], r[2], r[3], r[4], r[5], t[0][j], t[1][j], t[2][j], t[3][j])
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      RESULT(t[k][0], t[k][1], t[k][2], t[k][3], t[k][4], t[k][5], out[k][0], out[k][1], out[k][2], out[k][3])
    const V bias = s->bias ? GET(0, e.bias + n) : (V)(0);
#ifdef POOLED
#pragma unroll
    for (int k = 0; k < 4; k += 2)
#pragma unroll
      for (int j = 0; j < 4; j += 2)
        if (k < rows && j < columns) {
          const long row = (image * s->rows + y * 4 + k) / 2, at = (row * (s->columns / 2) + (x * 4 + j) / 2) * s->n + n;
          V four[2][2] = {{out[k][j], out[k][j + 1]}, {out[k + 1][j], out[k + 1][j + 1]}};
          put_pooled(four, bias, (V)(floor), e.c + at, e.winner + at);
        }
#else
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (k < rows && j < columns) {
          const long at = ((image * s->rows + y * 4 + k) * s->columns + x * 4 + j) * s->n + n;
          V v = out[k][j] + bias;
          if (s->residual) v += GET(0, e.residual + at);
          PUT((v < (V)(floor)) ? (V)(floor) : v, 0, e.c + at);
        }
#endif
  }
}

__kernel void winograd(Winograd s, long room_size, MEM(a), MEM(filters), MEM(bias), MEM(residual), MEM(c), MEM(room)) {
  const long across = TILE_COLUMNS(&s), per_image = TILE_ROWS(&s) * across, tiles = s.images * per_image;
  const long panels = (s.n + NR - 1) / NR, plane = panels * (BLOCK * NR);
  const __global float *a = POINTER(const float, a), *filters = POINTER(const float, filters);
#ifdef POOLED  // `residual` is where the winners go
  const End e = {POINTER(const float, bias), 0, POINTER(float, c), POINTER(uchar, residual)};
#else
  const End e = {POINTER(const float, bias), POINTER(const float, residual), POINTER(float, c)};
#endif
  Room room = POINTER(float, room) + get_group_id(0) * room_size, sums = room + PLANES * BLOCK * PITCH;
  EACH(block, (ulong)((tiles + BLOCK - 1) / BLOCK)) {
    const long first = block * BLOCK, count = min((long)BLOCK, tiles - first);
    for (long k0 = 0; k0 < s.k; k0 += KC) {
      const long kc = min((long)KC, s.k - k0);
      for (long i = 0; i < count; ++i) {
        const long t = first + i, image = t / per_image, y = t % per_image / across, x = t % per_image % across;
        tile_of_image(&s, a + image * s.from_rows * s.from_columns * s.k, y, x, k0, kc, room + i * PITCH);
      }
      for (long p = 0; p < PLANES; ++p)
        for (long panel = 0; panel < panels; ++panel)
          for (long i = 0; i < count; i += MR)
            multiply(room + p * (BLOCK * PITCH) + i * PITCH, PITCH, 1, filters + ((p * panels + panel) * s.k + k0) * NR,
                     NR, kc, k0 > 0, sums + p * plane + (panel * (BLOCK / MR) + i / MR) * (MR * NR));
    }
    for (long i = 0; i < count; ++i) {
      const long t = first + i;
      tile_of_result(&s, e, sums, plane, i, t / per_image, t % per_image / across, t % per_image % across);
    }
  }
}
