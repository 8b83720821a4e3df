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

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/status.h"
#include "tenon/types.h"

namespace tenon {

// Threads for the tasks of a pipeline. A process has one pool, which the training loop makes; a program that runs a
// pipeline by itself makes its own. One thread means that the consumer does everything in next().
class ThreadPool;
std::shared_ptr<ThreadPool> make_thread_pool(int threads);

// What is drawn for each training image. Each member can be switched off.
struct Augmentation {
  int crop_pad = 10;                  // resize to (height + pad) x (width + pad), crop at random; 0: no crop
  bool flip = true;                   // left to right, for half of the images
  float brightness = 63.0f / 255.0f;  // adds U(-brightness, brightness) to pixels in [0, 1]; 0: off
  float contrast_lower = 0.2f;        // (x - mean of the channel) * U(lower, upper) + mean;
  float contrast_upper = 1.8f;        // both 1: off
  static Augmentation none() { return {0, false, 0.0f, 1.0f, 1.0f}; }
};

enum class PixelRange {
  kMinusOneToOne,  // (x - 0.5) * 2
  kZeroToOne,      // x
};

// Batches of records of about one length, as TensorFlow's bucket_by_sequence_length makes them: each bucket has its own shape, so
// that little is computed for padding. A batch of the last bucket has batch_size rows, one of a shorter bucket as many more as
// the same number of elements allows. An example goes into the first bucket that it fits; a batch comes when a bucket is full. What a bucket
// still holds at the end of an epoch waits for the next one: such data train, and repeat.
struct LengthBuckets {
  std::vector<int64_t> boundaries =
      {};  // the most elements of each bucket, rising; longer examples are left out. None: no buckets
  int64_t rows_divide_by = 1;  // rows are a multiple of it, as units want them
  // Of a record. Called once for each when the data are opened, from many threads.
  std::function<Result<int64_t>(std::string_view record)> length = {};
};
// Those of TensorFlow's Transformer: from 8 on each a tenth longer than the one before, at least by one, and `longest`.
std::vector<int64_t> length_boundaries(int64_t longest);

struct InputOptions {
  // Which files: a directory and a split ("train", "validation": DIR/SPLIT-00000-of-0000N, all N of them), or
  // a pattern as the shell knows them. Unused for data in memory.
  std::string data_dir = {};
  std::string split = {};
  std::string file_pattern = {};

  int64_t batch_size = 32;
  bool training = false;          // shuffles and augments
  bool repeat = false;            // for ever; a batch may then span two epochs
  bool drop_remainder = false;    // else the last batch has fewer rows
  int64_t shuffle_buffer = 1024;  // examples; 0 or 1: not shuffled. Data in memory is shuffled as a whole.
  int interleave = 64;            // files read in turn
  uint64_t seed = 0;
  int shard_index = 0;  // this worker's part: files when there are enough of them, else every
  int shard_count = 1;  // shard_count-th record
  // A record that is damaged ends the stream, or is counted and left out: while training (or with
  // drop_remainder) the batch's next good row stands in for it, otherwise the batch has fewer rows.
  bool skip_corrupt = false;
  int prefetch = 0;  // batches made ahead; 0: grows while next() has to wait, up to the number of slots
  // Of from_records: features are of the last boundary along their first axis, and become shorter with the bucket.
  LengthBuckets buckets = {};
  // Of from_records: which records are examples; the others are left out and counted (Dataset::left_out). Called once for each when
  // the data are opened, from many threads. None: all are.
  std::function<Result<bool>(std::string_view record)> keep = {};

  // Images: "image" is f32[height, width, channels], "label" i32 in [0, num_classes).
  int height = 0;
  int width = 0;
  int channels = 3;  // 3 or 1
  int num_classes = 0;
  // Decode a JPEG at 1/2, 1/4 or 1/8 of its size while that still covers the resized image: several times faster for
  // large photos, and smoother than the resize alone.
  bool scale_decode = false;
  bool transpose = false;  // the batch of images is [height, width, channels, batch]
  Augmentation augmentation = {};
  PixelRange range = PixelRange::kMinusOneToOne;
};

// One feature of an example: "image", f32[28,28,1]. A batch of it is [batch, ...shape], or [...shape, batch]
// when it is batch_minor.
struct FeatureSpec {
  std::string name = {};
  Type type = {};
  bool batch_minor = false;

  Type batch_type(int64_t batch) const;
};

// Numbers that depend on nothing but (seed, stream, sample): drawn from counters, never from a shared state.
class SampleRandom {
 public:
  SampleRandom(uint64_t seed, uint32_t stream, uint64_t sample) : seed_(seed), sample_(sample), stream_(stream) {}
  uint32_t bits();
  float uniform(float lower, float upper);  // [lower, upper)
  int below(int n);                         // 0 .. n-1. REQUIRED: n > 0

 private:
  uint64_t seed_;
  uint64_t sample_;
  uint32_t stream_;
  uint32_t used_ = 0;
  uint32_t words_[4];
};

// The example that a map function is asked for.
struct Sample {
  uint64_t index = 0;  // place in the stream since the first epoch began
  uint64_t epoch = 0;
  uint64_t seed = 0;
  bool training = false;

