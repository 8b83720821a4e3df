// Gradients of 3 x 3 filters as Winograd's F(3 x 3, 4 x 4), for CPU devices; after product_winograd.cl, whose Winograd
// describes the forward pass: k channels of x, n of dy. A work item takes a chunk of the tiles and a part of x's
// channels: it transforms 6 x 6 points of x and 4 x 4 of dy, adds up 36 products over the tiles, and transforms them
// back at the end.

#define SLOPE(g0, g1, g2, g3, r0, r1, r2, r3, r4, r5)                                              \
  {                                                                                                \
    const V even = ((g0) + (g2)) * (-1.0f / 6), odd = ((g1) + (g3)) * (-1.0f / 6);                 \
    const V even2 = ((g0) + 4.0f * (g2)) * (1.0f / 24), odd2 = ((g1) + 4.0f * (g3)) * (1.0f / 12); \
    const V top = 0.25f * (g0), end = (g3);                                                        \
    r0 = top, r1 = even + odd, r2 = even - odd, r3 = even2 + odd2, r4 = even2 - odd2, r5 = end;    \
  }

// NR channels of the tile of dy at (y, x) of an image, zeros outside: a row of 36 planes of BLOCK x NR.
INLINE void tile_of_slope(const Winograd* s, const __global float* image, long y, long x, Room to) {
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    V g[4][4], t[6][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const long row = y * 4 + i, column = x * 4 + k;
        g[i][k] = row < s->rows && column < s->columns ? GET(j, image + (row * s->columns + column) * s->n) : (V)(0);
      }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      SLOPE(g[0][k], g[1][k], g[2][k], g[3][k], t[0][k], t[1][k], t[2][k], t[3][k], t[4][k], t[5][k])
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      V r[6];
      SLOPE(t[i][0], t[i][1], t[i][2], t[i][3], r[0], r[1], r[2], r[3], r[4], r[5])
#pragma unroll
      for (int k = 0; k < 6; ++k) PUT(r[k], j, to + (i * 6 + k) * (BLOCK * NR));
    }
  }
}

#define FILTER_BACK(r0, r1, r2, r3, r4, r5, y0, y1, y2)                                           \
  {                                                                                               \
    const V near = (r1) + (r2), near_odd = (r1) - (r2), far = (r3) + (r4), far_odd = (r3) - (r4); \
    y0 = (r0) + near + far, y1 = near_odd + 2.0f * far_odd, y2 = near + 4.0f * far + (r5);        \
  }

// The 3 x 3 taps of one channel of x and NR of y from 36 sums, `plane` apart.
INLINE void put_taps(const Winograd* s, const __global float* from, long plane, Room dw) {
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    V t[3][6], out[3][3];
#pragma unroll
    for (int k = 0; k < 6; ++k) {
      V r[6];
#pragma unroll
      for (int i = 0; i < 6; ++i) r[i] = GET(j, from + (i * 6 + k) * plane);
      FILTER_BACK(r[0], r[1], r[2], r[3], r[4], r[5], t[0][k], t[1][k], t[2][k])
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      FILTER_BACK(t[i][0], t[i][1], t[i][2], t[i][3], t[i][4], t[i][5], out[i][0], out[i][1], out[i][2])
#pragma unroll
      for (int k = 0; k < 3; ++k) PUT(out[i][k], j, dw + (i * 3 + k) * s->tap);
    }
  }
}

// c_part: channels of x at once, at most KC. sums: [plane][c over MR][panel][MR][NR].
__kernel void winograd_filter_grad(Winograd s, long chunks, long c_part, long room_size, MEM(x), MEM(dy), MEM(parts),
                                   MEM(room)) {
  const long across = TILE_COLUMNS(&s), per_image = TILE_ROWS(&s) * across, tiles = s.images * per_image;
  const long panels = s.n / NR, c_parts = (s.k + c_part - 1) / c_part, plane = c_part * s.n;
  const __global float *x = POINTER(const float, x), *dy = POINTER(const float, dy);
  Room x_room = POINTER(float, room) + get_group_id(0) * room_size, y_room = x_room + PLANES * BLOCK * PITCH;
  Room sums = y_room + PLANES * BLOCK * NR;
  EACH(i, (ulong)(chunks * c_parts)) {
    const long chunk = i / c_parts, c0 = i % c_parts * c_part, c = min(c_part, s.k - c0);
    const long last = tiles * (chunk + 1) / chunks;
    int adds = 0;
    for (long first = tiles * chunk / chunks; first < last; first += BLOCK, adds = 1) {
      const long count = min((long)BLOCK, last - first);
      for (long t = 0; t < count; ++t) {
        const long at = first + t, image = at / per_image, y = at % per_image / across,
                   column = at % per_image % across;
        tile_of_image(&s, x + image * s.from_rows * s.from_columns * s.k, y, column, c0, c, x_room + t * PITCH);
      }
      for (long panel = 0; panel < panels; ++panel) {
        for (long t = 0; t < count; ++t) {
          const long at = first + t, image = at / per_image, y = at % per_image / across,
                     column = at % per_image % across;
          tile_of_slope(&s, dy + image * s.rows * s.columns * s.n + panel * NR, y, column, y_room + t * NR);
        }
        for (long p = 0; p < PLANES; ++p)
          for (long k = 0; k < c; k += MR)
            multiply(x_room + p * (BLOCK * PITCH) + k, 1, PITCH, y_room + p * (BLOCK * NR), NR, count, adds,
                     sums + p * plane + k * s.n + panel * (MR * NR));
      }
    }
    Room dw = POINTER(float, parts) + chunk * 9 * s.k * s.n;
    for (long k = 0; k < c; ++k)
      for (long panel = 0; panel < panels; ++panel)
        put_taps(&s, sums + k / MR * MR * s.n + panel * (MR * NR) + k % MR * NR, plane,
                 dw + (c0 + k) * s.n + panel * NR);
  }
}
