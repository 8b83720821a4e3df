// What the core promises of a graph: checked where it crosses the ABI.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/abi/op.h"

namespace tenon::plugin::validation {

struct TensorType {
  int32_t dtype = 0;
  uint32_t rank = 0;
  int64_t dims[TENON_MAX_RANK] = {};
};
bool operator==(const TensorType& a, const TensorType& b);

// What a run's arguments must be.
struct Signature {
  struct Input {
    TensorType type;
    int32_t role, placement;
  };
  struct Result {
    TensorType type;  // of one iteration
    int32_t mode, placement;
    uint32_t alias;  // 1 + index in buffers; 0 none
  };
  std::vector<Input> buffers;  // the inputs that are no scalars
  std::vector<Result> results;
  std::vector<int32_t> scalars;  // dtypes
  uint32_t n_feeds = 0;
  bool until = false, split = false, half_scalars = false;
};

// For a device of so many units. Throws a violation of the host that names the first thing that is wrong.
Signature check_graph(const tenon_graph* graph, uint32_t units);

// A hash of all of its bytes: a backend does not write into it.
uint64_t hash_graph(const tenon_graph& graph);

}  // namespace tenon::plugin::validation
