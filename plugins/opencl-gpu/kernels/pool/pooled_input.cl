// The input's gradient of a pooled convolution from its winners; after pooled.cl. Each filter's winners are listed, and
// each adds its dy times the filter where its taps lie: R rows of taps x RV vectors of the filter in registers.

// Filters one after the other, [n][tap rows][padded], zeros behind a row's taps.
__kernel void pooled_filters(Pooled s, MEM(w), MEM(to)) {
  From w = POINTER(const float, w);
  Room to = POINTER(float, to);
  EACH(row, (ulong)(s.n * s.tap_rows)) {
    const long o = row / s.tap_rows, first = row % s.tap_rows * s.run;
    for (long i = 0; i < s.padded; ++i) to[row * s.padded + i] = i < s.run ? w[(first + i) * s.n + o] : 0;
  }
}

// `size`: of a row's taps from here on.
INLINE void spread_list(const Pooled* s, From w, long size, const __global Winner* list, int count, Room dx) {
  const long pitch = columns_of(s) * s->c;
  V tap[R][RV];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int v = 0; v < RV; ++v) tap[r][v] = GET(v, w + r * s->padded);
  for (int i = 0; i < count; ++i) {
    Room to = dx + list[i].at;
    if (!isfinite(list[i].dy)) {  // the zeros behind the taps are not to be multiplied with it
      for (int r = 0; r < R; ++r)
        for (long v = 0; v < min(size, (long)RV * VW); ++v) to[r * pitch + v] += list[i].dy * w[r * s->padded + v];
      continue;
    }
    const V dy = (V)(list[i].dy);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < RV; ++v) PUT(fma(dy, tap[r][v], GET(v, to + r * pitch)), v, to + r * pitch);
  }
}

// What windows see of an image, without the zeros around it.
INLINE void put_image(const Pooled* s, From sums, Room dx) {
  const long columns = columns_of(s), rows = rows_of(s, s->rows);
  for (long row = 0; row < s->from_rows; ++row, dx += s->from_columns * s->c) {
    const long r = row + s->low_row;
    From from = sums + (r * columns + s->low_column) * s->c;
    const long first = max(-s->low_column, 0L) * s->c, last = min(columns - s->low_column, s->from_columns) * s->c;
    const long end = r >= 0 && r < rows ? max(last, first) : first;
    for (long i = 0; i < min(first, s->from_columns * s->c); ++i) dx[i] = 0;
    for (long i = first; i < end; ++i) dx[i] = from[i];
    for (long i = end; i < s->from_columns * s->c; ++i) dx[i] = 0;
  }
}

// A work item's room: an image's sums with what lies around it, then the lists.
__kernel void pooled_grad_input(Pooled s, long room_size, long image_size, MEM(dp), MEM(filters), MEM(winner), MEM(dx),
                                MEM(room)) {
  From dp = POINTER(const float, dp), filters = POINTER(const float, filters);
  const __global uchar* winner = POINTER(const uchar, winner);
  Room sums = POINTER(float, room) + get_group_id(0) * room_size;
  __global int* counts = (__global int*)(sums + image_size);
  __global Winner* lists = (__global Winner*)(counts + (s.n + 15) / 16 * 16);
  const long room = s.band * s.columns + 1, pitch = columns_of(&s) * s.c;
  EACH(image, (ulong)s.images) {
    for (long i = 0; i < image_size; ++i) sums[i] = 0;
    for (long row = 0; row < s.rows; row += s.band) {
      const long count = min(s.band, s.rows - row), first = (image * s.rows + row) * s.columns * s.n;
      Room band = sums + 2 * row * s.stride_row * pitch;
      list_winners(&s, dp + first, winner + first, count, lists, room, counts);
      for (long o = 0; o < s.n; ++o)
        for (long r = 0; r < s.tap_rows; r += R)
          for (long v = 0; v < s.padded; v += RV * VW)
            spread_list(&s, filters + (o * s.tap_rows + r) * s.padded + v, s.run - v, lists + o * room, counts[o],
                        band + r * pitch + v);
    }
    put_image(&s, sums, POINTER(float, dx) + image * s.from_rows * s.from_columns * s.c);
  }
}
