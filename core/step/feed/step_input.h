// Where the batches of a step come from: one input pipeline, or several side by side, as those of hosts or of cores, whose
// batches stand one behind the other in the step's, in the order of their units.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "step/feed/spread.h"

namespace tenon {

struct StepInput {
  explicit StepInput(Dataset data) : batch_size(data.options().batch_size), datasets{std::move(data)} {}
  // An input function is called for each pipeline of `spread`, in order. Errors: a batch that does not divide
  // by the units, a function that fails or gives other batches than it was asked for.
  static Result<StepInput> make(const TrainInput& input, const Spread& spread, const Params& params,
                                Mode mode = Mode::kTrain);

  const std::vector<FeatureSpec>& specs() const { return datasets[0].specs(); }
  uint64_t data_fingerprint() const;  // of all pipelines' data; 0: unknown
  std::string data_text() const;      // what is the same where two have the same data

  int64_t batch_size;             // of the step, on all units
  std::vector<Dataset> datasets;  // one a pipeline; each gives as many rows of a step, in one batch or several

 private:
  StepInput(int64_t batch, std::vector<Dataset> pipelines) : batch_size(batch), datasets(std::move(pipelines)) {}
};

// The pipelines of a StepInput, run in step. Each has a ring of its own in the memory of the step's batches and is filled
// ahead by the pool's threads. What holds of an InputPipeline holds here, but that of several pipelines only whole batches
// are given: the stream ends with the first that has none.
class StepPipeline {
 public:
  // Each slot has the memory of a whole batch.
  static Result<std::unique_ptr<StepPipeline>> create(const StepInput& input, ThreadPool& pool,
                                                      const std::vector<BatchSlot>& slots, const PipelineState& from);

  Result<Batch> next();
  void release(int slot);
  PipelineState state_after(const Batch& batch) const { return {batch.end_sample, fingerprint_, data_}; }
  bool resumed_exactly() const;
  // In the epoch of the pipeline that the row is of.
  int64_t position(const Batch& batch, int64_t row) const;
  std::string where(const Batch& batch, int64_t row) const;
  const std::vector<FeatureSpec>& specs(int bucket) const { return datasets_[0].specs(bucket); }
  int64_t corrupt_records() const;
  double wait_seconds() const;  // InputPipeline's, of all
  double busy_seconds() const;  // of the slowest
  std::vector<std::string> lost() const;

 private:
  explicit StepPipeline(const StepInput& input);
  bool alone() const { return pipelines_.size() == 1 && parts_ == 1; }
  BatchSlot part_of(const BatchSlot& slot, const std::vector<FeatureSpec>& specs, int64_t first_row) const;
  PipelineState state_of(const PipelineState& all, const Dataset& data) const;
  Result<Batch> next_of(size_t pipeline, int part);
  Result<Batch> join();

  int64_t batch_size_, rows_;  // of a step, of a pipeline's batch
  int parts_;                  // batches of a pipeline in a step
  size_t count_;               // of pipelines
  uint64_t fingerprint_ = 0, data_ = 0;
  bool ended_ = false;
  std::vector<Dataset> datasets_;
  std::vector<std::unique_ptr<InputPipeline>> pipelines_;
};

}  // namespace tenon
