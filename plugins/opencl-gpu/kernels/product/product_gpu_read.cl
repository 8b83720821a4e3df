// How a work-group of product_gpu.cl reads its blocks of a and b, BK deep. A work item reads units of four elements: along k,
// which go into the block one below the other, or across it, along m or n, which go as they are. What is the same for all
// blocks is worked out once (begin_), a block then costs additions (next_). Behind the last m or n there is anything that
// exists; behind the last k there are zeros. -D RM, RN, BK; INDEX: the integer that places in a and b fit into; VECTOR_A,
// VECTOR_B: units are whole and lie in a row of memory.
typedef V4(T) W4;

#define LM 16
#define LN 16
#define BM (LM * RM)
#define BN (LN * RN)
#define ITEMS (LM * LN)
#define UNITS(outer) (((outer) * (BK / 4) + ITEMS - 1) / ITEMS)
#define UNIT(item, u) ((item) + (u) * ITEMS)
#define IS_UNIT(outer, item, u) ((outer) * (BK / 4) % ITEMS == 0 || UNIT(item, u) < (outer) * (BK / 4))
#define ALONG_OUTER(item, u) (UNIT(item, u) / (BK / 4))
#define ALONG_K(item) ((item) % (BK / 4) * 4)
#define ACROSS_OUTER(outer, item) ((item) % ((outer) / 4) * 4)
#define ACROSS_K(outer, item, u) (UNIT(item, u) / ((outer) / 4))

#define A_UNITS UNITS(BM)
#define B_UNITS UNITS(BN)
#if A_IS == MATRIX || A_IS == WINDOWS
#define A_ALONG_K
#define A_LIES_ALONG_K 1
#else
#define A_LIES_ALONG_K 0
#endif
#ifdef B_ALONG_K
#define B_LIES_ALONG_K 1
#else
#define B_LIES_ALONG_K 0
#endif
#if A_IS == MATRIX || A_IS == MATRIX_T
#define A_IS_MATRIX
#endif

INLINE void put_along(W4 x, __local W* to, int pitch) {
  to[0] = x.s0, to[pitch] = x.s1, to[2 * pitch] = x.s2, to[3 * pitch] = x.s3;
}

// Units into a block [BK][outer + 4].
INLINE void put_units(const W4* from, int along_k, int outer, int item, __local W* to) {
  const int pitch = outer + 4;
#pragma unroll
  for (int u = 0; u < UNITS(outer); ++u) {
    if (!IS_UNIT(outer, item, u)) continue;
    if (along_k)
      put_along(from[u], to + (ALONG_K(item) * pitch + ALONG_OUTER(item, u)), pitch);
    else
      *(__local W4*)(to + (ACROSS_K(outer, item, u) * pitch + ACROSS_OUTER(outer, item))) = from[u];
  }
}

// An element and the next ones, `step` apart, of which there are `more`; zeros for the rest of the four.
INLINE W4 load_some(From x, INDEX at, INDEX step, INDEX more) {
  return (W4)(LOAD(T, x, at), more > 0 ? LOAD(T, x, at + step) : 0, more > 1 ? LOAD(T, x, at + 2 * step) : 0,
              more > 2 ? LOAD(T, x, at + 3 * step) : 0);
}

// What *low has beyond `size` goes to *high.
INLINE void carry(INDEX* low, INDEX* high, INDEX size) {
  if (*low < size) return;
  const INDEX whole = *low / size;
  *low -= whole * size;
  *high += whole;
}

// ---- a ----

typedef struct {
  INDEX m, k;  // of the first unit
#ifdef A_IS_MATRIX
  INDEX at[A_UNITS];
#else
  INDEX tap[3], channel;  // along k: of the units; across: of the first element
  INDEX image[A_UNITS], place[A_UNITS][3];
#endif
} ReadA;

#ifdef A_IS_MATRIX
INLINE void begin_a(const Product* s, ReadA* r, INDEX m0, INDEX k0, int item) {
  const INDEX row = (INDEX)s->a_row, column = (INDEX)s->a_column, last = (INDEX)s->m - 1;
#pragma unroll
  for (int u = 0; u < A_UNITS; ++u) {
#ifdef A_ALONG_K
    r->m = 0, r->k = k0 + ALONG_K(item);
    r->at[u] = min(m0 + ALONG_OUTER(item, u), last) * row + r->k * column;
#else
    r->m = min(m0 + ACROSS_OUTER(BM, item), last / 4 * 4), r->k = k0;
    r->at[u] = r->m * row + (k0 + ACROSS_K(BM, item, u)) * column;
#endif
  }
}

