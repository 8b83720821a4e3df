// What convolutions behind which a 2 x 2 max-pool stands, and their gradients, have in common, on CPU devices. The map
// between the two is in no memory: a byte of each window says which of its four places won. -D VW: floats of a vector.
#define INLINE static inline __attribute__((always_inline))
#define V JOIN(float, VW)
#define I JOIN(int, VW)
#define GET JOIN(vload, VW)
#ifdef __clang__  // PoCL's vstore16 stores four quarters, for which a load soon after waits
typedef V Unaligned __attribute__((aligned(4)));
#define PUT(x, j, p) (*(__global Unaligned*)((p) + (j)*VW) = (x))
#else
#define PUT JOIN(vstore, VW)
#endif
#define TO_BYTES JOIN(convert_uchar, VW)
#define TO_INTS JOIN(convert_int, VW)
typedef __global float* Room;
typedef const __global float* From;

// Fields as opencl_gpu::Pooled has them.
typedef struct {
  long images, from_rows, from_columns, c;  // of x
  long rows, columns, n;                    // of the windows
  long tap_rows, tap_columns, stride_row, stride_column, low_row, low_column;
  long band, chunks;    // rows of windows at once; sums that are added up at the end
  long run, padded;     // floats of a row of taps, and with whole vectors
  float floor;
  int bias;
} Pooled;

// x as windows see it, zeros around it: rows of `columns_of` points, where the windows' first has its first tap.
INLINE long columns_of(const Pooled* s) { return (2 * s->columns - 1) * s->stride_column + s->tap_columns; }
INLINE long rows_of(const Pooled* s, long windows) { return (2 * windows - 1) * s->stride_row + s->tap_rows; }

// Those of `count` rows of windows from `first` on; `columns`: at least columns_of.
INLINE void copy_source(const Pooled* s, From image, long first, long count, long columns, Room to) {
  const long before = s->low_column, from = max(-before, 0L);
  const long inside = min(s->from_columns - from, columns - max(before, 0L)) * s->c, lead = max(before, 0L) * s->c;
  for (long r = 0; r < rows_of(s, count); ++r, to += columns * s->c) {
    const long row = 2 * first * s->stride_row - s->low_row + r;
    const int there = row >= 0 && row < s->from_rows && inside > 0;
    const long end = there ? lead + inside : 0;
    for (long i = 0; i < min(lead, columns * s->c); ++i) to[i] = 0;
    From x = image + (row * s->from_columns + from) * s->c - lead;
    for (long i = lead; i < end; ++i) to[i] = x[i];
    for (long i = max(end, lead); i < columns * s->c; ++i) to[i] = 0;
  }
}

// The first tap, in the copy of x, that the winner of a window saw; and the window's dy.
typedef struct {
  int at;
  float dy;
} Winner;

// For each of n filters the winners of `count` rows of windows, `room` of them each; without those whose dy is 0. What
// is written and not counted is written over: no branch.
INLINE void list_winners(const Pooled* s, From dp, const __global uchar* winner, long count, __global Winner* lists,
                         long room, __global int* counts) {
  const int right = (int)(s->stride_column * s->c), down = (int)(s->stride_row * columns_of(s) * s->c);
  for (long o = 0; o < s->n; ++o) counts[o] = 0;
  for (long row = 0; row < count; ++row)
    for (long column = 0; column < s->columns; ++column, dp += s->n, winner += s->n) {
      const int first = (int)(row * 2) * down + (int)(column * 2) * right;
      __global Winner* to = lists;
      for (long o = 0; o < s->n; ++o, to += room) {
        const int place = winner[o], at = first + (place & 1) * right + (place >> 1) * down, n = counts[o];
        to[n].at = at;
        to[n].dy = dp[o];
        counts[o] = n + (dp[o] != 0);
      }
    }
}
