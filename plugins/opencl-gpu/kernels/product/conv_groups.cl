// Convolutions in many groups of few channels, for which a product of each group is too narrow. After product.cl, of windows:
// a is x or dy, b the filter or dy. Results and filters of all groups together are lanes, p n.. of them; a GPU's work item has
// one lane at some points of a row, a CPU's many at one point. -D INDEX: the integer that places in memory fit into;
// ONE_EACH: groups of one channel with one filter; else FILTERS: of each group.
#ifdef SHAPE_CPU
#define LANES 64
#define POINTS 1
#else
#define LANES 1
#define POINTS 4
#endif

// Lanes of groups with one channel lie side by side in memory.
#ifdef ONE_EACH
#define GROUP(s, lane) (lane)
#define WITHIN(s, lane) 0
#define A_LANE(s, lane) (lane)
#define B_LANE(s, lane) (lane)
#else
#define GROUP(s, lane) ((lane) / FILTERS)
#define WITHIN(s, lane) ((lane) % FILTERS)
#define A_LANE(s, lane) (GROUP(s, lane) * (INDEX)(s)->a_batch)
#define B_LANE(s, lane) (GROUP(s, lane) * (INDEX)(s)->b_batch + WITHIN(s, lane) * (INDEX)(s)->b_column)
#endif

// Row `row` of the points, of all images; and which row of a's tap (t0, t1) there is, or -1.
typedef struct {
  INDEX image, at[2];
} Row;

INLINE Row row_of(const Product* s, INDEX row) {
  const INDEX plane = row / (INDEX)s->to[1];
  const Row r = {plane / (INDEX)s->to[0], {plane % (INDEX)s->to[0], row - plane * (INDEX)s->to[1]}};
  return r;
}

INLINE INDEX tap_row_of(const Product* s, Row r, INDEX t0, INDEX t1) {
  long q0 = WINDOW_AT(s, 0, r.at[0], t0), q1 = WINDOW_AT(s, 1, r.at[1], t1);
  if (!INSIDE(s, 0, q0) || !INSIDE(s, 1, q1)) return -1;
  return (r.image * (INDEX)s->from[0] + (INDEX)q0) * (INDEX)s->from[1] + (INDEX)q1;
}

#ifndef FILTER
// A tap's part of the sums of some points; at: where its channels lie, -1: outside.
INLINE void add_tap(const Product* s, From a, From b, const INDEX* at, INDEX first, INDEX lanes, INDEX tap,
                    W (*sum)[LANES]) {
  for (INDEX r = 0; r < (INDEX)s->channels; ++r) {
    INDEPENDENT
    for (INDEX k = 0; k < lanes; ++k) {
      const W weight = LOAD(T, b, tap + B_LANE(s, first + k) + r * (INDEX)s->b_row);
      const INDEX from = A_LANE(s, first + k) + r;
#pragma unroll
      for (int x = 0; x < POINTS; ++x)
        if (at[x] >= 0) sum[x][k] += LOAD(T, a, at[x] + from) * weight;
    }
  }
}

INLINE void sum_taps(const Product* s, From a, From b, Row row, INDEX point, INDEX first, INDEX lanes,
                     W (*sum)[LANES]) {
  const INDEX tap_step = s->b_inner == s->channels ? (INDEX)s->b_outer_row : (INDEX)(s->channels * s->b_row);
  for (INDEX t0 = 0; t0 < (INDEX)s->taps[0]; ++t0)
    for (INDEX t1 = 0; t1 < (INDEX)s->taps[1]; ++t1) {
      const INDEX from = tap_row_of(s, row, t0, t1);
      for (INDEX t2 = 0; from >= 0 && t2 < (INDEX)s->taps[2]; ++t2) {
        INDEX at[POINTS], any = -1;
#pragma unroll
        for (int x = 0; x < POINTS; ++x) {
          long q = WINDOW_AT(s, 2, point + x, t2);
          at[x] = point + x < s->to[2] && INSIDE(s, 2, q) ? (from * (INDEX)s->from[2] + (INDEX)q) * (INDEX)s->pitch : -1;
          any = max(any, at[x]);
        }
        if (any >= 0)
          add_tap(s, a, b, at, first, lanes, ((t0 * (INDEX)s->taps[1] + t1) * (INDEX)s->taps[2] + t2) * tap_step, sum);
      }
    }
}

