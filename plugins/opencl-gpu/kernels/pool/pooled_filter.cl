// The filter's gradient of a pooled convolution from its winners; after pooled.cl.
//
// With many channels each filter's winners are listed, and each adds its dy times the taps that it saw: vectors are runs
// of (column, channel), which lie together in x; R rows of taps x RV vectors in registers. With few (-D PLACES_OF, R rows
// of RUN taps) vectors are filters: each of a window's places adds a tap times the dy of the filters that it won for.
#ifndef PLACES_OF

INLINE void add_list(const Pooled* s, From x, const __global Winner* list, int count, Room sums) {
  const long pitch = columns_of(s) * s->c;
  V sum[R][RV];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < RV; ++v) sum[r][v] = GET(v, sums + r * s->padded);
  for (int i = 0; i < count; ++i) {
    From from = x + list[i].at;
    const V dy = (V)(list[i].dy);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < RV; ++v) sum[r][v] = fma(dy, GET(v, from + r * pitch), sum[r][v]);
  }
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < RV; ++v) PUT(sum[r][v], v, sums + r * s->padded);
}

// sums: [n][tap rows][padded]
INLINE void add_band(const Pooled* s, From dp, const __global uchar* winner, long count, From source,
                     __global Winner* lists, __global int* counts, Room sums) {
  const long room = s->band * s->columns + 1, pitch = columns_of(s) * s->c;
  list_winners(s, dp, winner, count, lists, room, counts);
  for (long o = 0; o < s->n; ++o)
    for (long r = 0; r < s->tap_rows; r += R)
      for (long v = 0; v < s->padded; v += RV * VW)
        add_list(s, source + r * pitch + v, lists + o * room, counts[o], sums + (o * s->tap_rows + r) * s->padded + v);
}

#else

// One row of windows, a vector of filters. sums: [tap][n]
INLINE void add_places(const Pooled* s, From dp, const __global uchar* winner, From source, Room sums) {
  const long right = s->stride_column * s->c, pitch = columns_of(s) * s->c, down = s->stride_row * pitch;
  V sum[R][RUN];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < RUN; ++v) sum[r][v] = GET(0, sums + (r * RUN + v) * s->n);
  for (long i = 0; i < s->columns; ++i, dp += s->n, winner += s->n, source += 2 * right) {
    const V dy = GET(0, dp);
    const I wins = TO_INTS(GET(0, winner));
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const V mine = wins == (I)(place) ? dy : (V)(0);
      From x = source + (place & 1) * right + (place >> 1) * down;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int v = 0; v < RUN; ++v) sum[r][v] = fma((V)(x[r * pitch + v]), mine, sum[r][v]);
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < RUN; ++v) PUT(sum[r][v], 0, sums + (r * RUN + v) * s->n);
}

INLINE void add_band(const Pooled* s, From dp, const __global uchar* winner, long count, From source,
                     __global Winner* lists, __global int* counts, Room sums) {
  const long down = s->stride_row * columns_of(s) * s->c;
  for (long row = 0; row < count; ++row)
    for (long o = 0; o < s->n; o += VW)
      for (long r = 0; r < s->tap_rows; r += R)
        add_places(s, dp + row * s->columns * s->n + o, winner + row * s->columns * s->n + o,
                   source + row * 2 * down + r * columns_of(s) * s->c, sums + r * RUN * s->n + o);
}

#endif

// parts: a chunk's sums, `size` floats each. A work item's room: x, then the lists.
__kernel void pooled_grad_filter(Pooled s, long room_size, long source_size, long size, MEM(x), MEM(dp), MEM(winner),
                                 MEM(parts), MEM(room)) {
  const long bands = (s.rows + s.band - 1) / s.band, units = s.images * bands;
  From x = POINTER(const float, x), dp = POINTER(const float, dp);
  const __global uchar* winner = POINTER(const uchar, winner);
  Room room = POINTER(float, room) + get_group_id(0) * room_size;
  __global int* counts = (__global int*)(room + source_size);
  __global Winner* lists = (__global Winner*)(counts + (s.n + 15) / 16 * 16);
  EACH(chunk, (ulong)s.chunks) {
    Room sums = POINTER(float, parts) + chunk * size;
    for (long i = 0; i < size; ++i) sums[i] = 0;
    for (long i = 0; i < source_size; ++i) room[i] = 0;
    for (long unit = units * chunk / s.chunks; unit < (long)(units * (chunk + 1) / s.chunks); ++unit) {
      const long image = unit / bands, row = unit % bands * s.band, count = min(s.band, s.rows - row);
      const long first = (image * s.rows + row) * s.columns * s.n;
      copy_source(&s, x + image * s.from_rows * s.from_columns * s.c, row, count, columns_of(&s), room);
      add_band(&s, dp + first, winner + first, count, room, lists, counts, sums);
    }
  }
}

// The chunks in order, as dw [tap][channel][n] has them. A work item has filters, or rows of taps.
__kernel void pooled_filter_sums(Pooled s, long size, MEM(parts), MEM(dw)) {
  Room parts = POINTER(float, parts), dw = POINTER(float, dw);
#ifndef PLACES_OF
  EACH(o, (ulong)s.n) {
    for (long t = 0; t < s.tap_rows; ++t) {
      Room row = parts + (o * s.tap_rows + t) * s.padded;
      for (long k = 1; k < s.chunks; ++k)
        for (long i = 0; i < s.padded; i += VW) PUT(GET(0, row + i) + GET(0, row + k * size + i), 0, row + i);
      for (long i = 0; i < s.run; ++i) dw[(t * s.run + i) * s.n + o] = row[i];
    }
  }
#else
  EACH(t, (ulong)(s.tap_rows * s.run)) {
    for (long o = 0; o < s.n; o += VW) {
      V sum = GET(0, parts + t * s.n + o);
      for (long k = 1; k < s.chunks; ++k) sum += GET(0, parts + k * size + t * s.n + o);
      PUT(sum, 0, dw + t * s.n + o);
    }
  }
#endif
}
