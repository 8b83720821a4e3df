// Work on rows: a CPU's work item has a row, a GPU's work-group shares one. In front of kernels; W is what they compute with.
//
//   ROWS_BEGIN
//   EACH_ROW(r, rows) {
//     W sum;
//     FOLD(sum, n, 0, ROW_ADD, i, x[i] * x[i])
//     ROW_LOOP(i, n) y[i] = ..;
//     if (ROW_ONCE) ..
//   }
#define ROW_ADD(a, b) ((a) + (b))
#define ROW_MAX(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))

#ifdef SHAPE_CPU
#define ROW_LANES 32
#define ROWS_BEGIN
#define EACH_ROW(r, rows) EACH(r, rows)
#define ROW_ONCE 1
#define ROW_LOOP(i, n) INDEPENDENT for (ulong i = 0; i < (n); ++i)
#define FOLD(total, n, IDENTITY, COMBINE, i, VALUE)                                          \
  {                                                                                          \
    W lanes[ROW_LANES];                                                                      \
    for (int k = 0; k < ROW_LANES; ++k) lanes[k] = IDENTITY;                                 \
    ulong done = 0;                                                                          \
    for (; done + ROW_LANES <= (n); done += ROW_LANES) {                                     \
      INDEPENDENT                                                                            \
      for (int k = 0; k < ROW_LANES; ++k) {                                                  \
        const ulong i = done + k;                                                            \
        lanes[k] = COMBINE(lanes[k], (VALUE));                                               \
      }                                                                                      \
    }                                                                                        \
    for (ulong i = done; i < (n); ++i) lanes[i - done] = COMBINE(lanes[i - done], (VALUE));  \
    for (int many = ROW_LANES / 2; many > 0; many /= 2)                                      \
      for (int k = 0; k < many; ++k) lanes[k] = COMBINE(lanes[k], lanes[k + many]);          \
    total = lanes[0];                                                                        \
  }
#else
#define ROWS_BEGIN __local W row_lanes[256];
#define EACH_ROW(r, rows) for (ulong r = get_group_id(0); r < (rows); r += get_num_groups(0))
#define ROW_ONCE (get_local_id(0) == 0)
#define ROW_LOOP(i, n) for (ulong i = get_local_id(0); i < (n); i += get_local_size(0))
#define FOLD(total, n, IDENTITY, COMBINE, i, VALUE)                                         \
  {                                                                                         \
    const uint lane = get_local_id(0);                                                      \
    W mine = IDENTITY;                                                                      \
    for (ulong i = lane; i < (n); i += get_local_size(0)) mine = COMBINE(mine, (VALUE));    \
    row_lanes[lane] = mine;                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                                    \
    for (uint many = get_local_size(0) / 2; many > 0; many /= 2) {                          \
      if (lane < many) row_lanes[lane] = COMBINE(row_lanes[lane], row_lanes[lane + many]);  \
      barrier(CLK_LOCAL_MEM_FENCE);                                                         \
    }                                                                                       \
    total = row_lanes[0];                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                           \
  }
#endif
