// For CPU devices. A work item takes tiles of c, rows x panels of NR columns, one after the other: it copies a block
// of a into memory of its own, MC x KC, and multiplies it by panels of b, MR rows at a time, in registers. -D KC, MC;
// B_ROWS: b is not packed, a panel is copied where it is needed.
#if A_IS == WINDOWS_T || A_IS == MATRIX_T
#define A_PITCH (MC + 16)  // a's block is KC x MC
#define A_ROW 1
#define A_COLUMN A_PITCH
#define A_SIZE (KC * A_PITCH)
#else
#define A_PITCH (KC + 16)  // MC x KC
#define A_ROW A_PITCH
#define A_COLUMN 1
#define A_SIZE (MC * A_PITCH)
#endif

#ifdef B_ROWS
#define A_BLOCK (A_SIZE + KC * NR)  // with a panel of b
#else
#define A_BLOCK A_SIZE
#endif

// ---- a ----

INLINE void copy_run(Room to, From from, long n) {
  long i = 0;
#ifdef SAME_DTYPE
  for (; i + VW <= n; i += VW) PUT(GET(0, from + i), 0, to + i);
#endif
  for (; i < n; ++i) to[i] = LOAD(T, from, i);
}
INLINE void clear_run(Room to, long n) {
  for (long i = 0; i < n; ++i) to[i] = 0;
}

#if A_IS == MATRIX
INLINE void block_of_a(const Product* s, From a, long p, long m0, long rows, long k0, long kc, Room to) {
  for (long i = 0; i < rows; ++i) copy_run(to + i * A_PITCH, a + p * s->a_batch + (m0 + i) * s->a_row + k0, kc);
}
#elif A_IS == MATRIX_T
INLINE void block_of_a(const Product* s, From a, long p, long m0, long rows, long k0, long kc, Room to) {
  for (long k = 0; k < kc; ++k) copy_run(to + k * A_PITCH, a + p * s->a_batch + (k0 + k) * s->a_column + m0, rows);
}
#else
typedef struct {
  long image, place[3], tap[3], channel;
} At;

// Element `first` of the windows (taps and channels, in order) of point `at`.
INLINE At window_at(const Product* s, long at, long first) {
  const long tap = first / s->channels, per_image = s->to[0] * s->to[1] * s->to[2];
  const At w = {at / per_image,
                {at % per_image / (s->to[1] * s->to[2]), at / s->to[2] % s->to[1], at % s->to[2]},
                {tap / (s->taps[1] * s->taps[2]), tap / s->taps[2] % s->taps[1], tap % s->taps[2]},
                first % s->channels};
  return w;
}

// The next point, the same element.
INLINE void go_on(const Product* s, At* w) {
  if (++w->place[2] < s->to[2]) return;
  w->place[2] = 0;
  if (++w->place[1] < s->to[1]) return;
  w->place[1] = 0;
  if (++w->place[0] < s->to[0]) return;
  w->place[0] = 0, ++w->image;
}

#ifdef SAME_DTYPE
// A whole window that lies inside the image, in whole vectors: what they carry too much is overwritten, or lies behind
// the window on both sides. Whether it was one.
INLINE int copied_whole(const Product* s, From image, const long* place, Room to) {
  const long q0 = WINDOW_AT(s, 0, place[0], 0), q1 = WINDOW_AT(s, 1, place[1], 0), q2 = WINDOW_AT(s, 2, place[2], 0);
  const long last0 = q0 + (s->taps[0] - 1) * s->step[0], last1 = q1 + (s->taps[1] - 1) * s->step[1];
  const long run = s->taps[2] * s->channels, vectors = (run + VW - 1) / VW * VW, row = s->from[2] * s->channels;
  if (q0 < 0 || q1 < 0 || q2 < 0 || last0 >= s->from[0] || last1 >= s->from[1] || q2 + s->taps[2] > s->from[2])
    return 0;
  if ((last0 * s->from[1] + last1) * row + q2 * s->channels + vectors > s->from[0] * s->from[1] * row) return 0;
  for (long i0 = q0; i0 <= last0; i0 += s->step[0])
    for (long i1 = q1; i1 <= last1; i1 += s->step[1], to += run) {
      From from = image + (i0 * s->from[1] + i1) * row + q2 * s->channels;
      for (long i = 0; i < vectors; i += VW) PUT(GET(0, from + i), 0, to + i);
    }
  return 1;
}
#endif

