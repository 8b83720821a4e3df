/* Tenon plugin ABI, extension "tenon.forecast", version 1: what a step of a program would take on the machine that the
 * backend stands for, kernel by kernel. Offered by backends that predict, such as emulators.
 *
 *   const tenon_forecast* f = backend.extension(backend.self, TENON_FORECAST, 1);   NULL: not offered
 *
 * A program that is only to be looked at is compiled with the flag TENON_OPTION_FORECAST: compile then
 * needs none of the memory and time that running would, fills tenon_info as ever, and `run` refuses the program. A backend
 * that does not predict refuses the flag, as any that it does not know.
 *
 * The core reads it, so it is kept as the rest of tenon/abi is: frozen with ABI 1.0, and structs grow at their ends. What
 * would mean something else is version 2 of the extension.
 */
#ifndef TENON_ABI_FORECAST_H
#define TENON_ABI_FORECAST_H

#include "tenon/abi/device.h"

#define TENON_FORECAST "tenon.forecast"

/* Nodes that run as one, in the order of the rows. An element of an array: it grows at its end. */
typedef struct tenon_forecast_kernel {
  uint32_t node;    /* of the graph: the one that it is named after */
  uint32_t n_nodes; /* that run in it */
  const char* category; /* "dot", "convolution", "fusion", "reduce", "all-reduce", "update", "copy" */
  const char* bound;    /* what it waits for: "matrix unit", "vector unit", "HBM", "launch", "interconnect" */
  uint64_t start_ps, duration_ps;        /* in the step */
  uint64_t flops, padded_flops;          /* on matrix units: asked for, and done on padded operands */
  uint64_t bytes, padded_bytes;          /* from and to memory: dense, and moved */
} tenon_forecast_kernel;

/* An input's place in memory for as long as the program is used; tenon_info.allocations lists what lives within a
 * step. An element of an array. */
typedef struct tenon_forecast_argument {
  uint32_t input; /* of the graph */
  uint32_t reserved;
  uint64_t bytes, dense_bytes;
} tenon_forecast_argument;

/* A dimension that memory pads, of a value that the graph has: its size fills no whole tiles. An element of an array. */
typedef struct tenon_forecast_padding {
  uint32_t node;  /* whose result it is; TENON_NONE: it is an input */
  uint32_t index; /* of the result, or of the input */
  uint32_t axis;
  uint32_t reserved;
  uint64_t size, padded; /* elements along it, and how many there is room for */
} tenon_forecast_padding;

/* What one unit takes for one iteration; times in nanoseconds. Pointers belong to the program. */
typedef struct tenon_forecast_step {
  uint64_t struct_size;
  uint64_t flags;
  const char* machine;    /* "v3-8" */
  const char* software;   /* whose speed is modelled */
  const char* bottleneck; /* "infeed", "host", or a `bound` */
  const char* advice;     /* lines: what would lift it; or NULL */
  uint32_t validated;     /* 1: the model of this machine was held against measurements */
  uint32_t units, hosts;  /* of the whole machine */
  uint32_t reserved;
  uint64_t step_ns, device_ns, infeed_ns, outfeed_ns, host_ns;
  uint64_t collective_ns, update_ns; /* of device_ns */
  uint64_t flops;                    /* on the matrix units of one unit */
  uint64_t flops_per_second;         /* the most that these do */
  uint64_t bytes_per_second;         /* the most from and to the memory of one unit; 0 unknown */
  /* From one unit to its host and back; 0 unknown. */
  uint64_t out_bytes_per_second, back_bytes_per_second;
  const tenon_forecast_kernel* kernels;
  uint64_t kernel_stride;
  const tenon_forecast_argument* arguments;
  uint64_t argument_stride;
  const tenon_forecast_padding* paddings; /* of the results that nodes have in memory or would have, and of inputs */
  uint64_t padding_stride;
  uint32_t n_kernels, n_arguments, n_paddings;
  uint32_t reserved2;
} tenon_forecast_step;

typedef struct tenon_forecast {
  uint64_t struct_size;
  uint64_t flags;
  /* Fills *out up to its struct_size. */
  tenon_status (*step)(const tenon_program* program, tenon_forecast_step* out);
  /* The names of the machines that a spec may begin with, one a line; lives for ever. */
  const char* (*machines)(void* self);
  /* What the machine of a spec has beside its units, for lists of devices, one a line: "TPU_SYSTEM:0 of a v3-8,
   * emulated". Lives until this thread's next call into the backend. NULL, here or as the answer: nothing. */
  const char* (*beside)(void* self, const char* spec);
} tenon_forecast;

#endif
