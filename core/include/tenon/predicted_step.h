// What a device says that a step would take on the machine that it stands for, kernel by kernel. Predicted, never
// measured: nothing has run. Plain data; tenon/preflight.h and Function::forecast make it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

// Nodes of the step that run as one.
struct PredictedKernel {
  std::string name, op;         // of the node that it is named after: "dense/kernel/update", "adam_update"
  uint32_t node = 0;            // that node, in the graph as the device got it
  int nodes = 1;                // that run in it
  std::string category, bound;  // "dot", "update"; what it waits for: "matrix unit", "HBM"
  double start_ms = 0, ms = 0;  // in the step
  // On matrix units: asked for, and done on padded operands; from and to memory: dense, and moved.
  uint64_t flops = 0, padded_flops = 0, bytes = 0, padded_bytes = 0;
};

// Memory that an input takes for as long as the program is used.
struct PredictedArgument {
  uint32_t input = 0;  // of the graph as the device got it
  uint64_t bytes = 0, dense_bytes = 0;
};

// A dimension that memory pads, of a result of a node or of an input, numbered as the device got them.
struct PredictedPadding {
  int64_t node = -1;  // -1: of an input
  uint32_t index = 0, axis = 0;
  int64_t size = 0, padded = 0;
};

// A size that fills no whole tiles of memory and matrix units (8 and 128 on a TPU): `padded` would cost no more.
struct PaddedSize {
  std::string what;  // "batch", "features", "dimension 1"
  int64_t size = 0, padded = 0;
};

// A layer with weights, or a feature that is fed, one or more of whose sizes are padded. On one unit.
struct PaddedLayer {
  std::string name, type;  // "dense_1" and what it gives, "f32[128,10]"; of several calls the one that is padded most
  std::vector<PaddedSize> sizes;
  uint64_t bytes = 0, dense_bytes = 0;  // of that
  // On matrix units in the kernels that its nodes and their gradients give a name: asked for, and done on padded
  // operands.
  uint64_t flops = 0, padded_flops = 0;

  // The part that holds nothing, or is done for nothing, 0 to 1.
  double memory_padding() const { return padding(dense_bytes, bytes); }
  double matrix_padding() const { return padding(flops, padded_flops); }
  std::string sizes_text() const;  // "batch 12 takes 16, features 10 take 128"

 private:
  static double padding(uint64_t used, uint64_t all) {
    return all > used ? 1 - static_cast<double>(used) / static_cast<double>(all) : 0;
  }
};

// One step of one unit. Times lie side by side: a step takes less than their sum.
struct PredictedStep {
  std::string machine;     // "v3-8"
  std::string software;    // whose speed is modelled
  bool validated = false;  // the model of this machine was held against measurements
  std::string bottleneck;  // "infeed", "host", or a kernel's `bound`
  std::string advice;      // lines: what would lift it
  int units = 1, hosts = 1;
  double step_ms = 0, device_ms = 0, infeed_ms = 0, outfeed_ms = 0, host_ms = 0;
  double collective_ms = 0, update_ms = 0;  // of device_ms
  uint64_t flops = 0;                       // on the matrix units of one unit
  double peak_flops = 0;                    // a second, of one unit
  double peak_bytes = 0;                    // a second, of one unit's memory; 0: unknown
  // A second, between one unit and its host; 0: unknown.
  double out_bytes_per_s = 0, back_bytes_per_s = 0;
  std::vector<PredictedKernel> kernels;  // in the order in which they run
  std::vector<PredictedArgument> arguments;
  std::vector<PredictedPadding> paddings;
  std::vector<PaddedLayer> padded_layers;  // most memory that holds nothing first

  // For so many bytes to leave a unit and come back, as soft placement has it.
  double crossing_ms(uint64_t out, uint64_t back) const {
    if (out_bytes_per_s <= 0 || back_bytes_per_s <= 0) return 0;
    return (static_cast<double>(out) / out_bytes_per_s + static_cast<double>(back) / back_bytes_per_s) * 1e3;
  }
  // The share of what the matrix units could do in the time of a step, 0 to 1.
  double matrix_utilisation() const {
    const double most = peak_flops * step_ms * 1e-3;
    return most > 0 ? static_cast<double>(flops) / most : 0;
  }
};

// A piece of the memory plan.
struct PlannedAllocation {
  std::string name, op;  // of the node that first writes it; empty: an argument, or the device does not say
  std::string type;      // "f32[128,1000]", where it is clear
  uint64_t bytes = 0, dense_bytes = 0;  // padded, and without padding; dense 0: unknown
  uint64_t offset = 0;
};

// The memory of one unit in bytes; 0 where the device does not say.
struct PlannedMemory {
  uint64_t capacity = 0;  // that programs may use
  uint64_t peak = 0;      // at once
  uint64_t arguments = 0, results = 0, workspace = 0, code = 0, reserved = 0;
  std::vector<PlannedAllocation> allocations;  // largest first
};

}  // namespace tenon