INLINE void next_a(const Product* s, ReadA* r) {
  r->k += BK;
#pragma unroll
  for (int u = 0; u < A_UNITS; ++u) r->at[u] += BK * (INDEX)s->a_column;
}

INLINE W4 unit_of_a(const Product* s, const ReadA* r, From a, int item, int u, INDEX last) {
#ifdef A_ALONG_K
  const INDEX step = (INDEX)s->a_column, more = last - r->k - 1;
  if (more < 0) return (W4)(0);
#else
  const INDEX step = (INDEX)s->a_row, more = (INDEX)s->m - r->m - 1;
  if (r->k + ACROSS_K(BM, item, u) >= last) return (W4)(0);
#endif
  const INDEX at = r->at[u];
#ifdef VECTOR_A
  return LOAD4(T, a + at);
#else
  return load_some(a, at, step, more);
#endif
}
#else

INLINE void tap_of(const Product* s, ReadA* r, INDEX run) {
  const INDEX t = run / (INDEX)s->channels, t1 = (INDEX)s->taps[1], t2 = (INDEX)s->taps[2];
  r->channel = run - t * (INDEX)s->channels;
  r->tap[0] = t / (t1 * t2), r->tap[1] = t / t2 % t1, r->tap[2] = t % t2;
}

INLINE void point_of(const Product* s, ReadA* r, int u, INDEX point) {
  const INDEX t1 = (INDEX)s->to[1], t2 = (INDEX)s->to[2], row = point / t2, plane = row / t1;
  r->place[u][2] = point - row * t2, r->place[u][1] = row - plane * t1;
  r->image[u] = plane / (INDEX)s->to[0], r->place[u][0] = plane % (INDEX)s->to[0];
}

INLINE void begin_a(const Product* s, ReadA* r, INDEX m0, INDEX k0, int item) {
  const INDEX last = (INDEX)s->m - 1;
#ifdef A_ALONG_K
  r->m = 0, r->k = k0 + ALONG_K(item);
  tap_of(s, r, r->k);
#else
  r->m = min(m0 + ACROSS_OUTER(BM, item), last / 4 * 4), r->k = k0;
  tap_of(s, r, r->m);
#endif
#pragma unroll
  for (int u = 0; u < A_UNITS; ++u) {
#ifdef A_ALONG_K
    point_of(s, r, u, min(m0 + ALONG_OUTER(item, u), last));
#else
    point_of(s, r, u, k0 + ACROSS_K(BM, item, u));
#endif
  }
}

INLINE void next_a(const Product* s, ReadA* r) {
  r->k += BK;
#ifdef A_ALONG_K
  r->channel += BK;
  carry(&r->channel, &r->tap[2], (INDEX)s->channels);
  carry(&r->tap[2], &r->tap[1], (INDEX)s->taps[2]);
  carry(&r->tap[1], &r->tap[0], (INDEX)s->taps[1]);
#else
#pragma unroll
  for (int u = 0; u < A_UNITS; ++u) {
    r->place[u][2] += BK;
    carry(&r->place[u][2], &r->place[u][1], (INDEX)s->to[2]);
    carry(&r->place[u][1], &r->place[u][0], (INDEX)s->to[1]);
    carry(&r->place[u][0], &r->image[u], (INDEX)s->to[0]);
  }
#endif
}

// Where a tap's first channel lies; negative: outside the image.
INLINE INDEX window_at(const Product* s, const ReadA* r, int u, const INDEX* tap) {
  INDEX at = r->image[u];
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    INDEX q = r->place[u][d] * (INDEX)s->up[d] + tap[d] * (INDEX)s->step[d] + (INDEX)s->shift[d];
    if (q < 0) return -1;
    if (s->down[d] != 1) {
      const INDEX whole = q / (INDEX)s->down[d];
      if (whole * (INDEX)s->down[d] != q) return -1;
      q = whole;
    }
    if (q >= (INDEX)s->from[d]) return -1;
    at = at * (INDEX)s->from[d] + q;
  }
  return at * (INDEX)s->pitch;
}

