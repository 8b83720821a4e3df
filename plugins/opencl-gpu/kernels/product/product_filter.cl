// Gradients of filters, on CPU devices. For one tap, what rows of y's points met in x are rows of x's points: two
// matrices, which are copied in panels, MR channels of x and NR of y, points one behind the other. A work item takes a
// chunk of y's rows and a part of the channels, and adds up dw tile by tile. -D MR, VW, NV (kernels/product/product_tile.cl).
//
// Where channels are few, the taps of a row and their channels count as channels of y's point: taps[2] is 1 then.

// Fields as opencl_gpu::FilterGrad has them.
typedef struct {
  long images, from[3], to[3], taps[3], stride[3], dilation[3], low[3];
  long c, n;          // channels of x and y
  long c_part, rows;  // channels of a part; rows of y at once
  long chunks;
  long run_channels;  // of few channels: how many there are; else 0
  long run_from, run_stride, run_low;
} FilterGrad;

#define PANELS_OF_N(s) ((s)->n / NR)

// Points of y in panels: [panel][row][point][NR].
INLINE void copy_y(const FilterGrad* s, const __global W* dy, long rows, Room to) {
  const long points = rows * s->to[2];
  for (long panel = 0; panel < PANELS_OF_N(s); ++panel)
    for (long i = 0; i < points; ++i, to += NR)
#pragma unroll
      for (int j = 0; j < NV; ++j) PUT(GET(j, dy + i * s->n + panel * NR), j, to);
}

// A row of x's points, or of zeros: [point][MR], channels c...
INLINE void copy_row(const FilterGrad* s, const __global W* row, long c, Room to) {
  const long count = min((long)MR, s->c - c);
  if (s->run_channels) {
    const long size = s->run_from * s->run_channels, step = s->run_stride * s->run_channels;
    long at = c - s->run_low * s->run_channels;
    for (long i = 0; i < s->to[2]; ++i, to += MR, at += step)
      if (row && at >= 0 && at + MR <= size)
        for (int k = 0; k < MR; ++k) to[k] = row[at + k];  // those behind the last channel go nowhere
      else
        for (int k = 0; k < MR; ++k) to[k] = row && at + k >= 0 && at + k < size ? row[at + k] : 0;
  } else if (row && count == MR) {
    for (long i = 0; i < s->from[2]; ++i)
      for (int k = 0; k < MR; ++k) to[i * MR + k] = row[i * s->c + c + k];
  } else {
    for (long i = 0; i < s->from[2]; ++i)
      for (int k = 0; k < MR; ++k) to[i * MR + k] = row && k < count ? row[i * s->c + c + k] : 0;
  }
}

// Rows of x that taps (t0, t1) of rows [first, first + rows) of y meet.
INLINE void copy_x(const FilterGrad* s, const __global W* x, long first, long rows, long t0, long t1, long c, Room to) {
  const long row_size = s->run_channels ? s->run_from * s->run_channels : s->from[2] * s->c;
  for (long row = first; row < first + rows; ++row, to += s->from[2] * MR) {
    const long image = row / (s->to[0] * s->to[1]), y0 = row / s->to[1] % s->to[0], y1 = row % s->to[1];
    const long q0 = y0 * s->stride[0] - s->low[0] + t0 * s->dilation[0];
    const long q1 = y1 * s->stride[1] - s->low[1] + t1 * s->dilation[1];
    const int there = q0 >= 0 && q1 >= 0 && q0 < s->from[0] && q1 < s->from[1];
    copy_row(s, there ? x + ((image * s->from[0] + q0) * s->from[1] + q1) * row_size : 0, c, to);
  }
}

// tile += x' dy, points [begin, end) of each row.
INLINE void add_rows(const FilterGrad* s, const __global W* x, const __global W* dy, long rows, long shift, long begin,
                     long end, Room tile) {
  V sum[MR][NV];
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) sum[i][j] = GET(i * NV + j, tile);
  for (long row = 0; row < rows; ++row) {
    const __global W* a = x + (row * s->from[2] + begin * s->stride[2] + shift) * MR;
    const __global W* b = dy + (row * s->to[2] + begin) * NR;
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
      a += s->stride[2] * MR;
      b += NR;
    }
  }
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) PUT(sum[i][j], i * NV + j, tile);
}

// All taps and channels [c0, c1) for `rows` rows of y from `first`. room: the sums, [t0 t1][c - c0 over
// MR][t2][panel][MR][NR].
INLINE void add_block(const FilterGrad* s, const __global W* x, long first, long rows, long c0, long c1, Room room,
                      Room y_room, Room x_room) {
  for (long t = 0; t < s->taps[0] * s->taps[1]; ++t)
    for (long c = c0; c < c1; c += MR) {
      copy_x(s, x, first, rows, t / s->taps[1], t % s->taps[1], c, x_room);
      for (long t2 = 0; t2 < s->taps[2]; ++t2) {
        const long shift = t2 * s->dilation[2] - s->low[2], stride = s->stride[2], after = s->from[2] - shift;
        const long begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        const long end = after <= 0 ? 0 : min((after - 1) / stride + 1, s->to[2]);
        for (long panel = 0; panel < PANELS_OF_N(s); ++panel, room += MR * NR)
          add_rows(s, x_room, y_room + panel * rows * s->to[2] * NR, rows, shift, begin, end, room);
      }
    }
}

// The sums of a part of the channels to their places in dw.
INLINE void put_sums(const FilterGrad* s, const __global W* tile, long c0, long c1, Room dw) {
  for (long t = 0; t < s->taps[0] * s->taps[1]; ++t)
    for (long c = c0; c < c1; c += MR)
      for (long t2 = 0; t2 < s->taps[2]; ++t2)
        for (long panel = 0; panel < PANELS_OF_N(s); ++panel, tile += MR * NR)
          for (int k = 0; k < min((long)MR, c1 - c); ++k)
            for (int j = 0; j < NV; ++j)
              PUT(GET(k * NV + j, tile), j, dw + ((t * s->taps[2] + t2) * s->c + c + k) * s->n + panel * NR);
}

// parts: [chunk] of dw. sums, y_size: elements of a work item's room for the sums and for y's panels.
__kernel void filter_grad(FilterGrad s, long room_size, long sums, long y_size, MEM(x), MEM(dy), MEM(parts),
                          MEM(room)) {
  const __global W *x = POINTER(const W, x), *dy = POINTER(const W, dy);
  const long c_parts = (s.c + s.c_part - 1) / s.c_part, size = s.taps[0] * s.taps[1] * s.taps[2] * s.c * s.n;
  const long rows = s.images * s.to[0] * s.to[1];
  Room room = POINTER(W, room) + get_group_id(0) * room_size;
  EACH(i, (ulong)(c_parts * s.chunks)) {
    const long chunk = i / c_parts, c0 = i % c_parts * s.c_part, c1 = min(c0 + s.c_part, s.c);
    const long last = rows * (chunk + 1) / s.chunks;
    for (long k = 0; k < sums; ++k) room[k] = 0;
    for (long row = rows * chunk / s.chunks; row < last; row += s.rows) {
      const long count = min(s.rows, last - row);
      copy_y(&s, dy + row * s.to[2] * s.n, count, room + sums);
      add_block(&s, x, row, count, c0, c1, room, room + sums, room + sums + y_size);
    }
    put_sums(&s, room, c0, c1, POINTER(W, parts) + chunk * size);
  }
}
