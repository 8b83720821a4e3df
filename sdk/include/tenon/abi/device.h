/* Tenon plugin ABI: devices, memory, queues, programs.
 *
 * A unit is one core or card. A device is 1..n units of one domain opened together: it owns queues,
 * buffers and programs; one handle, one call, one ticket serve all its units. A unit may be in several devices at once, each
 * with queues, buffers and programs of its own; they share its time and memory, and nothing else shows.
 *
 * Any thread may call any entry, but a queue has one submitter at a time. `wait` is always allowed, also
 * while `run` is in progress on the same queue.
 *
 * What is destroyed is in no call, and:
 *
 *   program_destroy   no submitted run of it is under way
 *   buffer_free       no submitted copy or run that uses it is under way
 *   queue_destroy     nothing of another queue waits for it; its own work is stopped or drained first
 *   device_close      its buffers, queues and programs are gone
 *
 * Work is under way until wait has answered for its ticket, with TENON_OK or an error other than TENON_TIMEOUT, or its queue is
 * gone: from then on the device touches no memory for its sake, a lost one neither. These entries ignore NULL and never
 * fail, on a lost device neither. Buffers and queues of a program outlive it, and the other way round.
 */
#ifndef TENON_ABI_DEVICE_H
#define TENON_ABI_DEVICE_H

#include "tenon/abi/op.h"

/* ---- units and devices ---- */

/* copy and run work on the calling thread: their tickets are complete, wait never waits */
#define TENON_UNIT_INLINE (1ull << 0)
#define TENON_UNIT_EMULATED (1ull << 1) /* never chosen automatically */

typedef enum tenon_unit_kind { TENON_CPU = 1, TENON_GPU = 2, TENON_ACCELERATOR = 3 } tenon_unit_kind;

typedef struct tenon_unit {
  uint64_t flags;
  uint32_t kind;       /* tenon_unit_kind */
  uint32_t domain;     /* units of one domain can be opened together */
  uint32_t host;       /* index of the host that feeds it */
  /* >= 1: batches that may be unreleased at a time; of units opened together the least of theirs */
  uint32_t feed_depth;
  uint64_t memory_bytes;     /* of the unit, that buffers and programs can have; 0 unknown */
  uint64_t max_buffer_bytes; /* the largest buffer; 0: any that the memory holds */
  char name[64];
  char version[64]; /* of driver or library; part of the cache key */
} tenon_unit;

typedef struct tenon_open {
  uint64_t struct_size;
  uint64_t flags;
  const char* spec; /* what follows `--device=name:`, or NULL */
  /* Which, each once: indices in what enumerate tells of the same spec, which stays as it is while the process
   * lives. Their order is that of the parts of SPLIT values. */
  const uint32_t* units;
  uint32_t n_units; /* >= 1 */
  uint32_t reserved;
} tenon_open;

/* How the times of events relate to the host's CLOCK_MONOTONIC. */
typedef enum tenon_clock {
  TENON_CLOCK_OWN = 0,       /* not at all: a clock of the device's */
  TENON_CLOCK_MONOTONIC = 1, /* they are its times, in picoseconds modulo 2^64, which is 213 days: differences tell */
  TENON_CLOCK_PREDICTED = 2  /* nothing was measured: each program's first iteration begins at about 0 */
} tenon_clock;

/* What there is to tell of an open device. Strings belong to it and are one line each; NULL: nothing to tell. */
typedef struct tenon_facts {
  uint64_t struct_size;
  uint64_t flags;
  const char* kind;     /* as profiles call it: "CPU", "GPU", "TPU" */
  const char* vendor;   /* of the hardware */
  const char* driver;   /* name and version of what drives it */
  const char* topology; /* of its units: "2x2x1" */
  int32_t trace_clock;  /* tenon_clock */
  uint32_t reserved;
} tenon_facts;

/* The memory of all units of the device together, and what its buffers and programs have of it. */
typedef struct tenon_stats {
  uint64_t struct_size;
  uint64_t flags;
  uint64_t bytes_in_use, bytes_peak; /* now, and the most since the device was opened */
  uint64_t bytes_free;         /* 0 where nothing is free, or nobody knows */
  uint64_t bytes_largest_free; /* of bytes_free in one piece; 0 unknown */
} tenon_stats;

/* ---- memory ---- */

/* Dense row-major memory of the host, visible to both sides: what the host wrote before a submission the device sees
 * in it, what the device wrote the host sees behind wait. It is aligned to 64 bytes and a whole number of 64 bytes
 * long; the device leaves alone what is behind the contents. Any input or result may be HOST. A backend that has no
 * such memory answers TENON_UNSUPPORTED, for every HOST buffer of the device: the core then copies. */
#define TENON_DESC_HOST (1ull << 0)

