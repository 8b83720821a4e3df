// argmax and cumsum along an axis of x [a, n, b]. X: dtype, ACC: of sums. FLOATS; UNSIGNED: type that integers are
// added in.
typedef WIDE(ACC) W;
typedef struct {
  ulong a, n, b;
} Lines;
#define LINE_OF(X_, name, line) (POINTER(X_, name) + ((line) / s.b * s.n * s.b + (line) % s.b))

#ifdef ARGMAX
// The first NaN wins, and of equals the first.
#ifdef MIN
#define BEATS(x, y) ((x) < (y) || ((x) != (x) && (y) == (y)))
#else
#define BEATS(x, y) ((x) > (y) || ((x) != (x) && (y) == (y)))
#endif
#define COMES_BEFORE(x, i, y, j) (BEATS(x, y) || (!BEATS(y, x) && (i) < (j)))

#ifdef SHAPE_CPU
#define LANES 16
__kernel void argmax(MEM(y), MEM(x), Lines s) {
  EACH(line, s.a * s.b) {
    const __global STORED(X)* x = LINE_OF(const STORED(X), x, line);
    W best[LANES];
    int at[LANES];
    const int first = (int)min(s.n, (ulong)LANES);
    for (int k = 0; k < first; ++k) best[k] = LOAD(X, x, k * s.b), at[k] = k;
    ulong i = LANES;
    for (; i + LANES <= s.n; i += LANES) {
      INDEPENDENT
      for (int k = 0; k < LANES; ++k) {
        const W v = LOAD(X, x, (i + k) * s.b);
        const int wins = BEATS(v, best[k]);
        best[k] = wins ? v : best[k];
        at[k] = wins ? (int)i + k : at[k];
      }
    }
    for (; i < s.n; ++i) {
      const W v = LOAD(X, x, i * s.b);
      if (BEATS(v, best[i % LANES])) best[i % LANES] = v, at[i % LANES] = (int)i;
    }
    for (int k = 1; k < first; ++k)
      if (COMES_BEFORE(best[k], at[k], best[0], at[0])) best[0] = best[k], at[0] = at[k];
    POINTER(int, y)[line] = at[0];
  }
}
#else
#define LANES 64
__kernel void argmax(MEM(y), MEM(x), Lines s) {
  __local W best[LANES];
  __local int at[LANES];
  const uint lane = get_local_id(0);
  for (ulong line = get_group_id(0); line < s.a * s.b; line += get_num_groups(0)) {
    const __global STORED(X)* x = LINE_OF(const STORED(X), x, line);
    if (lane < s.n) {
      W top = LOAD(X, x, lane * s.b);
      int place = lane;
      for (ulong i = lane + LANES; i < s.n; i += LANES) {
        const W v = LOAD(X, x, i * s.b);
        if (BEATS(v, top)) top = v, place = (int)i;
      }
      best[lane] = top, at[lane] = place;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint many = LANES / 2; many > 0; many /= 2) {
      if (lane < many && lane + many < s.n && COMES_BEFORE(best[lane + many], at[lane + many], best[lane], at[lane]))
        best[lane] = best[lane + many], at[lane] = at[lane + many];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) POINTER(int, y)[line] = at[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif
#else
#ifdef FLOATS
#define PLUS(a, b) ((a) + (b))
#else
#define PLUS(a, b) ((W)((UNSIGNED)(a) + (UNSIGNED)(b)))
#endif

#ifdef SHAPE_CPU
#define LANES 64
__kernel void cumsum(MEM(y), MEM(x), Lines s, int exclusive, int reverse) {
  const ulong blocks = (s.b + LANES - 1) / LANES;
  EACH(block, s.a * blocks) {
    const ulong column = block % blocks * LANES, lanes = min((ulong)LANES, s.b - column);
    const ulong first = block / blocks * s.n * s.b + column;
    const __global STORED(X)* x = POINTER(const STORED(X), x) + first;
    __global STORED(X)* y = POINTER(STORED(X), y) + first;
    W sum[LANES];
    for (int k = 0; k < LANES; ++k) sum[k] = 0;
    for (ulong step = 0; step < s.n; ++step) {
      const ulong i = (reverse ? s.n - 1 - step : step) * s.b;
      INDEPENDENT
      for (ulong k = 0; k < lanes; ++k) {
        const W before = sum[k], after = PLUS(before, LOAD(X, x, i + k));
        STORE(X, y, i + k, exclusive ? before : after);
        sum[k] = after;
      }
    }
  }
}
#else
#define LANES 64
__kernel void cumsum(MEM(y), MEM(x), Lines s, int exclusive, int reverse) {
  __local W sums[LANES];
  const uint lane = get_local_id(0);
  for (ulong line = get_group_id(0); line < s.a * s.b; line += get_num_groups(0)) {
    const __global STORED(X)* x = LINE_OF(const STORED(X), x, line);
    __global STORED(X)* y = LINE_OF(STORED(X), y, line);
    W carried = 0;
    for (ulong first = 0; first < s.n; first += LANES) {
      const ulong step = first + lane, i = (reverse ? s.n - 1 - step : step) * s.b;
      W sum = step < s.n ? LOAD(X, x, i) : 0;
      sums[lane] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint by = 1; by < LANES; by *= 2) {
        if (lane >= by) sum = PLUS(sum, sums[lane - by]);
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[lane] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      const W before = lane ? PLUS(carried, sums[lane - 1]) : carried;
      if (step < s.n) STORE(X, y, i, exclusive ? before : PLUS(carried, sum));
      carried = PLUS(carried, sums[LANES - 1]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
#endif
#endif
