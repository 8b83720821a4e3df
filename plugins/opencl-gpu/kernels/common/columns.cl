// Work on the columns of x[rows, c], by pieces of `length` rows. A CPU's work item has a block of columns, and where all fit in
// one block several rows at a time: lane k is column k % columns. A GPU's work item has one column. In front of kernels.
typedef struct {
  ulong rows, c, pieces, length;
} Columns;

#ifdef SHAPE_CPU
#define WIDTH 256
#else
#define WIDTH 1
#endif

// For each block of each piece: p, first (column), columns, lanes, begin (row), many (rows), together (rows).
#define EACH_BLOCK(s)                                                                                     \
  const ulong blocks_ = (s.c + WIDTH - 1) / WIDTH, together = s.c < WIDTH ? WIDTH / s.c : 1;              \
  EACH(block_, s.pieces * blocks_)
#define BLOCK(s)                                                                                          \
  const ulong p = block_ / blocks_, first = block_ % blocks_ * WIDTH;                                     \
  const ulong columns = min((ulong)WIDTH, s.c - first), lanes = columns * together, begin = p * s.length; \
  const ulong many = min(s.length, s.rows - begin);

// A per-column value in each lane.
#define LANES_OF(name, i, expression)           \
  W name[WIDTH];                                \
  for (ulong k = 0; k < columns; ++k) {         \
    const ulong i = first + k;                  \
    name[k] = expression;                       \
  }                                             \
  for (ulong k = columns; k < lanes; ++k) name[k] = name[k - columns];

#define ZERO_LANES(name) \
  W name[WIDTH];         \
  for (ulong k = 0; k < lanes; ++k) name[k] = 0;

// Goes over the block's elements: i is one's place in x, k its lane.
#define BLOCK_LOOP(s, i, k, BODY)                                     \
  for (ulong row_ = 0; row_ < many; row_ += together) {               \
    const ulong base_ = (begin + row_) * s.c + first;                 \
    const ulong n_ = min(lanes, (many - row_) * columns);             \
    INDEPENDENT                                                       \
    for (ulong k = 0; k < n_; ++k) {                                  \
      const ulong i = base_ + k;                                      \
      BODY                                                            \
    }                                                                 \
  }

// Sums of lanes become those of columns.
#define FOLD_LANES(name) \
  for (ulong k = columns; k < lanes; ++k) name[k % columns] += name[k];