typedef struct tenon_desc {
  uint64_t struct_size;
  uint64_t flags;
  int32_t dtype;
  uint32_t rank;
  int64_t dims[TENON_MAX_RANK]; /* SPLIT: of all units together */
  int32_t placement;            /* tenon_placement */
  uint32_t reserved;
} tenon_desc;

/* Exactly one of dst, dst_host and one of src, src_host is set. Offsets and bytes are of the dense row-major
 * contents and cover whole rows of axis 0, one at least; of rank 0, all. Of the host's memory, offsets count from
 * dst_host and src_host, and any will do. One buffer at least is of the queue's device; from or to another device
 * TENON_UNSUPPORTED is allowed: the core goes by the host's memory. src_host stays as it is, and dst_host is
 * written, until the work is no longer under way. */
typedef struct tenon_copy {
  uint64_t struct_size;
  uint64_t flags;
  const tenon_point* after; /* queues of this device; a point without a queue is reached */
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

/* The same inputs give the same bits in each run: nothing is chosen by the clock or added up in the order of
 * arrival. A node that has no such way here is not taken. */
#define TENON_OPTION_DETERMINISTIC (1ull << 0)
#define TENON_OPTION_TRACE (1ull << 1) /* the program will be traced */
/* The program is only looked at (forecast.h): compile takes none of the memory and time that running would, run refuses. */
#define TENON_OPTION_FORECAST (1ull << 2)

typedef struct tenon_options {
  uint64_t struct_size;
  uint64_t flags;
  uint32_t max_iterations; /* of one run; 0 = 1 */
  uint32_t reserved;
} tenon_options;

/* TAKE: compile never fails for this node's sake, and with DETERMINISTIC the node keeps to that. DECOMPOSE: a
 * composite is asked for again as its primitives; it is the answer to a name that the backend does not know. A
 * primitive that is not taken is refused, whichever was said. REFUSE: final, the graph cannot run here. */
typedef enum tenon_answer { TENON_REFUSE = 0, TENON_DECOMPOSE = 1, TENON_TAKE = 2 } tenon_answer;

typedef struct tenon_verdict {
  int32_t answer; /* tenon_answer */
  uint32_t reserved;
  const char* reason; /* a REFUSE has one; lives as a status message does */
} tenon_verdict;

/* A piece of the workspace: of all units', or of the first unit's where each has one of its own. An element of an array. */
typedef struct tenon_allocation {
  uint32_t node; /* the first that writes it */
  uint32_t reserved;
  /* What it takes, what of it is not padding, and where it begins in the workspace. */
  uint64_t bytes, dense_bytes, offset;
  uint32_t first, last; /* nodes between which it is alive */
} tenon_allocation;

/* Filled by compile, on TENON_OUT_OF_MEMORY too. Bytes and work are of all units of the device together, to which
 * each adds the same; what units have once between them counts once. Times are of an iteration, in which the units
 * work side by side. Pointers belong to the program; where none came to be, they live as a status message does. */
typedef struct tenon_info {
  uint64_t struct_size;
  uint64_t flags;
  /* Buffers of the inputs, states among them; those of results that alias no state, with a row an iteration of EACH;
   * what lives within a step; code and constants; what the system keeps for itself; the most that is there at a time,
   * of all these; and the memory that there is, 0 unknown. */
  uint64_t argument_bytes, result_bytes, workspace_bytes, code_bytes, reserved_bytes, peak_bytes, capacity_bytes;
  /* Work of an iteration: a multiplication and an addition are two; bytes that its steps read and write. */
  uint64_t flops, bytes_moved;
  uint64_t device_ns, feed_ns, host_ns; /* predicted; 0 unknown */
  const tenon_allocation* allocations;
  uint64_t allocation_stride;
  uint32_t n_allocations;
  uint32_t reserved;
} tenon_info;

/* ---- what was planned ---- */

/* A piece of work of an iteration. Elements of arrays, as those below: they grow at their end. */
typedef struct tenon_plan_step {
  const char* op;         /* of a node, or the backend's own: "cpu.conv_pool" */
  const char* algorithm;  /* which of several: "winograd 3x3"; NULL: there is one, or the backend does not say */
  uint32_t node;          /* of the graph, after which it is named; TENON_NONE: a copy to a result's place */
  uint32_t unit;          /* for which it works; where it works for all, the first */
  tenon_range nodes;      /* of tenon_plan.nodes: those that it does */
  uint64_t scratch_bytes; /* that it needs while it runs, of all its threads */
} tenon_plan_step;

typedef enum tenon_plan_memory {
  TENON_PLAN_WORKSPACE = 0,
  TENON_PLAN_INPUT = 1, /* the caller's buffer of an input, updated in place */
  TENON_PLAN_RESULT = 2,
  TENON_PLAN_CONSTANT = 3
} tenon_plan_memory;

/* Memory in one piece, and the steps between which it holds what it is for. Two of the workspace that are alive at
 * once lie apart; units are as with tenon_allocation. */
typedef struct tenon_plan_buffer {
  int32_t memory; /* tenon_plan_memory */
  uint32_t index; /* of the input or result */
  uint32_t first, last;
  uint64_t bytes, offset; /* offset: in the workspace; else 0 */
} tenon_plan_buffer;

/* Where a node's result lies. Values of one buffer share its memory: one is computed over the other, or is a part of it. */
typedef struct tenon_plan_value {
  uint32_t node;
  uint32_t result; /* of the node; TENON_NONE: a value that the graph does not have */
  uint32_t unit;
  uint32_t buffer;
  uint64_t bytes, offset; /* offset: in the buffer */
} tenon_plan_value;

/* Pointers belong to the program. A node is done by one step of a unit at most; by none, where nothing is left to
 * do, or where other steps compute it as they read it. */
typedef struct tenon_plan {
  uint64_t struct_size;
  uint64_t flags;
  const tenon_plan_step* steps; /* in the order in which they run */
  uint64_t step_stride;
  const tenon_plan_buffer* buffers;
  uint64_t buffer_stride;
  const tenon_plan_value* values;
  uint64_t value_stride;
  const uint32_t* nodes;
  uint32_t n_steps, n_buffers, n_values, n_nodes;
} tenon_plan;

/* ---- running ---- */

/* Batches, pulled by run: next and release are called inside it, on its caller's thread, for i = 0, 1, .. in order,
 * with at most feed_depth unreleased. next returns 1 and gives iteration i's buffers (one a FEED input, in the order
 * of the inputs; `feeds` and `after` come as zeros) and the point after which they may be read (queue NULL: at
 * once); or it returns 0: stop, and is not called again. Other values are reserved. release gives iteration i back;
 * those that are left when run returns come back with the ticket, or with an error that run returns. next may block
 * and may submit to other queues. */
typedef struct tenon_feed {
  uint64_t struct_size;
  uint64_t flags;
  void* ctx;
  int32_t (*next)(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after);
  void (*release)(void* ctx, uint64_t i);
} tenon_feed;

/* Submits 1..max_iterations iterations. Arguments are checked first: an error returned did nothing, and `done` is 0. A
 * batch that is missing or too small is TENON_INVALID: the first may be so at once, another ends the run, which
 * answers OK with what was done before it, and then wait fails.
 *
 * Inputs are read alone, but for states that a result aliases. Rows of EACH from `done` on are undefined. Where the ticket
 * fails, so are all results of the run, and the states that they alias hold the values of no particular iteration: the caller
 * writes them anew. */
typedef struct tenon_run {
  uint64_t struct_size;
  uint64_t flags;
  tenon_program* program;
  const tenon_point* after; /* as a copy's */
  uint32_t n_after;
  uint32_t iterations; /* 1..max_iterations */
  tenon_buffer* const* inputs;  /* one for each input that is no SCALAR, in order; FEED ones may be NULL with feed */
  tenon_buffer* const* results; /* one for each result; the same handle as the input that it aliases */
  const tenon_scalar* scalars;  /* iterations x number of SCALAR inputs; run copies them */
  const tenon_feed* feed;       /* or NULL: inputs serve every iteration */
} tenon_run;

/* ---- failures ---- */

/* The first failure of a queue's work, which sticks to it. */
typedef struct tenon_error {
  uint64_t struct_size;
  uint64_t flags;
  int32_t code;           /* tenon_code; TENON_OK: the queue has not failed */
  int32_t native;         /* the vendor's own number; 0 none */
  /* of this queue's submission that failed; 0: unknown, or it failed since one of another queue's had */
  uint64_t ticket;
  tenon_program* program; /* that it ran; NULL: none, or unknown. It may be destroyed by now */
  uint32_t node;          /* of that program's graph; TENON_NONE unknown */
  uint32_t iteration;     /* of that run, the first is 0; TENON_NONE unknown */
  const char* message;    /* what wait answers; lives until queue_destroy */
} tenon_error;

/* ---- tracing ---- */

typedef struct tenon_event {
  tenon_program* program;
  const char* name; /* for the call */
  uint32_t node, unit, lane, reserved;
  uint64_t start_ps, duration_ps, flops, bytes; /* start_ps of facts.trace_clock */
} tenon_event;

/* emit comes on any thread, one call at a time, perhaps under the backend's locks: it returns soon, throws nothing
 * and calls no entry. Events live for the call. Those of one node's iteration, one a lane from 0, follow each other
 * in one call; else they come in any order, and what was waited for has come by the flush. */
typedef struct tenon_sink {
  uint64_t struct_size;
  uint64_t flags;
  void* ctx;
  void (*emit)(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride);
} tenon_sink;

#endif
