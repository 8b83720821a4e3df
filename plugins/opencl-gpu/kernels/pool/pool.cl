// Pools and their gradients, by windows of three spatial axes. -D T: dtype, KERNEL_name: that one alone. Fields as
// opencl_gpu::Pool has them (pools.cc).
typedef WIDE(T) W;
typedef const __global STORED(T) * From;
typedef struct {
  long batch, c;
  long x[3], y[3], window[3], stride[3], low[3];
  long count_pad;
} Pool;

#define INLINE static inline __attribute__((always_inline))

// Along one axis: the points [first, last) of x in window o.
typedef struct {
  long first, last;
} Span;
INLINE Span points_of(const Pool* s, int d, long o) {
  const long at = o * s->stride[d] - s->low[d];
  const Span points = {max(at, 0L), min(at + s->window[d], s->x[d])};
  return points;
}
// Those from window o up to the next, or to the end.
INLINE Span own_points(const Pool* s, int d, long o) {
  const Span points = {o * s->stride[d], o + 1 == s->y[d] ? s->x[d] : (o + 1) * s->stride[d]};
  return points;
}
// The windows of y that point q of x lies in.
INLINE Span windows_of(const Pool* s, int d, long q) {
  const long after = q + s->low[d] - s->window[d] + 1;
  const Span windows = {after <= 0 ? 0 : (after + s->stride[d] - 1) / s->stride[d],
                        min((q + s->low[d]) / s->stride[d] + 1, s->y[d])};
  return windows;
}
INLINE W count_of(const Pool* s, const Span* points) {
  if (s->count_pad) return s->window[0] * s->window[1] * s->window[2];
  return (points[0].last - points[0].first) * (points[1].last - points[1].first) * (points[2].last - points[2].first);
}

#define X_AT(i, j, k) (((image * s.x[0] + (i)) * s.x[1] + (j)) * s.x[2] + (k)) * s.c
#define Y_AT(i, j, k) (((image * s.y[0] + (i)) * s.y[1] + (j)) * s.y[2] + (k)) * s.c

