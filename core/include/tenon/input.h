// The input pipeline: from record files, memory or a function to batches in the caller's buffers.
//
//   Dataset data = Dataset::images({.data_dir = "/data/flowers", .split = "train", .batch_size = 256,
//                                   .training = true, .repeat = true, .height = 299, .width = 299,
//                                   .num_classes = 5}).take();
//   auto pipeline = InputPipeline::create(data, pool, slots).take();
//   for (;;) {
//     Batch batch = pipeline->next().take();
//     if (batch.end()) break;
//     ...                                   // read the memory of slots[batch.slot]
//     pipeline->release(batch.slot);
//   }
//
// The order of the examples is integer arithmetic over (file, record) and needs no data: files are shuffled in
// each epoch, up to `interleave` of them are read in turn, one record each, through a shuffle buffer that is
// emptied at the end of the epoch, so that an epoch delivers each example exactly once. Records are read,
// checked, decoded and augmented in parallel, each straight into its row of the batch. All random numbers come
// from Philox4x32-10 keyed by the seed and counted by the example's place in the stream. Hence the same seed
// gives the same batches whatever the number of threads, and a stream can be taken up at any example.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/dataset.h"
#include "tenon/status.h"

namespace tenon {

// Memory for one batch, the caller's: one pointer a feature, each of batch_type(batch_size).bytes() bytes.
struct BatchSlot {
  std::vector<void*> features;
  // How many blocks the batch of batch-minor features is dealt to, each [...shape, batch / blocks], one after the
  // other. Must divide the batch size.
  int blocks = 1;
  // Not 0: one of several processes, which has these rows of each whole batch. Pointers in `features` are to them
  // alone; other batches, those with fewer rows and those of buckets, are for every process and go to `rest`, a pointer
  // a feature as above.
  int64_t first_row = 0, rows = 0;
  std::vector<void*> rest = {};
  int rest_blocks = 1;
};

struct Batch {
  int slot = -1;
  int64_t rows = 0;  // valid ones; the rows behind them are zero
  uint64_t end_sample = 0;
  int bucket = -1;  // of data with buckets: Dataset::specs(bucket)

  bool end() const { return slot < 0; }
};

// A ring of batches that are filled ahead of their use. One consumer: next(), release() and restart() are called by
// one thread at a time. The pool and the slots' memory must outlive the pipeline.
class InputPipeline {
 public:
  // Starts to fill slots at once. A stream that does not repeat ends with the epoch in which `from` lies.
  static Result<std::unique_ptr<InputPipeline>> create(Dataset dataset, ThreadPool& pool, std::vector<BatchSlot> slots,
                                                       PipelineState from = {});
  ~InputPipeline();  // waits for the tasks under way
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  // The next batch in order, or end() after the last one. Runs the pool's tasks while it waits. The batch's memory
  // belongs to the caller until release(). After an error every call returns that error.
  Result<Batch> next();

  // Gives a slot that next() returned back, to be filled again.
  void release(int slot);

  // Drops what was made ahead and goes on from `from`. REQUIRED: all slots are released.
  Status restart(const PipelineState& from);

  // From here a new pipeline goes on with the first example that is not in `batch` or before it.
  PipelineState state_after(const Batch& batch) const;

  // False when `from` was taken from other data or another order: then the place in the stream is only alike.
  bool resumed_exactly() const;

  // Where a row of a batch that is held stands in the epoch, from 0. Records that were left out count.
  int64_t position(const Batch& batch, int64_t row) const;
  // The same for messages: "FILE: record at offset N", "example N".
  std::string where(const Batch& batch, int64_t row) const;

  int64_t corrupt_records() const;  // different ones, left out so far; the rest of a file counts as one
  // For each file whose framing is broken: "the rest of FILE is lost, N bytes from offset M on".
  std::vector<std::string> lost() const;
  int prefetch() const;         // batches made ahead at present
  double wait_seconds() const;  // in which next() and release() waited for a batch or made one, so far
  double busy_seconds() const;  // in which a batch was being made, so far

 private:
  struct Impl;
  explicit InputPipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Where the work of images goes that all threads of the process do while one of these lives: seconds of a core in which
// records and files were read, images decoded, and pixels changed (resized, cut, turned, ..). Reading a clock takes
// some microseconds an image.
class InputWork {
 public:
  InputWork();
  ~InputWork();
  InputWork(const InputWork&) = delete;
  InputWork& operator=(const InputWork&) = delete;

  struct Seconds {
    double read = 0, decode = 0, change = 0;
  };
  Seconds seconds() const;

 private:
  Seconds begun_;
};

}  // namespace tenon
