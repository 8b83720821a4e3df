#ifdef ROOT
__kernel void root(MEM(y), MEM(x)) {
  STORE(ROOT, POINTER(STORED(ROOT), y), 0, sqrt(LOAD(ROOT, POINTER(const STORED(ROOT), x), 0)));
}
#else
// Folds x[a, r, b] into y[a, pieces, b] of dtype TO: piece p is rows [p * length, (p + 1) * length). ACC: dtype that is
// computed with. KIND_sum, _prod, _max, _min. x: elements of dtype FROM, of each of which MAP is taken, or what a map
// in front of this file makes (PARAMETERS and the rest: map.cl): its VALUES define `folded`.
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

#ifndef PARAMETERS
#define PARAMETERS MEM(x)
#define POINTERS const __global STORED(FROM)* elements = POINTER(const STORED(FROM), x);
#define RUN(i, n) (n)
#define BASES(i)
#define VALUES(i, k) const Sum x = (Sum)LOAD(FROM, elements, (i) + (k)); const Sum folded = MAP;
#define STORES(i, k)
#endif

#ifdef SHAPE_CPU
#define LANES 64
__kernel void fold_rows(MEM(y), PARAMETERS, Shape s) {
  POINTERS
  EACH(row, s.a * s.pieces) {
    const ulong from = row % s.pieces * s.length, n = min(s.length, s.r - from), start = row / s.pieces * s.r + from;
    Sum sum[LANES];
    if (n < LANES) {
      for (ulong done = 0, run; done < n; done += run) {
        const ulong at = start + done;
        run = RUN(at, n - done);
        BASES(at)
        INDEPENDENT
        for (ulong k = 0; k < run; ++k) {
          VALUES(at, k)
          STORES(at, k)
          sum[done + k] = folded;
        }
      }
      Sum all_of_it = IDENTITY;
      for (ulong k = 0; k < n; ++k) all_of_it = COMBINE(all_of_it, sum[k]);
      STORE(TO, POINTER(STORED(TO), y), row, all_of_it);
      continue;
    }
    for (int k = 0; k < LANES; ++k) sum[k] = IDENTITY;
    for (ulong done = 0, run; done < n; done += run) {
      const ulong at = start + done;
      run = RUN(at, n - done);
      BASES(at)
      ulong first = 0;
      for (; first + LANES <= run; first += LANES) {
        INDEPENDENT
        for (int k = 0; k < LANES; ++k) {
          VALUES(at, first + k)
          STORES(at, first + k)
          sum[k] = COMBINE(sum[k], folded);
        }
      }
      INDEPENDENT
      for (ulong k = 0; k < run - first; ++k) {
        VALUES(at, first + k)
        STORES(at, first + k)
        sum[k] = COMBINE(sum[k], folded);
      }
    }
    for (int half_way = LANES / 2; half_way > 0; half_way /= 2)
      for (int k = 0; k < half_way; ++k) sum[k] = COMBINE(sum[k], sum[k + half_way]);
    STORE(TO, POINTER(STORED(TO), y), row, sum[0]);
  }
}

#define WIDTH 256
// Columns in blocks; where all fit in one, several rows are taken together.
__kernel void fold_columns(MEM(y), PARAMETERS, Shape s) {
  POINTERS
  const ulong blocks = (s.b + WIDTH - 1) / WIDTH, together = max((ulong)1, WIDTH / s.b);
  EACH(i, s.a * s.pieces * blocks) {
    const ulong p = i / blocks % s.pieces, c = i % blocks * WIDTH, columns = min((ulong)WIDTH, s.b - c);
    const ulong from = p * s.length, rows = min(s.length, s.r - from), lanes = columns * together;
    const ulong start = (i / (blocks * s.pieces) * s.r + from) * s.b + c;
    Sum sum[WIDTH];
    for (ulong k = 0; k < lanes; ++k) sum[k] = IDENTITY;
    for (ulong r = 0; r < rows; r += together) {
      const ulong n = min(lanes, (rows - r) * columns);
      for (ulong done = 0, run; done < n; done += run) {
        const ulong at = start + r * s.b + done;
        run = RUN(at, n - done);
        BASES(at)
        INDEPENDENT
        for (ulong k = 0; k < run; ++k) {
          VALUES(at, k)
          STORES(at, k)
          sum[done + k] = COMBINE(sum[done + k], folded);
        }
      }
    }
    for (ulong t = 1; t < together; ++t)
      for (ulong k = 0; k < columns; ++k) sum[k] = COMBINE(sum[k], sum[k + t * columns]);
    __global STORED(TO)* y = POINTER(STORED(TO), y) + i / blocks * s.b + c;
    for (ulong k = 0; k < columns; ++k) STORE(TO, y, k, sum[k]);
  }
}
#else
#define LANES 128
__kernel void fold_rows(MEM(y), PARAMETERS, Shape s) {
  POINTERS
  __local Sum sums[LANES];
  const uint lane = get_local_id(0);
  for (ulong row = get_group_id(0); row < s.a * s.pieces; row += get_num_groups(0)) {
    const ulong from = row % s.pieces * s.length, n = min(s.length, s.r - from), start = row / s.pieces * s.r + from;
    Sum sum = IDENTITY;
    for (ulong k = lane; k < n; k += LANES) {
      BASES(start + k)
      VALUES(start + k, 0)
      STORES(start + k, 0)
      sum = COMBINE(sum, folded);
    }
    sums[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
      if (lane < half_way) sums[lane] = COMBINE(sums[lane], sums[lane + half_way]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) STORE(TO, POINTER(STORED(TO), y), row, sums[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void fold_columns(MEM(y), PARAMETERS, Shape s) {
  POINTERS
  EACH(column, s.a * s.pieces * s.b) {
    const ulong ap = column / s.b, from = ap % s.pieces * s.length, n = min(s.length, s.r - from);
    const ulong start = (ap / s.pieces * s.r + from) * s.b + column % s.b;
    Sum sum = IDENTITY;
    for (ulong k = 0; k < n; ++k) {
      BASES(start + k * s.b)
      VALUES(start + k * s.b, 0)
      STORES(start + k * s.b, 0)
      sum = COMBINE(sum, folded);
    }
    STORE(TO, POINTER(STORED(TO), y), column, sum);
  }
}
#endif
#endif
