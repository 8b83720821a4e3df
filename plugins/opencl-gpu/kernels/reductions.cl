#ifdef ROOT
__kernel void root(MEM(y), MEM(x)) { STORE(ROOT, POINTER(STORED(ROOT), y), 0, sqrt(LOAD(ROOT, POINTER(const STORED(ROOT), x), 0))); }
#else
// Folds x[a, r, b], elements of dtype FROM, into y[a, pieces, b] of dtype TO: piece p is rows [p * length, (p + 1) * length).
// ACC: dtype that is computed with. KIND_sum, _prod, _max, _min. MAP: of each element x.
typedef struct {
  ulong a, r, b, pieces, length;
} Shape;

typedef WIDE(ACC) Sum;

#ifdef FLOATS
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define LARGER(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#else
#define PLUS(a, b) ((Sum)((UNSIGNED)(a) + (UNSIGNED)(b)))
#define TIMES(a, b) ((Sum)((UNSIGNED)(a) * (UNSIGNED)(b)))
#define LARGER(a, b) max(a, b)
#define SMALLER(a, b) min(a, b)
#endif

#if defined(KIND_sum)
#define COMBINE PLUS
#elif defined(KIND_prod)
#define COMBINE TIMES
#elif defined(KIND_max)
#define COMBINE LARGER
#else
#define COMBINE SMALLER
#endif

static inline Sum element(const __global STORED(FROM) * p, ulong i) {
  const Sum x = (Sum)LOAD(FROM, p, i);
  return MAP;
}

#ifdef SHAPE_CPU
#define LANES 64
static inline Sum fold_run(const __global STORED(FROM) * x, ulong n) {
  if (n < LANES) {
    Sum sum = IDENTITY;
    for (ulong i = 0; i < n; ++i) sum = COMBINE(sum, element(x, i));
    return sum;
  }
  Sum sum[LANES];
  for (int k = 0; k < LANES; ++k) sum[k] = element(x, k);
  ulong i = LANES;
  for (; i + LANES <= n; i += LANES) {
    INDEPENDENT
    for (int k = 0; k < LANES; ++k) sum[k] = COMBINE(sum[k], element(x, i + k));
  }
  for (int k = 0; i < n; ++i, ++k) sum[k] = COMBINE(sum[k], element(x, i));
  for (int half_way = LANES / 2; half_way > 0; half_way /= 2)
    for (int k = 0; k < half_way; ++k) sum[k] = COMBINE(sum[k], sum[k + half_way]);
  return sum[0];
}

__kernel void fold_rows(MEM(y), MEM(x), Shape s) {
  EACH(i, s.a * s.pieces) {
    const ulong from = i % s.pieces * s.length;
    const Sum sum = fold_run(POINTER(const STORED(FROM), x) + i / s.pieces * s.r + from, min(s.length, s.r - from));
    STORE(TO, POINTER(STORED(TO), y), i, sum);
  }
}

#define WIDTH 256
// Columns in blocks; where all fit in one, several rows are taken together.
__kernel void fold_columns(MEM(y), MEM(x), Shape s) {
  const ulong blocks = (s.b + WIDTH - 1) / WIDTH, together = max((ulong)1, WIDTH / s.b);
  EACH(i, s.a * s.pieces * blocks) {
    const ulong p = i / blocks % s.pieces, c = i % blocks * WIDTH, columns = min((ulong)WIDTH, s.b - c);
    const ulong from = p * s.length, rows = min(s.length, s.r - from), lanes = columns * together;
    const __global STORED(FROM)* x = POINTER(const STORED(FROM), x) + (i / (blocks * s.pieces) * s.r + from) * s.b + c;
    Sum sum[WIDTH];
    for (ulong k = 0; k < lanes; ++k) sum[k] = IDENTITY;
    for (ulong r = 0; r < rows; r += together) {
      const __global STORED(FROM)* row = x + r * s.b;
      const ulong n = min(lanes, (rows - r) * columns);
      INDEPENDENT
      for (ulong k = 0; k < n; ++k) sum[k] = COMBINE(sum[k], element(row, k));
    }
    for (ulong t = 1; t < together; ++t)
      for (ulong k = 0; k < columns; ++k) sum[k] = COMBINE(sum[k], sum[k + t * columns]);
    __global STORED(TO)* y = POINTER(STORED(TO), y) + i / blocks * s.b + c;
    for (ulong k = 0; k < columns; ++k) STORE(TO, y, k, sum[k]);
  }
}
#else
#define LANES 128
__kernel void fold_rows(MEM(y), MEM(x), Shape s) {
  __local Sum sums[LANES];
  const uint lane = get_local_id(0);
  for (ulong i = get_group_id(0); i < s.a * s.pieces; i += get_num_groups(0)) {
    const ulong from = i % s.pieces * s.length, n = min(s.length, s.r - from);
    const __global STORED(FROM)* x = POINTER(const STORED(FROM), x) + i / s.pieces * s.r + from;
    Sum sum = IDENTITY;
    for (ulong k = lane; k < n; k += LANES) sum = COMBINE(sum, element(x, k));
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
      if (lane < half_way) sums[lane] = COMBINE(sums[lane], sums[lane + half_way]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) STORE(TO, POINTER(STORED(TO), y), i, sums[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void fold_columns(MEM(y), MEM(x), Shape s) {
  EACH(i, s.a * s.pieces * s.b) {
    const ulong ap = i / s.b, from = ap % s.pieces * s.length, n = min(s.length, s.r - from);
    const __global STORED(FROM)* x = POINTER(const STORED(FROM), x) + (ap / s.pieces * s.r + from) * s.b + i % s.b;
    Sum sum = IDENTITY;
    for (ulong k = 0; k < n; ++k) sum = COMBINE(sum, element(x, k * s.b));
    STORE(TO, POINTER(STORED(TO), y), i, sum);
  }
}
#endif
#endif
