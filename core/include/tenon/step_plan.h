// What a device decided when it compiled a step: the work in its order, what was fused, which algorithm each node got,
// and where values lie. Plain data; Estimator::plan makes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/predicted_step.h"

namespace tenon {

// A piece of work of an iteration.
struct PlannedStep {
  std::string name;  // of the node that it is named after; "copy": of a result to its place
  std::string op;    // of the node, or the backend's own: "cpu.conv_pool"
  // Which of several: "winograd 3x3"; "exchange": processes do it together; empty: there is one, or the backend does not
  // say.
  std::string algorithm;
  struct Node {
    std::string name, op;
  };
  std::vector<Node> nodes;  // of the graph, that it does
  int unit = 0;
  uint64_t scratch_bytes = 0;
  // At least, by its nodes; 0: it does none. A product and a sum are 2; operands that other steps made, and results
  // that others read, count once each.
  uint64_t flops = 0, bytes_accessed = 0;
};

// A node's result and where in a buffer it lies.
struct PlannedValue {
  std::string name, type;  // "conv2d/conv", and "f32[128,28,28,32]", where the graph has it
  uint64_t bytes = 0, offset = 0;
  int unit = 0;
};

// Memory in one piece. Values of one buffer share it: one is computed over the other, or is a part of it.
struct PlannedBuffer {
  std::string memory;                // "workspace", "input", "result", "constant"
  std::string name;                  // of that input or result
  int first = 0, last = 0;           // steps between which it is alive
  uint64_t bytes = 0, offset = 0;    // offset: in the workspace
  std::vector<PlannedValue> values;  // none: scratch, a scalar, or what a result goes through
  std::vector<int> after;            // buffers that were in some of its memory before it
};

struct StepPlan {
  std::string device;
  int nodes = 0;  // of the graph that the device got
  std::vector<PlannedStep> steps;
  std::vector<PlannedStep::Node> idle;  // nodes that no step does: nothing is left to do for them
  std::vector<PlannedBuffer> buffers;
  PlannedMemory memory;
};

// A plan in a few numbers.
struct PlanSummary {
  int units = 1;                         // whose steps the plan has
  int fused_steps = 0, fused_nodes = 0;  // steps that do several nodes, and the nodes that they do
  uint64_t flops = 0, bytes_accessed = 0;
  // The workspace of all these units: how long it is, and its buffers; together they are longer where they share memory.
  uint64_t workspace_bytes = 0;
  int buffers = 0;
  uint64_t buffer_bytes = 0;
  // The first step at which most of the workspace is alive, how much that is, and those buffers, the largest first; -1:
  // there are none.
  int peak_step = -1;
  uint64_t peak_bytes = 0;
  std::vector<int> alive_at_peak;
  struct Algorithm {
    std::string name;
    int steps = 0;
  };
  std::vector<Algorithm> algorithms;  // the most frequent first
};
PlanSummary summary_of(const StepPlan& plan);

// The buffers that were there last in some of this one's memory, before it (`after`).
std::vector<int> memory_reused_of(const StepPlan& plan, const PlannedBuffer& buffer);

}  // namespace tenon