#ifdef SHAPE_CPU  // a work item has whole points, and blocks of channels that stay in registers
#define BLOCK 32
#define EACH_POINT(at, points, image, o0, o1, o2, size)                                                 \
  EACH(at, (ulong)(points)) {                                                                           \
    const long image = at / (size[0] * size[1] * size[2]);                                              \
    const long o0 = at / (size[1] * size[2]) % size[0], o1 = at / size[2] % size[1], o2 = at % size[2]; \
    for (long c0 = 0; c0 < s.c; c0 += BLOCK) {                                                          \
      const int n = min((long)BLOCK, s.c - c0);
#define LANES for (int l = 0; l < n; ++l)
#define WHOLE_LANES for (int l = 0; l < BLOCK; ++l)
#define IS_WHOLE (n == BLOCK)
#else
#define BLOCK 1
#define EACH_POINT(at, points, image, o0, o1, o2, size)                                                 \
  EACH(at_c, (ulong)((points)*s.c)) {                                                                   \
    const long at = at_c / s.c, image = at / (size[0] * size[1] * size[2]), c0 = at_c % s.c;            \
    const long o0 = at / (size[1] * size[2]) % size[0], o1 = at / size[2] % size[1], o2 = at % size[2]; \
    {
#define LANES for (int l = 0; l < 1; ++l)
#define WHOLE_LANES LANES
#define IS_WHOLE 1
#endif
#define END_POINT \
  }               \
  }

#define EACH_OF(spans, i, j, k)                           \
  for (long i = spans[0].first; i < spans[0].last; ++i)   \
    for (long j = spans[1].first; j < spans[1].last; ++j) \
      for (long k = spans[2].first; k < spans[2].last; ++k)

#define FOLD(body)   \
  if (IS_WHOLE) {    \
    WHOLE_LANES body \
  } else {           \
    LANES body       \
  }

#ifdef KERNEL_pool
__kernel void pool(Pool s, MEM(x), MEM(y)) {
  From x = POINTER(const STORED(T), x);
  __global STORED(T)* y = POINTER(STORED(T), y);
  EACH_POINT(at, s.batch * s.y[0] * s.y[1] * s.y[2], image, o0, o1, o2, s.y)
  const Span points[3] = {points_of(&s, 0, o0), points_of(&s, 1, o1), points_of(&s, 2, o2)};
  W r[BLOCK];
#ifdef IS_MAX
  WHOLE_LANES r[l] = -INFINITY;
#else
  WHOLE_LANES r[l] = 0;
#endif
  EACH_OF(points, i, j, k) {
    From from = x + X_AT(i, j, k) + c0;
#ifdef IS_MAX
    FOLD({
      const W v = LOAD(T, from, l);
      r[l] = (r[l] >= v || r[l] != r[l]) ? r[l] : v;  // NaN wins
    })
#else
    FOLD({ r[l] += LOAD(T, from, l); })
#endif
  }
#ifndef IS_MAX
  const W count = count_of(&s, points);
  WHOLE_LANES r[l] /= count;
#endif
  LANES STORE(T, y, at * s.c + c0 + l, r[l]);
  END_POINT
}
#endif

#ifdef KERNEL_avg_pool_grad
// To each point of x from the windows that it lies in.
__kernel void avg_pool_grad(Pool s, MEM(dy), MEM(dx)) {
  From dy = POINTER(const STORED(T), dy);
  __global STORED(T)* dx = POINTER(STORED(T), dx);
  EACH_POINT(at, s.batch * s.x[0] * s.x[1] * s.x[2], image, q0, q1, q2, s.x)
  const Span windows[3] = {windows_of(&s, 0, q0), windows_of(&s, 1, q1), windows_of(&s, 2, q2)};
  W r[BLOCK];
  WHOLE_LANES r[l] = 0;
  EACH_OF(windows, i, j, k) {
    const Span points[3] = {points_of(&s, 0, i), points_of(&s, 1, j), points_of(&s, 2, k)};
    const W count = count_of(&s, points);
    From from = dy + Y_AT(i, j, k) + c0;
    FOLD({ r[l] += LOAD(T, from, l) / count; })
  }
  LANES STORE(T, dx, at * s.c + c0 + l, r[l]);
  END_POINT
}
#endif

#ifdef KERNEL_max_pool_grad
// Whether x is what a window with the maximum y sends its dy to, unless an earlier one is.
INLINE int is_winner(W x, W y) { return (x == y) | (x != x); }
#endif

#if defined(KERNEL_max_pool_grad) && defined(DISJOINT)
// No point is in two windows, and none before the first: each window sees to the points up to the next one.
__kernel void max_pool_grad(Pool s, MEM(x), MEM(y), MEM(dy), MEM(dx)) {
  From x = POINTER(const STORED(T), x), y = POINTER(const STORED(T), y), dy = POINTER(const STORED(T), dy);
  __global STORED(T)* dx = POINTER(STORED(T), dx);
  EACH_POINT(at, s.batch * s.y[0] * s.y[1] * s.y[2], image, o0, o1, o2, s.y)
  const Span points[3] = {points_of(&s, 0, o0), points_of(&s, 1, o1), points_of(&s, 2, o2)};
  const Span owned[3] = {own_points(&s, 0, o0), own_points(&s, 1, o1), own_points(&s, 2, o2)};
  From top = y + at * s.c + c0, g = dy + at * s.c + c0;
  int open[BLOCK];  // the winner is still to come
  WHOLE_LANES open[l] = 1;
  EACH_OF(owned, i, j, k) {
    const long to = X_AT(i, j, k) + c0;
    const int in_window = i < points[0].last && j < points[1].last && k < points[2].last;
    FOLD({
      const int takes = in_window & open[l] & is_winner(LOAD(T, x, to + l), LOAD(T, top, l));
      open[l] &= !takes;
      const W v = LOAD(T, g, l);
      STORE(T, dx, to + l, takes ? v : 0);
    })
  }
  END_POINT
}
#elif defined(KERNEL_max_pool_grad)
// A window's dy goes to the first winner: a point takes it where no earlier one of the window does.
__kernel void max_pool_grad(Pool s, MEM(x), MEM(y), MEM(dy), MEM(dx)) {
  From x = POINTER(const STORED(T), x), y = POINTER(const STORED(T), y), dy = POINTER(const STORED(T), dy);
  __global STORED(T)* dx = POINTER(STORED(T), dx);
  EACH_POINT(at, s.batch * s.x[0] * s.x[1] * s.x[2], image, q0, q1, q2, s.x)
  const Span windows[3] = {windows_of(&s, 0, q0), windows_of(&s, 1, q1), windows_of(&s, 2, q2)};
  From mine = x + at * s.c + c0;
  W r[BLOCK];
  WHOLE_LANES r[l] = 0;
  EACH_OF(windows, i, j, k) {
    const Span points[3] = {points_of(&s, 0, i), points_of(&s, 1, j), points_of(&s, 2, k)};
    const long window = Y_AT(i, j, k) + c0;
    int takes[BLOCK];
    FOLD({ takes[l] = is_winner(LOAD(T, mine, l), LOAD(T, y, window + l)); })
    EACH_OF(points, a, b, c) {
      const long from = X_AT(a, b, c) + c0;
      if (from >= (long)(at * s.c) + c0) break;
      FOLD({ takes[l] &= !is_winner(LOAD(T, x, from + l), LOAD(T, y, window + l)); })
    }
    FOLD({
      const W g = LOAD(T, dy, window + l);
      r[l] += takes[l] ? g : 0;
    })
  }
  LANES STORE(T, dx, at * s.c + c0 + l, r[l]);
  END_POINT
}
#endif
