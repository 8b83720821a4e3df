// gather y[b,p,j,s] = x[b,p,i[b,j],s], scatter and sort. I: int or long, of indices.
typedef struct {
  ulong b, p, j, s, n;
} IndexShape;

#ifdef I
static inline int inside(long i, ulong n) { return i >= 0 && (ulong)i < n; }

#ifdef GATHER
// E: an unsigned integer of an element's width. Rows of s elements are cut in `cuts` parts of `part`.
__kernel void gather(MEM(y), MEM(x), MEM(index), IndexShape g, ulong cuts, ulong part) {
  const __global I* index = POINTER(const I, index);
  const __global E* all = POINTER(const E, x);
  __global E* result = POINTER(E, y);
#ifdef SHAPE_CPU
  if (g.s == 1) {
    EACH(r, g.b * g.p * g.j) {
      const ulong bp = r / g.j;
      const long i = index[bp / g.p * g.j + r % g.j];
      result[r] = inside(i, g.n) ? all[bp * g.n + (ulong)i] : 0;
    }
    return;
  }
  EACH(k, g.b * g.p * g.j * cuts) {
    const ulong r = k / cuts, bp = r / g.j, from = k % cuts * part, m = min(part, g.s - from);
    const long i = index[bp / g.p * g.j + r % g.j];
    __global E* y = result + r * g.s + from;
    const int there = inside(i, g.n);
    const __global E* x = all + (there ? (bp * g.n + (ulong)i) * g.s + from : 0);
    if (there) {
      INDEPENDENT
      for (ulong s = 0; s < m; ++s) y[s] = x[s];
    } else {
      INDEPENDENT
      for (ulong s = 0; s < m; ++s) y[s] = 0;
    }
  }
#else
  EACH(k, g.b * g.p * g.j * g.s) {
    const ulong r = k / g.s, bp = r / g.j;
    const long i = index[bp / g.p * g.j + r % g.j];
    result[k] = inside(i, g.n) ? all[(bp * g.n + (ulong)i) * g.s + k % g.s] : 0;
  }
#endif
}
#endif

#ifdef CHAINS
// For each of n rows the j that name it, in their order: head[row], next[that], ..; -1 ends. A work item goes over all j for
// its part of the rows.
__kernel void chains(MEM(chains), MEM(index), ulong n, ulong j, ulong parts) {
  __global int *head = POINTER(int, chains), *next = head + n;
  const __global I* index = POINTER(const I, index);
  EACH(part, parts) {
    const long begin = (long)(n * part / parts), end = (long)(n * (part + 1) / parts);
    for (long row = begin; row < end; ++row) head[row] = -1;
    for (long k = (long)j - 1; k >= 0; --k) {
      const long row = index[k];
      if (row < begin || row >= end) continue;
      next[k] = head[row];
      head[row] = (int)k;
    }
  }
}
#endif

