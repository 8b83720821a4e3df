// Batches on their way from the input pipeline to a run: a ring of HOST buffers that the pipeline
// fills and the device reads in place.
#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"
#include "compile/compile.h"
#include "tenon/input.h"

namespace tenon {

class BatchFeed : public Feed {
 public:
  // Buffers for the features of `data`, and a pipeline over them starting at `from`. FEED inputs of the
  // executable are found by name among the features.
  static Result<std::unique_ptr<BatchFeed>> create(const Executable& executable, const Dataset& data,
                                                   const PipelineState& from);

  // A full batch: the next one for iteration i. At the end of the input, or at a partial batch when
  // only full ones are wanted, false; status() tells an error from an end.
  bool next(uint64_t i, std::span<Buffer*> feeds) override;
  void release(uint64_t i) override;

  const Status& status() const { return status_; }
  bool ended() const { return ended_; }
  // The partial batch that next() stopped at (rows > 0), still held; its feature buffers.
  const Batch& partial() const { return partial_; }
  const Buffer& partial_feature(size_t feed) const { return slots_[partial_.slot][feature_of_feed_[feed]]; }

  // Where a new feed would go on after what was released.
  PipelineState state() const { return state_; }
  InputPipeline& pipeline() { return *pipeline_; }

 private:
  explicit BatchFeed(int64_t batch_size) : batch_size_(batch_size) {}
  int64_t batch_size_;
  std::vector<std::vector<Buffer>> slots_;  // [slot][feature]
  std::vector<size_t> feature_of_feed_;
  std::unique_ptr<InputPipeline> pipeline_;
  Batch held_, partial_;
  PipelineState state_;
  Status status_;
  bool ended_ = false;
};

}  // namespace tenon
