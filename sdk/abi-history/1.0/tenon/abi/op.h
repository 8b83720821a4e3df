/* Tenon plugin ABI: the graph, flat, and every number that appears in one.
 *
 * A graph is one block of bytes (`data`) with arrays in it; everything refers to everything else by
 * index or offset, so that a graph can be hashed, stored and sent as it is. Nodes stand in
 * topological order and each value is defined once: by a graph input, a constant or one node.
 * Shapes are static, rank <= 8, dimensions >= 1, and those of one unit. The core has verified all of it.
 */
#ifndef TENON_ABI_OP_H
#define TENON_ABI_OP_H

#include "tenon/abi/types.h"

#define TENON_NONE UINT32_MAX /* an absent optional operand in ids */

typedef struct tenon_graph {
  uint64_t struct_size;
  uint64_t flags;
  const uint8_t* data; /* 64-byte aligned */
  uint64_t data_size;
  tenon_array values;    /* of tenon_value */
  tenon_array nodes;     /* of tenon_node */
  tenon_array ids;       /* of uint32_t: value indices, TENON_NONE = absent */
  tenon_array attrs;     /* of tenon_attr */
  tenon_array inputs;    /* of tenon_input */
  tenon_array results;   /* of tenon_result */
  tenon_array constants; /* of tenon_constant */
  tenon_array strings;   /* of char */
} tenon_graph;

typedef struct tenon_value {
  int32_t dtype; /* tenon_dtype */
  uint32_t rank;
  int64_t dims[TENON_MAX_RANK];
  tenon_text name;
} tenon_value;

/* An attribute that is absent has the op's default; where there is none, the op does without. A dtype attribute of 0 is
 * as good as absent: dot's `out` is then the operands' dtype. An attribute that neither the op has nor is a hint:
 * TENON_UNSUPPORTED. */
typedef struct tenon_node {
  tenon_text op; /* "conv_bias_act" */
  uint32_t version;
  uint32_t reserved;
  tenon_text name;      /* unique in the graph, stable from run to run */
  tenon_text origin;    /* the node of the user's model that it came from, for messages */
  tenon_range operands; /* in ids */
  tenon_range results;  /* in ids */
  tenon_range attrs;    /* in attrs; names starting with "tenon." are hints */
} tenon_node;

typedef enum tenon_attr_type {
  TENON_ATTR_I64 = 1,   /* one int64_t */
  TENON_ATTR_F64 = 2,   /* one double */
  TENON_ATTR_BOOL = 3,  /* one int64_t, 0 or 1 */
  TENON_ATTR_DTYPE = 4, /* one int64_t, tenon_dtype */
  TENON_ATTR_ENUM = 5,  /* one int64_t, a number of an enum below */
  TENON_ATTR_BYTES = 6, /* count bytes */
  TENON_ATTR_LIST = 7   /* count int64_t */
} tenon_attr_type;

typedef struct tenon_attr {
  tenon_text name;
  int32_t type; /* tenon_attr_type */
  uint32_t reserved;
  uint64_t at; /* byte offset in data, 8-byte aligned */
  uint64_t count;
} tenon_attr;

typedef enum tenon_role {
  TENON_ROLE_STATE = 1,  /* weights, slots, the step: stays on the device between runs */
  TENON_ROLE_FEED = 2,   /* a batch */
  TENON_ROLE_SCALAR = 3  /* rank 0, given anew for each iteration in run.scalars */
} tenon_role;

typedef enum tenon_placement {
  TENON_REPLICATED = 0, /* every unit holds the whole; a copy writes all of them and reads that of unit 0 */
  TENON_SPLIT = 1       /* axis 0 dealt in order over the units: a value has a unit's part, its buffer all of them */
} tenon_placement;

typedef struct tenon_input {
  uint32_t value;
  int32_t role;      /* tenon_role */
  int32_t placement; /* tenon_placement */
  uint32_t reserved;
} tenon_input;

typedef enum tenon_mode {
  TENON_MODE_LAST = 0,  /* the last iteration's value */
  TENON_MODE_EACH = 1,  /* iteration i writes row i of max_iterations rows */
  TENON_MODE_UNTIL = 2  /* rank-0 bool: run ends after the iteration in which it is true, which counts as done */
} tenon_mode;

typedef struct tenon_result {
  uint32_t value;
  int32_t mode;   /* tenon_mode */
  uint32_t alias; /* 1 + index in inputs of the state that this result updates in place; 0 none */
  int32_t placement;
} tenon_result;

/* A value known at compile time: its bytes, dense, or those of one element that fills it. */
typedef struct tenon_constant {
  uint32_t value;
  uint32_t reserved;
  uint64_t at; /* byte offset in data, 8-byte aligned */
  uint64_t bytes;
} tenon_constant;

/* ---- numbers of enum attributes; appended to, never changed ---- */

typedef enum tenon_compare { TENON_COMPARE_EQ = 0, TENON_COMPARE_NE = 1, TENON_COMPARE_LT = 2, TENON_COMPARE_LE = 3, TENON_COMPARE_GT = 4, TENON_COMPARE_GE = 5 } tenon_compare;
typedef enum tenon_reduce { TENON_REDUCE_SUM = 0, TENON_REDUCE_PROD = 1, TENON_REDUCE_MAX = 2, TENON_REDUCE_MIN = 3 } tenon_reduce;
typedef enum tenon_scatter { TENON_SCATTER_ADD = 0, TENON_SCATTER_SET = 1 } tenon_scatter;
typedef enum tenon_precision { TENON_PRECISION_DEFAULT = 0, TENON_PRECISION_HIGH = 1, TENON_PRECISION_HIGHEST = 2 } tenon_precision;

typedef enum tenon_act {
  TENON_ACT_NONE = 0,
  TENON_ACT_RELU = 1,
  TENON_ACT_RELU6 = 2,
  TENON_ACT_LEAKY_RELU = 3, /* alpha: slope below zero */
  TENON_ACT_ELU = 4,        /* alpha */
  TENON_ACT_SELU = 5,
  TENON_ACT_SIGMOID = 6,
  TENON_ACT_TANH = 7,
  TENON_ACT_SOFTPLUS = 8,
  /* from here the gradient is computed from the argument, not from the result */
  TENON_ACT_GELU = 9,
  TENON_ACT_GELU_TANH = 10,
  TENON_ACT_SILU = 11,
  TENON_ACT_MISH = 12,
  TENON_ACT_HARD_SIGMOID = 13, /* relu6(x + 3) / 6 */
  TENON_ACT_HARD_SWISH = 14    /* x relu6(x + 3) / 6 */
} tenon_act;

typedef enum tenon_resize { TENON_RESIZE_NEAREST = 0, TENON_RESIZE_BILINEAR = 1 } tenon_resize;
typedef enum tenon_coords { TENON_COORDS_LEGACY = 0, TENON_COORDS_HALF_PIXEL = 1, TENON_COORDS_ALIGN_CORNERS = 2 } tenon_coords;
typedef enum tenon_fill { TENON_FILL_CONSTANT = 0, TENON_FILL_NEAREST = 1, TENON_FILL_REFLECT = 2, TENON_FILL_WRAP = 3 } tenon_fill;

#endif