#ifdef SCATTER
// y[b,p,i[b,j],s] becomes PUT(it, u[b,p,j,s]) in the order of j; y holds Y, u elements of dtype D.
#ifdef SHAPE_CPU
// A work item has `part` of the s columns of one (b, p), and goes over all j.
__kernel void scatter(MEM(y), MEM(index), MEM(u), IndexShape g, ulong cuts, ulong part) {
  const __global I* index = POINTER(const I, index);
  EACH(k, g.b * g.p * cuts) {
    const ulong bp = k / cuts, from = k % cuts * part, m = min(part, g.s - from);
    __global Y* y = POINTER(Y, y) + bp * g.n * g.s + from;
    const __global STORED(D)* u = POINTER(const STORED(D), u) + bp * g.j * g.s + from;
    for (ulong j = 0; j < g.j; ++j) {
      const long i = index[bp / g.p * g.j + j];
      if (!inside(i, g.n)) continue;
      __global Y* to = y + (ulong)i * g.s;
      const __global STORED(D)* with = u + j * g.s;
      INDEPENDENT
      for (ulong s = 0; s < m; ++s) to[s] = PUT(to[s], with[s]);
    }
  }
}
#else
// A work-group has `part` of the n rows of one (b, p), and LANES columns of them; it looks at all indices, in their order.
// With few columns, lanes share the rows.
#define LANES 64
__kernel void scatter(MEM(y), MEM(index), MEM(u), IndexShape g, ulong cuts, ulong part) {
  __local long seen[LANES];
  const uint lane = get_local_id(0);
  const ulong wide = min(g.s, (ulong)LANES), blocks = (g.s + LANES - 1) / LANES, classes = LANES / wide;
  for (ulong k = get_group_id(0); k < g.b * g.p * cuts * blocks; k += get_num_groups(0)) {
    const ulong bp = k / (cuts * blocks), row = k / blocks % cuts * part, end = min(g.n, row + part);
    const ulong column = k % blocks * LANES + lane % wide, mine = lane / wide;
    const int works = column < g.s && mine < classes;
    __global Y* y = POINTER(Y, y) + bp * g.n * g.s + column;
    const __global STORED(D)* u = POINTER(const STORED(D), u) + bp * g.j * g.s + column;
    const __global I* index = POINTER(const I, index) + bp / g.p * g.j;
    for (ulong first = 0; first < g.j; first += LANES) {
      const ulong some = min((ulong)LANES, g.j - first);
      if (lane < some) seen[lane] = index[first + lane];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (ulong j = 0; j < some; ++j) {
        const long i = seen[j];
        if (works && i >= (long)row && i < (long)end && (ulong)i % classes == mine)
          y[(ulong)i * g.s] = PUT(y[(ulong)i * g.s], u[(first + j) * g.s]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
#endif
#endif
#endif

#ifdef WIDEN
// Sums of 16-bit floats are kept in f32, and rounded once.
__kernel void widen(MEM(y), MEM(x), ulong n) {
  __global float* y = POINTER(float, y);
  const __global STORED(D)* x = POINTER(const STORED(D), x);
  INDEPENDENT
  EACH(i, n) y[i] = LOAD(D, x, i);
}
__kernel void narrow(MEM(y), MEM(x), ulong n) {
  __global STORED(D)* y = POINTER(STORED(D), y);
  const __global float* x = POINTER(const float, x);
  INDEPENDENT
  EACH(i, n) STORE(D, y, i, x[i]);
}
#endif

#ifdef SORT
// Rows of n elements of dtype D; what is sorted are their places. NaN stands above infinity; equals keep their order.
static inline int below(WIDE(D) a, WIDE(D) b) {
#ifdef FLOATS
  return a < b || (a == a && b != b);
#else
  return a < b;
#endif
}
static inline int before(WIDE(D) a, WIDE(D) b) { return DESCENDING ? below(b, a) : below(a, b); }

// The first k of each row, k small, by inserting.
#define MOST 16
__kernel void first_few(MEM(values), MEM(places), MEM(x), ulong rows, ulong n, ulong k) {
  EACH(r, rows) {
    const __global STORED(D)* x = POINTER(const STORED(D), x) + r * n;
    WIDE(D) best[MOST];
    int place[MOST];
    ulong held = 0;
    for (ulong i = 0; i < n; ++i) {
      const WIDE(D) v = LOAD(D, x, i);
      if (held == k && !before(v, best[k - 1])) continue;
      ulong at = held < k ? held++ : k - 1;
      for (; at > 0 && before(v, best[at - 1]); --at) {
        best[at] = best[at - 1];
        place[at] = place[at - 1];
      }
      best[at] = v;
      place[at] = (int)i;
    }
    for (ulong i = 0; i < k; ++i) {
      POINTER(STORED(D), values)[r * k + i] = x[place[i]];
      POINTER(int, places)[r * k + i] = place[i];
    }
  }
}

// Runs of `run` places, sorted, become runs of twice that: `from` to `to`. run = 1: places count from 0.
#ifdef SHAPE_CPU
__kernel void merge(MEM(to), MEM(from), MEM(x), ulong rows, ulong n, ulong run) {
  const ulong pairs = (n + 2 * run - 1) / (2 * run);
  EACH(k, rows * pairs) {
    const ulong r = k / pairs, begin = k % pairs * 2 * run, middle = min(n, begin + run), end = min(n, begin + 2 * run);
    const __global STORED(D)* x = POINTER(const STORED(D), x) + r * n;
    const __global int* from = POINTER(const int, from) + r * n;
    __global int* to = POINTER(int, to) + r * n;
    ulong a = begin, b = middle;
    for (ulong i = begin; i < end; ++i) {
      const int left = a < middle ? (run == 1 ? (int)a : from[a]) : -1, right = b < end ? (run == 1 ? (int)b : from[b]) : -1;
      const int takes_left = right < 0 || (left >= 0 && !before(LOAD(D, x, right), LOAD(D, x, left)));
      to[i] = takes_left ? left : right;
      a += takes_left;
      b += !takes_left;
    }
  }
}
#else
// Each element looks up how many of the other run come before it.
__kernel void merge(MEM(to), MEM(from), MEM(x), ulong rows, ulong n, ulong run) {
  EACH(k, rows * n) {
    const ulong r = k / n, i = k % n, begin = i / (2 * run) * 2 * run, middle = min(n, begin + run);
    const __global STORED(D)* x = POINTER(const STORED(D), x) + r * n;
    const __global int* from = POINTER(const int, from) + r * n;
    const int place = run == 1 ? (int)i : from[i], is_left = i < middle;
    const WIDE(D) v = LOAD(D, x, place);
    ulong low = is_left ? middle : begin, high = is_left ? min(n, begin + 2 * run) : middle;
    const ulong other = low;
    while (low < high) {
      const ulong half_way = (low + high) / 2;
      const WIDE(D) w = LOAD(D, x, run == 1 ? (int)half_way : from[half_way]);
      if (is_left ? before(w, v) : !before(v, w))
        low = half_way + 1;
      else
        high = half_way;
    }
    POINTER(int, to)[r * n + begin + (i - (is_left ? begin : middle)) + (low - other)] = place;
  }
}
#endif

// The first k by sorted places.
__kernel void take(MEM(values), MEM(places), MEM(from), MEM(x), ulong rows, ulong n, ulong k, int sorted) {
  EACH(i, rows * k) {
    const ulong r = i / k;
    const int place = sorted ? POINTER(const int, from)[r * n + i % k] : (int)(i % k);
    POINTER(STORED(D), values)[i] = POINTER(const STORED(D), x)[r * n + (ulong)place];
    POINTER(int, places)[i] = place;
  }
}
#endif
