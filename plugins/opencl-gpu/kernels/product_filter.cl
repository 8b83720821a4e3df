// Gradients of filters, on CPU devices, without a copy of x or dy: for one tap, rows of points of y and what they met in x are
// two matrices as they lie in memory. A work item takes a chunk of y's rows and a part of the channels, and adds up dw tile by
// tile, MR channels of x by NR of y. One image axis or more; along the last, windows may stride. -D MR, VW, NV (kernels/product_tile.cl).

// Fields as opencl_gpu::FilterGrad has them.
typedef struct {
  long images, from[3], to[3], taps[3], stride[3], dilation[3], low[3];
  long c, n;          // channels of x and y
  long c_part, rows;  // channels of a part; rows of y that a tile's sums stay in registers for
  long chunks;
} FilterGrad;

INLINE long row_in_x(const FilterGrad *s, long image, long q0, long q1) {
  return q0 < 0 || q1 < 0 || q0 >= s->from[0] || q1 >= s->from[1] ? -1 : (image * s->from[0] + q0) * s->from[1] + q1;
}

// tile += x' dy for rows [first, last) of y, one tap.
INLINE void add_rows(const FilterGrad *s, const __global W *x, const __global W *dy, long first, long last, long t0, long t1,
                     long shift, long begin, long end, Room tile) {
  V sum[MR][NV];
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) sum[i][j] = GET(i * NV + j, tile);
  const long per_image = s->to[0] * s->to[1], step = s->c * s->stride[2];
  for (long row = first; row < last; ++row) {
    const long y0 = row % per_image / s->to[1], y1 = row % s->to[1];
    const long at = row_in_x(s, row / per_image, y0 * s->stride[0] - s->low[0] + t0 * s->dilation[0],
                             y1 * s->stride[1] - s->low[1] + t1 * s->dilation[1]);
    if (at < 0) continue;
    const __global W *a = x + (at * s->from[2] + begin * s->stride[2] + shift) * s->c;
    const __global W *b = dy + (row * s->to[2] + begin) * s->n;
    for (long i = begin; i < end; ++i) {
      V right[NV];
#pragma unroll
      for (int j = 0; j < NV; ++j) right[j] = GET(j, b);
#pragma unroll
      for (int k = 0; k < MR; ++k) {
        const V left = (V)(a[k]);
#pragma unroll
        for (int j = 0; j < NV; ++j) sum[k][j] = fma(left, right[j], sum[k][j]);
      }
      a += step;
      b += s->n;
    }
  }
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) PUT(sum[i][j], i * NV + j, tile);
}

// All taps and channels [c0, c1) for rows [first, last) of y. room: [tap][c - c0 over MR][panel][MR][NR].
INLINE void add_block(const FilterGrad *s, const __global W *x, const __global W *dy, long first, long last, long c0, long c1,
                      Room room) {
  for (long t0 = 0; t0 < s->taps[0]; ++t0)
    for (long t1 = 0; t1 < s->taps[1]; ++t1)
      for (long t2 = 0; t2 < s->taps[2]; ++t2) {
        const long shift = t2 * s->dilation[2] - s->low[2], stride = s->stride[2], after = s->from[2] - shift;
        const long begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const long end = after <= 0 ? 0 : min((after - 1) / stride + 1, s->to[2]);
        for (long c = c0; c < c1; c += MR)
          for (long n = 0; n < s->n; n += NR, room += MR * NR)
            add_rows(s, x + c, dy + n, first, last, t0, t1, shift, begin, end, room);
      }
}

// parts: [chunk] of dw.
__kernel void filter_grad(FilterGrad s, long room_size, MEM(x), MEM(dy), MEM(parts), MEM(room)) {
  const __global W *x = POINTER(const W, x), *dy = POINTER(const W, dy);
  const long c_parts = (s.c + s.c_part - 1) / s.c_part, taps = s.taps[0] * s.taps[1] * s.taps[2];
  const long rows = s.images * s.to[0] * s.to[1];
  Room room = POINTER(W, room) + get_group_id(0) * room_size;
  EACH(i, (ulong)(c_parts * s.chunks)) {
    const long chunk = i / c_parts, c0 = i % c_parts * s.c_part, c1 = min(c0 + s.c_part, s.c);
    const long last = rows * (chunk + 1) / s.chunks;
    Room parts = POINTER(W, parts) + chunk * taps * s.c * s.n;
    for (long k = 0; k < taps * (c1 - c0) * s.n; ++k) room[k] = 0;
    for (long row = rows * chunk / s.chunks; row < last; row += s.rows)
      add_block(&s, x, dy, row, min(row + s.rows, last), c0, c1, room);
    const __global W *tile = room;
    for (long t = 0; t < taps; ++t)
      for (long c = c0; c < c1; c += MR)
        for (long n = 0; n < s.n; n += NR, tile += MR * NR)
          for (int k = 0; k < MR; ++k)
            for (int j = 0; j < NV; ++j) PUT(GET(k * NV + j, tile), j, parts + (t * s.c + c + k) * s.n + n);
  }
}