  SampleRandom random(uint32_t stream = 0) const { return {seed, stream + 16, index}; }
};

// Where one example goes: for each feature, in the order of the specs, the memory of its row.
class Slots {
 public:
  Slots(std::span<void* const> rows, std::span<const size_t> bytes) : rows_(rows), bytes_(bytes) {}
  size_t size() const { return rows_.size(); }
  // The elements of one example. REQUIRED: feature < size(), T is the type that the spec names.
  template <class T>
  std::span<T> get(size_t feature) const {
    return {static_cast<T*>(rows_[feature]), bytes_[feature] / sizeof(T)};
  }

 private:
  std::span<void* const> rows_;
  std::span<const size_t> bytes_;
};

// Turns one record, or the example of one index, into features. Called from many threads at once. kInvalid means
// that the record is damaged (see skip_corrupt); any other error ends the stream. Must fill every element.
using MapFn = std::function<Status(std::string_view record, const Sample& sample, Slots& out)>;
using ExampleFn = std::function<Status(int64_t example, const Sample& sample, Slots& out)>;

// All examples of one feature in memory, one after the other.
struct MemoryFeature {
  FeatureSpec spec;
  std::vector<std::byte> data;
  std::span<const std::byte> lent = {};  // in its place: the caller's, who keeps it while there is a Dataset of it
  std::span<const std::byte> bytes() const { return lent.empty() ? std::span<const std::byte>(data) : lent; }
};

// REQUIRED: T has the size of the dtype.
template <class T>
MemoryFeature memory_feature(std::string name, DType dtype, const Shape& example, std::span<const T> values) {
  MemoryFeature feature{{std::move(name), {dtype, example}}, std::vector<std::byte>(values.size_bytes())};
  if (!values.empty()) std::memcpy(feature.data.data(), values.data(), values.size_bytes());
  return feature;
}

// Where a stream stands; small enough to write into every checkpoint.
struct PipelineState {
  uint64_t samples = 0;      // examples that were delivered since the first epoch began
  uint64_t fingerprint = 0;  // of the files, the seed and what else decides the order; 0: unknown
  uint64_t data = 0;         // Dataset::data_fingerprint(); 0: unknown
};

// What there is to read and how. A cheap handle to something immutable; safe to copy and to share.
class Dataset {
 public:
  // Image records as `tenon convert` writes them: image/encoded, image/format (JPEG, PNG or RAW) and
  // image/class/label = class + 1. Errors name the file, and the record's offset where there is one. With a pool
  // the files are indexed in parallel.
  static Result<Dataset> images(InputOptions options, ThreadPool* pool = nullptr);

  // JPEG or PNG files, in order, without labels: "image" alone, as records have it when not training. Errors name the file.
  static Result<Dataset> image_files(std::vector<std::string> paths, InputOptions options);

  // TFRecord files whose records `map` turns into `specs`.
  static Result<Dataset> from_records(InputOptions options, std::vector<FeatureSpec> specs, MapFn map,
                                      ThreadPool* pool = nullptr);

  // Arrays by the features' names, with an example a row, of which each has as many. Throws Error where they have not. Those that
  // are moved into it are not copied; MemoryFeature::lent has memory that stays the caller's.
  static Dataset from_arrays(Arrays features, InputOptions options = {});

  // The same with types of one's own. Nothing is thrown.
  static Result<Dataset> from_memory(std::vector<MemoryFeature> features, InputOptions options);

  // Examples 0 .. size-1 that `example` makes one at a time.
  static Result<Dataset> from_function(int64_t size, std::vector<FeatureSpec> specs, ExampleFn example,
                                       InputOptions options);

  // The same examples in the same order, whose features of these names are converted as they are read: to any float, rounded
  // to nearest even, or bytes, bools and integers to i32 or i64. Throws Error for other types, and where there is no such feature.
  Dataset cast(const std::map<std::string, DType>& dtypes) const;

  const std::vector<FeatureSpec>& specs() const;
  // Of an example in a batch of that bucket (Batch::bucket).
  const std::vector<FeatureSpec>& specs(int bucket) const;
  int64_t left_out() const;  // records that options.keep does not want, or that are longer than the last bucket
  const InputOptions& options() const;
  int64_t size() const;          // examples in an epoch of this shard
  int64_t batches() const;       // in an epoch that does not repeat
  uint64_t fingerprint() const;  // equal for data and options that give the same order
  // A fingerprint of what is read: names, sizes and record counts of the files and some of their records' checksums, or some of
  // what is in memory. Other data of as many records have another, unless they differ in little but the records in between.
  // 0 where a function makes the examples.
  uint64_t data_fingerprint() const;
  PipelineState epoch(uint64_t epoch) const;  // the state at which an epoch begins
  // Whether the other is a copy of this one.
  bool same(const Dataset& other) const { return impl_ == other.impl_; }

  struct Impl;

 private:
  friend class InputPipeline;
  explicit Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Memory for one batch, the caller's: one pointer a feature, each of batch_type(batch_size).bytes() bytes.
struct BatchSlot {
  std::vector<void*> features;
  // How many blocks the batch of batch-minor features is dealt to, each [...shape, batch / blocks], one after the other.
  // Must divide the batch size.
  int blocks = 1;
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

}  // namespace tenon
