// The convolution of few channels, bias, ReLU and pool; after pooled.cl and largest.cl. A work item takes a row of windows: it copies
// the x below it, with zeros around, and adds up two windows and NV vectors of filters in registers. -D NV.
#define NR (VW * NV)
#define WINDOWS 2
#define PLACES (4 * WINDOWS)

// x: the first tap of the first of two windows. w: [taps][n] from a panel's first filter on.
INLINE void two_windows(const Pooled* s, From x, From w, From bias, long pitch, long count, Room p,
                        __global uchar* winner) {
  V sum[PLACES][NV];
#pragma unroll
  for (int j = 0; j < NV; ++j) {
    const V first = s->bias ? GET(j, bias) : (V)(0);
#pragma unroll
    for (int i = 0; i < PLACES; ++i) sum[i][j] = first;
  }
  const long right = s->stride_column * s->c, down = s->stride_row * pitch;
  for (long r = 0; r < s->tap_rows; ++r) {
    From a = x + r * pitch, b = a + down;
    for (long t = 0; t < s->run; ++t, ++a, ++b, w += s->n) {
      V right_side[NV];
#pragma unroll
      for (int j = 0; j < NV; ++j) right_side[j] = GET(j, w);
#pragma unroll
      for (int i = 0; i < PLACES; ++i) {
        const V left = (V)((i & 2 ? b : a)[((i >> 2) * 2 + (i & 1)) * right]);
#pragma unroll
        for (int j = 0; j < NV; ++j) sum[i][j] = fma(left, right_side[j], sum[i][j]);
      }
    }
  }
  const V floor = (V)(s->floor);
#pragma unroll
  for (int q = 0; q < WINDOWS; ++q)
    if (q < count)
#pragma unroll
      for (int j = 0; j < NV; ++j) {
        V best = sum[q * 4][j] < floor ? floor : sum[q * 4][j];
        I wins = (I)(0);
#pragma unroll
        for (int i = 1; i < 4; ++i) keep_largest(sum[q * 4 + i][j] < floor ? floor : sum[q * 4 + i][j], i, &best, &wins);
        PUT(best, j, p + q * s->n);
        JOIN(vstore, VW)(TO_BYTES(wins), j, winner + q * s->n);
      }
}

__kernel void pooled_forward(Pooled s, long room_size, MEM(x), MEM(w), MEM(bias), MEM(p), MEM(winner), MEM(room)) {
  const long even = (s.columns + 1) / 2 * 2, columns = (2 * even - 1) * s.stride_column + s.tap_columns;
  From x = POINTER(const float, x), w = POINTER(const float, w), bias = POINTER(const float, bias);
  Room room = POINTER(float, room) + get_group_id(0) * room_size, p = POINTER(float, p);
  __global uchar* winner = POINTER(uchar, winner);
  EACH(i, (ulong)(s.images * s.rows)) {
    copy_source(&s, x + i / s.rows * s.from_rows * s.from_columns * s.c, i % s.rows, 1, columns, room);
    for (long n = 0; n < s.n; n += NR)
      for (long q = 0; q < s.columns; q += WINDOWS)
        two_windows(&s, room + q * 2 * s.stride_column * s.c, w + n, bias + n, columns * s.c, s.columns - q,
                    p + (i * s.columns + q) * s.n + n, winner + (i * s.columns + q) * s.n + n);
  }
}
