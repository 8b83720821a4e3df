// Elements on the move: E is an unsigned integer of their width. D, in iota, a dtype.

// A box of elements walked in row-major order, with strides in y and in x; axes below `first` are not there.
typedef struct {
  ulong n[8];
  long y_stride[8], x_stride[8];
  long y_start, x_start;
  int first, unused;
} Box;

// Where box row r, of all axes but the last, begins.
static inline void row_start(const Box* b, ulong r, long* y, long* x) {
  *y = b->y_start;
  *x = b->x_start;
  for (int d = 6; d >= b->first; --d) {
    ulong i = r % b->n[d];
    r /= b->n[d];
    *y += (long)i * b->y_stride[d];
    *x += (long)i * b->x_stride[d];
  }
}

#ifdef E
// Boxes that are alike go side by side in y, `apart` elements from one to the next.
#define MOST_JOINED 8
#define JOINED_PARAMETERS                                                                                 \
  MEM(y), MEM(x0), MEM(x1), MEM(x2), MEM(x3), MEM(x4), MEM(x5), MEM(x6), MEM(x7), Box b, ulong boxes, ulong apart
#define JOINED_SOURCES                                                                                   \
  const __global E* const sources[MOST_JOINED] = {                                                       \
      POINTER(const E, x0), POINTER(const E, x1), POINTER(const E, x2), POINTER(const E, x3),            \
      POINTER(const E, x4), POINTER(const E, x5), POINTER(const E, x6), POINTER(const E, x7)};
#ifdef SHAPE_CPU
__kernel void join(JOINED_PARAMETERS, ulong rows) {
  JOINED_SOURCES
  const long step_y = b.y_stride[7], step_x = b.x_stride[7];
  EACH(i, rows * boxes) {
    long at_y, at_x;
    row_start(&b, i / boxes, &at_y, &at_x);
    __global E* y = POINTER(E, y) + at_y + (long)(i % boxes * apart);
    const __global E* x = sources[i % boxes] + at_x;
    if (step_y == 1 && step_x == 1) {
      INDEPENDENT
      for (ulong k = 0; k < b.n[7]; ++k) y[k] = x[k];
    } else {
      for (ulong k = 0; k < b.n[7]; ++k) y[(long)k * step_y] = x[(long)k * step_x];
    }
  }
}

// Rows are cut in `cuts` parts of `part` elements.
__kernel void move(MEM(y), MEM(x), Box b, ulong rows, ulong cuts, ulong part) {
  const long step_y = b.y_stride[7], step_x = b.x_stride[7];
  EACH(i, rows * cuts) {
    long at_y, at_x;
    row_start(&b, i / cuts, &at_y, &at_x);
    ulong from = i % cuts * part, n = min(part, b.n[7] - from);
    __global E* y = POINTER(E, y) + at_y + (long)from * step_y;
    const __global E* x = POINTER(const E, x) + at_x + (long)from * step_x;
    if (step_y == 1 && step_x == 1) {
      INDEPENDENT
      for (ulong k = 0; k < n; ++k) y[k] = x[k];
    } else if (step_y == 1 && step_x == 0) {
      const E value = *x;
      INDEPENDENT
      for (ulong k = 0; k < n; ++k) y[k] = value;
    } else {
      for (ulong k = 0; k < n; ++k) y[(long)k * step_y] = x[(long)k * step_x];
    }
  }
}

// x's neighbours lie along axis 6, y's along axis 7: tiles of those two, so that neither is walked in long strides.
#define TILE 16
__kernel void move_tiles(MEM(y), MEM(x), Box b, ulong outer) {
  const ulong n = b.n[6], m = b.n[7], across = (n + TILE - 1) / TILE, along = (m + TILE - 1) / TILE;
  const long step_y = b.y_stride[6], step_x = b.x_stride[7];
  EACH(i, outer * across * along) {
    long at_y, at_x;
    row_start(&b, i / (across * along) * n, &at_y, &at_x);
    const ulong row = i / along % across * TILE, column = i % along * TILE;
    const ulong rows = min((ulong)TILE, n - row), columns = min((ulong)TILE, m - column);
    __global E* y = POINTER(E, y) + at_y + (long)row * step_y + (long)column;
    const __global E* x = POINTER(const E, x) + at_x + (long)row + (long)column * step_x;
    for (ulong r = 0; r < rows; ++r) {
      INDEPENDENT
      for (ulong c = 0; c < columns; ++c) y[(long)r * step_y + (long)c] = x[(long)r + (long)c * step_x];
    }
  }
}
#else
__kernel void join(JOINED_PARAMETERS, ulong rows) {
  JOINED_SOURCES
  const ulong n = b.n[7];
  EACH(i, rows * n * boxes) {
    const ulong box = i / (rows * n), element = i % (rows * n);
    long at_y, at_x;
    row_start(&b, element / n, &at_y, &at_x);
    (POINTER(E, y))[at_y + (long)(element % n) * b.y_stride[7] + (long)(box * apart)] =
        sources[box][at_x + (long)(element % n) * b.x_stride[7]];
  }
}

__kernel void move(MEM(y), MEM(x), Box b, ulong rows, ulong cuts, ulong part) {
  __global E* y = POINTER(E, y);
  const __global E* x = POINTER(const E, x);
  const ulong n = b.n[7];
  EACH(i, rows * n) {
    long at_y, at_x;
    row_start(&b, i / n, &at_y, &at_x);
    y[at_y + (long)(i % n) * b.y_stride[7]] = x[at_x + (long)(i % n) * b.x_stride[7]];
  }
}

#define TILE 32
#define TILE_ROWS 4  // of work items
__kernel void move_tiles(MEM(y), MEM(x), Box b, ulong outer) {
  __local E tile[TILE][TILE + 1];
  const ulong n = b.n[6], m = b.n[7], across = (n + TILE - 1) / TILE, along = (m + TILE - 1) / TILE;
  const ulong lane = get_local_id(0) % TILE, first = get_local_id(0) / TILE;
  for (ulong i = get_group_id(0); i < outer * across * along; i += get_num_groups(0)) {
    long at_y, at_x;
    row_start(&b, i / (across * along) * n, &at_y, &at_x);
    const ulong row = i / along % across * TILE, column = i % along * TILE;
    __global E* y = POINTER(E, y) + at_y;
    const __global E* x = POINTER(const E, x) + at_x;
    for (ulong k = first; k < TILE; k += TILE_ROWS)
      if (row + lane < n && column + k < m) tile[k][lane] = x[(long)(row + lane) + (long)(column + k) * b.x_stride[7]];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong k = first; k < TILE; k += TILE_ROWS)
      if (row + k < n && column + lane < m) y[(long)(row + k) * b.y_stride[6] + (long)(column + lane)] = tile[lane][k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

__kernel void fill(MEM(y), ulong n, E value) {
  __global E* y = POINTER(E, y);
  INDEPENDENT
  EACH(i, n) y[i] = value;
}
#endif

#ifdef D
// y[i] = i[axis]: `size` along the axis, `inner` elements from one to the next.
__kernel void iota(MEM(y), ulong n, ulong size, ulong inner) {
  __global STORED(D)* y = POINTER(STORED(D), y);
  EACH(i, n) {
    const long value = (long)(i / inner % size);
    STORE(D, y, i, FROM_INTEGER(value));
  }
}
#endif