#ifdef VECTOR_A
INLINE W4 unit_of_a(const Product* s, const ReadA* r, From a, int item, int u, INDEX last) {
#ifdef A_ALONG_K
  if (r->k >= last) return (W4)(0);
#else
  if (r->k + ACROSS_K(BM, item, u) >= last) return (W4)(0);
#endif
  const INDEX at = window_at(s, r, u, r->tap);
  return at < 0 ? (W4)(0) : LOAD4(T, a + at + r->channel);
}
#else
INLINE W4 unit_of_a(const Product* s, const ReadA* r, From a, int item, int u, INDEX last) {
#ifdef A_ALONG_K
  const INDEX count = last - r->k;
#else
  const INDEX count = r->k + ACROSS_K(BM, item, u) < last ? (INDEX)s->m - r->m : 0;
#endif
  INDEX tap[3] = {r->tap[0], r->tap[1], r->tap[2]}, channel = r->channel, at = -1;
  W x[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    x[e] = 0;
    if (e >= count) continue;
    if (e == 0 || channel == 0) at = window_at(s, r, u, tap);
    if (at >= 0) x[e] = LOAD(T, a, at + channel);
    if (++channel < (INDEX)s->channels) continue;
    channel = 0, ++tap[2];
    if (tap[2] == (INDEX)s->taps[2]) tap[2] = 0, ++tap[1];
    if (tap[1] == (INDEX)s->taps[1]) tap[1] = 0, ++tap[0];
  }
  return (W4)(x[0], x[1], x[2], x[3]);
}
#endif
#endif

INLINE void read_a(const Product* s, const ReadA* r, From a, int item, INDEX last, W4* to) {
#pragma unroll
  for (int u = 0; u < A_UNITS; ++u)
    if (IS_UNIT(BM, item, u)) to[u] = unit_of_a(s, r, a, item, u, last);
}

// ---- b ----  -D B_ALONG_K: its units lie along k, whose runs of b_inner are b_outer_row apart

typedef struct {
  INDEX n, k, inner, outer;
  INDEX at[B_UNITS];
} ReadB;

INLINE void begin_b(const Product* s, ReadB* r, INDEX n0, INDEX k0, int item) {
  const INDEX last = (INDEX)s->n - 1, column = (INDEX)s->b_column;
#ifdef B_ALONG_K
  r->n = 0, r->k = k0 + ALONG_K(item);
  r->outer = r->k / (INDEX)s->b_inner, r->inner = r->k - r->outer * (INDEX)s->b_inner;
#pragma unroll
  for (int u = 0; u < B_UNITS; ++u) r->at[u] = min(n0 + ALONG_OUTER(item, u), last) * column;
#else
  r->n = min(n0 + ACROSS_OUTER(BN, item), last / 4 * 4), r->k = k0;
#pragma unroll
  for (int u = 0; u < B_UNITS; ++u)
    r->at[u] = (k0 + ACROSS_K(BN, item, u)) * (INDEX)s->b_row + r->n * column;
#endif
}

INLINE void next_b(const Product* s, ReadB* r) {
  r->k += BK;
#ifdef B_ALONG_K
  r->inner += BK;
  carry(&r->inner, &r->outer, (INDEX)s->b_inner);
#else
#pragma unroll
  for (int u = 0; u < B_UNITS; ++u) r->at[u] += BK * (INDEX)s->b_row;
#endif
}

#ifdef B_ALONG_K
INLINE W4 unit_of_b(const Product* s, const ReadB* r, From b, int item, int u, INDEX last) {
  if (r->k >= last) return (W4)(0);
  INDEX outer = r->outer, inner = r->inner;
  const INDEX row = (INDEX)s->b_row, outer_row = (INDEX)s->b_outer_row;
#ifdef VECTOR_B
  return LOAD4(T, b + (r->at[u] + outer * outer_row + inner));
#else
  W x[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    x[e] = r->k + e < last ? LOAD(T, b, r->at[u] + outer * outer_row + inner * row) : 0;
    if (++inner == (INDEX)s->b_inner) inner = 0, ++outer;
  }
  return (W4)(x[0], x[1], x[2], x[3]);
#endif
}
#else
INLINE W4 unit_of_b(const Product* s, const ReadB* r, From b, int item, int u, INDEX last) {
  if (r->k + ACROSS_K(BN, item, u) >= last) return (W4)(0);
  const INDEX at = r->at[u], more = (INDEX)s->n - r->n - 1;
#ifdef VECTOR_B
  return LOAD4(T, b + at);
#else
  return load_some(b, at, 1, more);
#endif
}
#endif

INLINE void read_b(const Product* s, const ReadB* r, From b, int item, INDEX last, W4* to) {
#pragma unroll
  for (int u = 0; u < B_UNITS; ++u)
    if (IS_UNIT(BN, item, u)) to[u] = unit_of_b(s, r, b, item, u, last);
}