__kernel void conv_groups(Product s, MEM(a), MEM(b), MEM(bias), MEM(residual), MEM(c)) {
  const End e = {POINTER(const STORED(R), bias), POINTER(const STORED(R), residual), POINTER(STORED(R), c)};
  const INDEX all = (INDEX)(s.batch * s.n), blocks = (all + LANES - 1) / LANES;
  const INDEX across = ((INDEX)s.to[2] + POINTS - 1) / POINTS, rows = (INDEX)(s.m / s.to[2]);
  EACH(item, (ulong)rows * across * blocks) {
    const INDEX i = (INDEX)item, strip = i / blocks, row = strip / across;
    const INDEX first = (i - strip * blocks) * LANES, point = (strip - row * across) * POINTS;
    const INDEX lanes = min(all - first, (INDEX)LANES);
    W sum[POINTS][LANES];
    for (int x = 0; x < POINTS; ++x)
      for (int k = 0; k < LANES; ++k) sum[x][k] = 0;
    sum_taps(&s, POINTER(const STORED(T), a), POINTER(const STORED(T), b), row_of(&s, row), point, first, lanes, sum);
    for (int x = 0; x < POINTS && point + x < s.to[2]; ++x)
      for (INDEX k = 0; k < lanes; ++k)
        end(&s, e, GROUP(&s, first + k), row * s.to[2] + point + x, WITHIN(&s, first + k), sum[x][k]);
  }
}
#else

// A row of points' part of the sums of a row of TAPS taps; from: of a's row, `channel` the one of each group's.
INLINE void add_row(const Product* s, From a, From b, INDEX row, INDEX from, INDEX channel, INDEX first, INDEX lanes,
                    W (*sum)[LANES]) {
  for (INDEX x = 0; x < (INDEX)s->to[2]; ++x) {
    const INDEX to = (row * (INDEX)s->to[2] + x) * (INDEX)s->b_row;
#pragma unroll
    for (int t = 0; t < TAPS; ++t) {
      const INDEX q = (INDEX)WINDOW_AT(s, 2, x, t), at = (from * (INDEX)s->from[2] + q) * (INDEX)s->pitch + channel;
      if (q < 0 || q >= (INDEX)s->from[2]) continue;
      INDEPENDENT
      for (INDEX k = 0; k < lanes; ++k)
        sum[t][k] += LOAD(T, a, at + A_LANE(s, first + k)) * LOAD(T, b, to + B_LANE(s, first + k));
    }
  }
}

// Sums of chunks of the points' rows, [chunk][p][m][n]: product_parts.cl adds them up.
__kernel void conv_groups_filter(Product s, MEM(a), MEM(b), MEM(parts)) {
  const INDEX all = (INDEX)(s.batch * s.n), blocks = (all + LANES - 1) / LANES, channels = (INDEX)s.channels;
  const INDEX tap_rows = (INDEX)(s.taps[0] * s.taps[1]), rows = (INDEX)(s.k / s.to[2]);
  EACH(item, (ulong)s.chunks * tap_rows * channels * blocks) {
    const INDEX i = (INDEX)item, first = i % blocks * LANES, r = i / blocks % channels;
    const INDEX tap = i / blocks / channels % tap_rows, chunk = i / blocks / channels / tap_rows;
    const INDEX lanes = min(all - first, (INDEX)LANES);
    W sum[TAPS][LANES];
    for (int t = 0; t < TAPS; ++t)
      for (int k = 0; k < LANES; ++k) sum[t][k] = 0;
    const INDEX last = (INDEX)((long)rows * (chunk + 1) / s.chunks);
    for (INDEX row = (INDEX)((long)rows * chunk / s.chunks); row < last; ++row) {
      const INDEX from = tap_row_of(&s, row_of(&s, row), tap / (INDEX)s.taps[1], tap % (INDEX)s.taps[1]);
      if (from >= 0)
        add_row(&s, POINTER(const STORED(T), a), POINTER(const STORED(T), b), row, from, r, first, lanes, sum);
    }
    __global W* to = POINTER(W, parts) + (long)chunk * s.batch * s.m * s.n;
    for (int t = 0; t < TAPS; ++t)
      for (INDEX k = 0; k < lanes; ++k)
        to[(GROUP(&s, first + k) * s.m + (tap * TAPS + t) * channels + r) * s.n + WITHIN(&s, first + k)] = sum[t][k];
  }
}
#endif
