/* Tenon plugin ABI: devices, memory, queues, programs.
 *
 * A unit is one core or card. A device is 1..n units of one domain opened together: it owns queues,
 * buffers and programs; one handle, one call, one ticket serve all its units.
 *
 * Any thread may call any entry, but a queue has one submitter at a time, and nobody uses what is
 * being destroyed. `wait` is always allowed, also while `run` is in progress on the same queue.
 */
#ifndef TENON_ABI_DEVICE_H
#define TENON_ABI_DEVICE_H

#include "tenon/abi/op.h"

/* ---- units and devices ---- */

#define TENON_UNIT_INLINE (1ull << 0)    /* copy and run work on the calling thread; tickets are complete */
#define TENON_UNIT_HOST_FEED (1ull << 1) /* HOST inputs are read in place */
#define TENON_UNIT_EXTENTS (1ull << 2)   /* bounded dimensions are understood */
#define TENON_UNIT_EMULATED (1ull << 3)  /* never chosen automatically */

typedef enum tenon_unit_kind { TENON_CPU = 1, TENON_GPU = 2, TENON_ACCELERATOR = 3 } tenon_unit_kind;

typedef struct tenon_unit {
  uint64_t flags;
  uint32_t kind;           /* tenon_unit_kind */
  uint32_t domain;         /* units of one domain can be opened together */
  uint32_t host;           /* index of the host that feeds it */
  uint32_t feed_depth;     /* >= 1: batches that may be unreleased at a time */
  uint32_t queues;         /* useful queues; 0 unknown */
  uint32_t wrap_alignment; /* of desc.host_memory; 0 = 64 */
  int32_t coord[4];
  uint64_t memory_bytes;
  uint64_t max_buffer_bytes;
  char name[64];
  char version[64]; /* of driver or library; part of the cache key */
} tenon_unit;

typedef struct tenon_open {
  uint64_t struct_size;
  uint64_t flags;
  const char* spec; /* what follows `--device=name:`, or NULL */
  const uint32_t* units;
  uint32_t n_units;
  uint32_t process; /* this one of `processes` */
  uint32_t processes;
  uint32_t reserved;
  void* ctx;
  /* An all-gather of `bytes` bytes among the processes, callable inside device_open; NULL = one process. */
  tenon_status (*exchange)(void* ctx, const void* mine, uint64_t bytes, void* all);
} tenon_open;

typedef struct tenon_stats {
  uint64_t struct_size;
  uint64_t flags;
  uint64_t bytes_in_use, bytes_peak, bytes_free, bytes_largest_free;
} tenon_stats;

/* ---- memory ---- */

#define TENON_DESC_HOST (1ull << 0) /* dense row-major memory of the host, visible to both sides */

typedef struct tenon_desc {
  uint64_t struct_size;
  uint64_t flags;
  int32_t dtype;
  uint32_t rank;
  int64_t dims[TENON_MAX_RANK];
  int32_t placement;
  uint32_t reserved;
  void* host_memory; /* with HOST: wrap this memory, borrowed until buffer_free; never silently copied */
} tenon_desc;

/* Exactly one of dst, dst_host and one of src, src_host is set. Offsets and bytes are of the dense
 * row-major contents and cover whole rows of axis 0. */
typedef struct tenon_copy {
  uint64_t struct_size;
  uint64_t flags;
  const tenon_point* after;
  uint32_t n_after;
  uint32_t reserved;
  tenon_buffer* dst;
  void* dst_host;
  uint64_t dst_offset;
  tenon_buffer* src;
  const void* src_host;
  uint64_t src_offset;
  uint64_t bytes;
} tenon_copy;

/* ---- compiling ---- */

#define TENON_OPTION_DETERMINISTIC (1ull << 0) /* no choice by the clock */
#define TENON_OPTION_TRACE (1ull << 1)         /* the program will be traced */

typedef struct tenon_options {
  uint64_t struct_size;
  uint64_t flags;
  uint32_t max_iterations; /* of one run; 0 = 1 */
  int32_t precision;       /* tenon_precision: the least that dots and convolutions get */
  uint64_t memory_limit;   /* bytes; 0 none */
  const char* settings;    /* the backend's own, "key=value,..." or NULL */
} tenon_options;

typedef enum tenon_answer { TENON_REFUSE = 0, TENON_DECOMPOSE = 1, TENON_TAKE = 2 } tenon_answer;

typedef struct tenon_verdict {
  int32_t answer;         /* tenon_answer */
  uint32_t deterministic; /* 1: same inputs, same bits */
  uint64_t cost_ns;       /* estimate; 0 unknown */
  const char* reason;     /* of a refusal; lives as a status message does */
} tenon_verdict;

typedef struct tenon_allocation {
  uint32_t node; /* the first that writes it */
  uint32_t reserved;
  uint64_t bytes, dense_bytes, offset;
  uint32_t first, last; /* nodes between which it is alive */
} tenon_allocation;

/* Filled by compile, on TENON_OUT_OF_MEMORY too. Pointers belong to the program; where none came to be, they live as a
 * status message does. */
typedef struct tenon_info {
  uint64_t struct_size;
  uint64_t flags;
  uint64_t argument_bytes, result_bytes, workspace_bytes, code_bytes, reserved_bytes, peak_bytes, capacity_bytes;
  uint64_t flops, bytes_moved;
  uint64_t device_ns, feed_ns, host_ns; /* predicted, an iteration; 0 unknown */
  const char* warnings;                 /* lines, or NULL */
  const tenon_allocation* allocations;
  uint64_t allocation_stride;
  uint32_t n_allocations;
  uint32_t reserved;
} tenon_info;

/* ---- running ---- */

/* Batches, pulled by run on its own thread. next gives iteration i's buffers (one a FEED input, in
 * the order of the inputs) and the point after which they may be read (queue NULL: at once), or
 * returns 0: stop. release gives iteration i back. */
typedef struct tenon_feed {
  uint64_t struct_size;
  uint64_t flags;
  void* ctx;
  int32_t (*next)(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after);
  void (*release)(void* ctx, uint64_t i);
} tenon_feed;

typedef struct tenon_run {
  uint64_t struct_size;
  uint64_t flags;
  tenon_program* program;
  const tenon_point* after;
  uint32_t n_after;
  uint32_t iterations; /* 1..max_iterations */
  tenon_buffer* const* inputs;  /* one for each input that is no SCALAR, in order; FEED ones may be NULL with feed */
  tenon_buffer* const* results; /* one for each result; the same handle as the input that it aliases */
  const tenon_scalar* scalars;  /* iterations x number of SCALAR inputs */
  const tenon_feed* feed;       /* or NULL: inputs serve every iteration */
} tenon_run;

/* ---- tracing ---- */

typedef struct tenon_event {
  tenon_program* program;
  const char* name;
  uint32_t node, unit, lane, reserved;
  uint64_t start_ps, duration_ps, flops, bytes;
} tenon_event;

typedef struct tenon_sink {
  uint64_t struct_size;
  uint64_t flags;
  void* ctx;
  void (*emit)(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride);
} tenon_sink;

#endif
