// Which examples the batches of a stream hold, in order.
#pragma once

#include <cstdint>
#include <memory>

#include "data/input/input_slot.h"

namespace tenon {

// One thread. What a chain's functions throw comes out.
class BatchPlan {
 public:
  virtual ~BatchPlan() = default;
  // Goes to the place behind so many delivered examples; a stream that does not repeat ends with the epoch of that place.
  virtual void seek(uint64_t samples) = 0;
  // Plans the next batch: the slot's rows, bucket and end_sample. How many rows it has; 0: the stream has ended.
  virtual uint64_t next(InputSlot& slot) = 0;
  virtual bool at_end() = 0;
};

std::unique_ptr<BatchPlan> make_plan(const Dataset::Impl& data, ThreadPool& pool);
// The plan of a chain (data/chain).
std::unique_ptr<BatchPlan> make_chain_plan(const Dataset::Impl& data, ThreadPool& pool);

}  // namespace tenon
