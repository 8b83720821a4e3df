// What a step would take on a TPU: the graph of one core, fused and scheduled as its compiler would, timed kernel by
// kernel, and its memory planned over the live ranges of that schedule. Pure functions of graph and machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/layout.h"
#include "machine/machine.h"
#include "tenon/plugin/graph.h"

namespace tpu {

// What a kernel waits for most.
enum class Bound { kMatrixUnit, kVectorUnit, kMemory, kLaunch, kInterconnect };
const char* bound_name(Bound bound);  // "matrix unit", "HBM", ...

// Nodes of the graph that run as one. A node may be in several kernels: what is cheap is computed where it is read, an
// all-reduce of many operands is one for each, the statistics of a batch norm ride on the convolution before it.
struct Kernel {
  std::vector<uint32_t> nodes;  // in the graph's order
  uint32_t root = 0;            // the node that it is named after
  const char* category =
      "";  // of the profile: "convolution", "dot", "fusion", "reduce", "all-reduce", "update", "copy"
  std::vector<uint32_t> reads, writes;  // values from and to memory
  Bound bound = Bound::kMemory;
  double start_s = 0, seconds = 0;                  // in the step
  double matrix_s = 0, vector_s = 0, memory_s = 0;  // each unit's share of the work, side by side
  uint64_t flops = 0, padded_flops = 0;             // on the matrix units: asked for, and done
  uint64_t bytes = 0, padded_bytes = 0;             // through HBM: dense, and moved
};

struct Allocation {
  uint32_t value = 0, node = 0;  // node: that first writes it; TENON_NONE: an argument
  Layout layout;
  uint64_t offset = 0;
  uint32_t first = 0, last = 0;  // kernels between which it is alive
};

struct MemoryPlan {
  uint64_t argument_bytes = 0;   // padded: states and feeds
  uint64_t temp_bytes = 0;       // the arena's height
  uint64_t temp_live_bytes = 0;  // the most that is alive at once; the rest is fragmentation
  uint64_t program_bytes = 0;    // temps, and what the program itself takes
  uint64_t reserved_bytes = 0;
  uint64_t total_bytes = 0, capacity_bytes = 0;
  bool fits() const { return total_bytes <= capacity_bytes; }
  std::vector<Allocation> allocations;  // largest first
};

struct Forecast {
  std::vector<Kernel> kernels;  // in the order in which they run
  MemoryPlan memory;
  std::vector<Layout> layouts;  // of each value
  // Seconds of one step (iteration).
  double device_s = 0;      // of which:
  double collective_s = 0;  //   all-reduces
  double update_s = 0;      //   optimizer
  double infeed_s = 0, outfeed_s = 0, host_s = 0;
  double step_s = 0;
  // What the step waits for: "infeed", "host", or one of bound_name.
  std::string bottleneck;
  uint64_t flops = 0;             // of one core
  double matrix_utilisation = 0;  // flops / (step_s * peak)
};

struct ForecastOptions {
  int64_t iterations_per_loop = 100;
};

// `graph` is one core's; feeds of placement SPLIT are its part of the batch.
Forecast forecast(const tenon::plugin::GraphView& graph, const Machine& machine, const ForecastOptions& options);

}  // namespace tpu