// `count` elements of a window.
INLINE void copy_windows(const Product* s, From a, const At* w, long count, Room to) {
  const long image = w->image, *place = w->place;
#ifdef SAME_DTYPE
  const long whole = s->taps[0] * s->taps[1] * s->taps[2] * s->channels;
  if (s->dense && count == whole &&
      copied_whole(s, a + image * s->from[0] * s->from[1] * s->from[2] * s->pitch, place, to))
    return;
#endif
  long t0 = w->tap[0], t1 = w->tap[1], t2 = w->tap[2], channel = w->channel;
  while (count > 0) {
    long q0 = WINDOW_AT(s, 0, place[0], t0), q1 = WINDOW_AT(s, 1, place[1], t1), q2 = WINDOW_AT(s, 2, place[2], t2);
    long run = min(s->dense ? (s->taps[2] - t2) * s->channels - channel : s->channels - channel, count);
    if (INSIDE(s, 0, q0) && INSIDE(s, 1, q1)) {
      From row = a + (((image * s->from[0] + q0) * s->from[1] + q1) * s->from[2]) * s->pitch;
      if (s->dense) {
        const long at_first = q2 * s->channels + channel;
        const long begin = min(max(-at_first, 0L), run),
                   end = min(max(s->from[2] * s->channels - at_first, begin), run);
        clear_run(to, begin);
        copy_run(to + begin, row + at_first + begin, end - begin);
        clear_run(to + end, run - end);
      } else if (INSIDE(s, 2, q2)) {
        copy_run(to, row + q2 * s->pitch + channel, run);
      } else {
        clear_run(to, run);
      }
    } else {
      clear_run(to, run);
    }
    to += run;
    count -= run;
    channel = 0;
    if (s->dense || ++t2 == s->taps[2]) {
      t2 = 0;
      if (++t1 == s->taps[1]) t1 = 0, ++t0;
    }
  }
}
INLINE void block_of_a(const Product* s, From a, long p, long m0, long rows, long k0, long kc, Room to) {
  a += p * s->a_batch;
#if A_IS == WINDOWS_T
  At w = window_at(s, k0, m0);
  for (long k = 0; k < kc; ++k, go_on(s, &w)) copy_windows(s, a, &w, rows, to + k * A_PITCH);
#else
  At w = window_at(s, m0, k0);
  for (long i = 0; i < rows; ++i, go_on(s, &w)) copy_windows(s, a, &w, kc, to + i * A_PITCH);
#endif
}
#endif

// ---- c ----

typedef struct {
  const __global W *bias, *residual;
  __global W* c;
} End;

// What is in the tile goes to c, columns n0.. of rows m0..
INLINE void finish(const Product* s, End e, const __global W* tile, long p, long m0, long rows, long n0, long columns) {
  const W floor = s->floor;
  for (long i = 0; i < rows; ++i, tile += NR) {
    const long at = p * s->c_batch + (m0 + i) * s->c_row + n0, column = p * s->c_batch % s->c_row + n0;
    int j = 0;
    for (; j + VW <= columns; j += VW) {
      V x = GET(0, tile + j);
      if (s->bias) x += GET(0, e.bias + column + j);
      if (s->residual) x += GET(0, e.residual + at + j);
      PUT((x < (V)(floor)) ? (V)(floor) : x, 0, e.c + at + j);
    }
    for (; j < columns; ++j) {
      W x = tile[j];
      if (s->bias) x += e.bias[column + j];
      if (s->residual) x += e.residual[at + j];
      e.c[at + j] = x < floor ? floor : x;
    }
  }
}

#ifdef B_ROWS
INLINE void copy_panel(const __global W* b, long step, long kc, Room to) {
  for (long k = 0; k < kc; ++k)
#pragma unroll
    for (int j = 0; j < NV; ++j) PUT(GET(j, b + k * step), j, to + k * NR);
}
#endif

// One tile of c: rows m0.., panels first.. Sums over [k0, k1).
INLINE void tile_of_c(const Product* s, End e, From a, const __global W* b, Room room, long p, long m0, long rows,
                      long n0, long columns, long k0, long k1) {
  Room tiles = room + A_BLOCK;
  const long held = k1 - k0 > KC;  // tiles wait for the next block of k
  const long row_panels = (rows + MR - 1) / MR;
  for (long k = k0; k < k1; k += KC) {
    const long kc = min((long)KC, k1 - k);
    block_of_a(s, a, p, m0, rows, k, kc, room);
    for (long j = 0; j < columns; j += NR) {
#ifdef B_ROWS
      Room panel = room + A_BLOCK - KC * NR;
      copy_panel(b + p * s->b_batch + k * s->b_row + n0 + j, s->b_row, kc, panel);
#else
      const __global W* panel = b + ((p * ((s->n + NR - 1) / NR) + (n0 + j) / NR) * s->k + k) * NR;
#endif
      for (long i = 0; i < rows; i += MR) {
        Room tile = held ? tiles + (j / NR * row_panels + i / MR) * (MR * NR) : tiles;
        multiply(room + i * A_ROW, A_ROW, A_COLUMN, panel, NR, kc, k > k0, tile);
        if (k + kc == k1) finish(s, e, tile, p, m0 + i, min((long)MR, rows - i), n0 + j, min((long)NR, columns - j));
      }
    }
  }
}

// mc, nc: a tile's rows and columns. Of more than one chunk, each adds its part of k into c_chunk elements of its own.
__kernel void product_cpu(Product s, long mc, long nc, long room_size, MEM(a), MEM(b), MEM(bias), MEM(residual), MEM(c),
                          MEM(room) JOINT_MEMORY) {
  const long rows = (s.m + mc - 1) / mc, columns = (s.n + nc - 1) / nc;
  Room room = POINTER(W, room) + get_group_id(0) * room_size;
  EACH(i, (ulong)(s.chunks * s.batch * rows * columns)) {
    const long m0 = i % rows * mc, n0 = i / rows % columns * nc, p = i / rows / columns % s.batch;
    const long chunk = i / rows / columns / s.batch;
    const End e = {MEMBER(const W, bias, p), POINTER(const W, residual), MEMBER(W, c, p) + chunk * s.batch * s.m * s.n};
    tile_of_c(&s, e, POINTER(const STORED(T), a), MEMBER(const W, b, p), room, p, m0, min(mc, s.m - m0), n0,
              min(nc, s.n - n0), s.k * chunk / s.chunks, s.k * (chunk + 1) / s.chunks);
  }
}
