// What a program runs: kernels in order, a place for every value, and the buffers that it is called with.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/arena_layout.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

// Bases of a run, in the order of Call::bases_. Behind the inputs come the results, then the further parts of the arena.
enum : int32_t { kBaseArena = 0, kBaseConstants = 1, kBaseFirstInput = 2 };

struct Step {
  Kernel kernel;
  std::vector<Place> operands, results;
  Place scratch{kBaseArena, 0};
  uint32_t node = TENON_NONE;
  bool barrier = false;  // all threads meet before it
};

// A scalar input: where the executor writes it at the start of each iteration.
struct ScalarSlot {
  Place place;
  int32_t dtype;
};

struct Plan {
  std::vector<Step> steps;
  std::vector<uint8_t> constants;
  std::vector<ScalarSlot> scalars;
  MemoryLayout memory;  // taken out by compile, which describes it
  std::vector<uint64_t>
      arena_parts;              // bytes of each: values, scratch and, in ordinary memory, the threads' own scratch
  uint64_t thread_scratch = 0;  // offset in the first part
  uint64_t thread_scratch_bytes = 0;  // of each thread
  uint32_t threads = 1;               // the largest gang that helps

  int32_t n_buffers = 0;  // inputs that are no scalars
  int32_t n_results = 0;
  std::vector<int32_t> feeds;          // buffer inputs of role FEED, by their index among buffers
  std::vector<uint8_t> is_feed;        // of each buffer
  std::vector<uint64_t> input_bytes;   // of each buffer
  std::vector<uint64_t> result_bytes;  // of one row
  std::vector<int32_t> result_mode;
  std::vector<int32_t> result_alias;  // index among buffers, or -1
  int32_t until = -1;                 // index of the UNTIL result
  uint64_t argument_bytes = 0;

  uint64_t arena_bytes() const;
  // The buffers of results that alias no state, of so many iterations at most.
  uint64_t results_bytes(uint64_t iterations) const;
  int32_t part_base(size_t part) const;
  Place arena_place(uint64_t offset) const;  // of a block
};

// Each input's index among buffers; -1: a scalar.
std::vector<int32_t> buffers_of(const GraphView& graph);

// A plan without steps: the inputs and results of a graph.
Plan interface_of(const GraphView& graph);

}  // namespace tenon::plugin
