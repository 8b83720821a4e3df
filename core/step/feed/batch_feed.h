// Batches on their way from the input pipelines to a run: a ring of 2 to 8 batches in HOST buffers that the pipelines fill
// and the device reads in place.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "step/feed/step_input.h"
#include "step/program.h"
#include "tenon/throughput.h"

namespace tenon {

// The type of a feature's buffer that is dealt over the units: the whole batch, or each unit's share after the other where
// the batch is the minor-most dimension.
Type dealt_type(const FeatureSpec& spec, int64_t batch, int replicas);

class BatchFeed : public Feed {
 public:
  // Buffers for the features of `input`, and its pipelines over them starting at `from`. FEED inputs of the
  // program are found by name among the features.
  // `interrupted`, if set, is asked before every batch of a call of the device but its first.
  static Result<std::unique_ptr<BatchFeed>> create(const StepProgram& program, const StepInput& input,
                                                   const PipelineState& from, std::function<bool()> interrupted = {});

  // Up to n steps in one call of the device; its time is taken. `around`: what the device is to ask in the place of this.
  Result<uint32_t> run(StepProgram& program, Queue& queue, uint32_t n, Feed* around = nullptr);
  // Counts all that run() did, and what count_partial() was told.
  Throughput throughput() const { return {examples_, pipeline_->busy_seconds(), device_seconds_}; }

  // The next full batch for iteration i of a call. False at the end of the input, at a batch with fewer rows (the last
  // one, or one that lost damaged records), which partial() then holds, after an error: status(), and for good once it
  // was interrupted: stopped(). Labels and indices out of range are errors.
  bool next(uint64_t i, std::span<Buffer*> feeds) override;
  // Whether a batch of any size, or an error, comes next or lies in partial(). Waits for it.
  bool more();
  void release(uint64_t i) override;

  const Status& status() const { return status_; }
  // next() will give nothing more, as there is nothing or after an error.
  bool ended() const { return ended_; }
  // An interruption ended it where the input goes on.
  bool stopped() const { return stopped_; }
  // The batch that next() stopped at (0 rows: none); its feature buffers. next() goes on once it is released.
  // It is each batch where data have buckets.
  const Batch& partial() const { return partial_; }
  // The features of an example in it.
  const std::vector<FeatureSpec>& partial_specs() const { return pipeline_->specs(partial_.bucket); }
  // Its first `rows`, one buffer a FEED input of a program for so many or more; those behind the last one are zero.
  // REQUIRED: a multiple of the program's replicas, at most the batch size.
  // Buffers that are there already are taken.
  Status fill_partial(const StepProgram& program, Queue& queue, int64_t rows, std::vector<Buffer>& buffers) const;
  void release_partial();
  // A step on it took so long.
  void count_partial(double seconds) {
    examples_ += partial_.rows;
    device_seconds_ += seconds;
  }
  // The stream ends behind so many rows more; a batch that reaches across is a partial one.
  void limit(int64_t rows) { left_ = rows; }
  // Where the rows of the last batch stand in their epoch, from 0. Not of training, which asks for none.
  int64_t position(int64_t row) const { return positions_[static_cast<size_t>(row)]; }

  // The float of the batch that next() gave last that is farthest from 0, or the first that is no finite number.
  struct FarFeature {
    double value = 0;
    std::string text;  // "feature 'x' is 1e+30 in FILE: record at offset 9"; "" where no feature is a float
  };
  FarFeature farthest() const;

  // Where a new feed would go on after what was released.
  PipelineState state() const { return state_; }
  StepPipeline& pipeline() const { return *pipeline_; }

 private:
  // A batch on its way: what the device reads of it, and in a process of several all of it where that is asked for.
  struct Memory {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  struct Slot {
    std::vector<Buffer> features;
    std::vector<std::unique_ptr<std::byte[], Memory>> whole;
  };

  BatchFeed(int64_t batch_size, const StepProgram& program);
  Result<BatchSlot> make_slot(const StepProgram& program);
  bool is_shared() const { return rows_ < batch_size_; }
  const void* rows_of(const Batch& batch, size_t feature, bool own) const;
  void copy_own(const Batch& batch);
  Result<Batch> next_batch();
  Status take(const Batch& batch);
  Status check(const Batch& batch) const;
  Status write_partial(Queue& queue, size_t feed, const Buffer& to, int64_t share, int replicas,
                       const Device& device) const;

  struct Checked {
    size_t feature;
    IndexRange range;
  };
  int64_t batch_size_;
  int replicas_;
  int64_t rows_, first_row_;  // of a batch, that the units of this process have
  bool fills_own_;            // rows of whole batches, and no others
  int64_t left_ = INT64_MAX;
  std::vector<FeatureSpec> specs_;
  std::vector<Checked> checked_;
  std::vector<int64_t> positions_;          // empty: none are asked for
  std::vector<Slot> slots_;
  std::vector<size_t> feature_of_feed_;
  std::unique_ptr<StepPipeline> pipeline_;
  std::vector<Batch> held_;            // by the device, in order: as many as its feed_depth
  std::optional<Result<Batch>> seen_;  // by more(), and not taken yet
  Batch partial_;
  PipelineState state_;
  Status status_;
  std::function<bool()> interrupted_;
  bool ended_ = false, stopped_ = false;
  int64_t examples_ = 0;
  double device_seconds_ = 0;
};

}  // namespace tenon
