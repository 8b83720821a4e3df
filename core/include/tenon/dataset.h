// What there is to read and how: sources, and verbs that make one Dataset of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/element.h"
#include "tenon/image_options.h"
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

// Batches of records of about one length, as TensorFlow's bucket_by_sequence_length makes them: each bucket has its own
// shape, so that little is computed for padding. A batch of the last bucket has batch_size rows, one of a shorter
// bucket as many more as the same number of elements allows. An example goes into the first bucket that it fits; a
// batch comes when a bucket is full. What a bucket still holds at the end of an epoch waits for the next one: such data
// train, and repeat.
struct LengthBuckets {
  std::vector<int64_t> boundaries =
      {};  // the most elements of each bucket, rising; longer examples are left out. None: no buckets
  int64_t rows_divide_by = 1;  // rows are a multiple of it, as units want them
  // How long a record is. Called once for each when the data are opened, from many threads.
  std::function<Result<int64_t>(std::string_view record)> length = {};
};
// Those of TensorFlow's Transformer: from 8 on each a tenth longer than the one before, at least by one, and `longest`.
std::vector<int64_t> length_boundaries(int64_t longest);

// Images are kept as they were decoded, before anything random, so that later epochs need not decode them: the batches
// are the same. What has no room is decoded anew each time, which is said on stderr.
struct ImageCache {
  bool on = false;
  // Where they are kept; empty: in memory. The file appears when all images are in it, and serves later runs; one of
  // other data or other options is an error.
  std::string file = {};
  int64_t max_bytes = 0;  // 0: what there is room for
};

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
  int64_t ram_budget = 0;  // bytes that batches made ahead may take; at least one is; 0: no limit but the slots'
  // For from_records: features are of the last boundary along their first axis, and become shorter with the bucket.
  LengthBuckets buckets = {};
  // from_records: which records are examples; the others are left out and counted (Dataset::left_out). Called once for
  // each when the data are opened, from many threads. None: all are.
  std::function<Result<bool>(std::string_view record)> keep = {};

  // Images: "image" is f32[height, width, channels], "label" i32 in [0, num_classes). Each of the features of a record
  // may have another name; where `format_feature` is not there, the bytes tell what they are. The first class is
  // label_offset there.
  std::string image_feature = "image/encoded", format_feature = "image/format", label_feature = "image/class/label";
  int64_t label_offset = 1;
  int height = 0;
  int width = 0;
  int channels = 3;  // 3 or 1, or 4 (alpha)
  int num_classes = 0;
  // Decode a JPEG at 1/2, 1/4 or 1/8 of its size while that still covers the resized image: several times faster for
  // large photos, and smoother than the resize alone.
  bool scale_decode = false;
  bool transpose = false;  // the batch of images is [height, width, channels, batch]
  Augmentation augmentation = {};
  PixelRange range = PixelRange::kMinusOneToOne;
  ResizeKind resize = ResizeKind::kLegacy;
  Alpha alpha = Alpha::kDrop;           // with kKeep channels is 4
  Colour background = {255, 255, 255};  // of Alpha::kBlend
  bool deep_pixels = false;  // PNGs of 16 bits are read with all of them, rather than with the upper 8
  ImageCache cache = {};
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

inline constexpr int64_t kInfiniteCardinality = -1, kUnknownCardinality = -2;
inline constexpr int64_t kAutotune = -1;

struct CsvOptions {
  bool header = true;  // the first line of each file has the names; else they are column_0, ...
  char delimiter = ',';
  // The types of columns by name: i32, i64, f32, f64, bool (0, 1, true, false), or u8 for text (u8[..]). All others:
  // i64, f32 or text, whichever the first row is.
  std::map<std::string, DType> types = {};
  std::vector<std::string> select = {};  // columns; empty: all
  std::map<std::string, double> defaults = {};  // of empty fields, by column; without one an empty field is an error
};

struct ShuffleOptions {
  uint64_t seed = 0;
  bool reshuffle_each_iteration = true;
};

struct SampleOptions {
  uint64_t seed = 0;
  bool stop_on_empty_dataset = false;
};

// By feature: a size an axis, -1: that of the longest in the batch; and what fills the rest.
struct PaddedBatchOptions {
  std::map<std::string, std::vector<int64_t>> padded_shapes = {};
  std::map<std::string, double> padding_values = {};  // 0 where there is none
  bool drop_remainder = false;
};

struct BucketOptions {
  // as of PaddedBatchOptions: every axis is of unknown size elsewhere
  std::map<std::string, std::vector<int64_t>> padded_shapes = {};
  std::map<std::string, double> padding_values = {};
  // Axes of unknown size get the boundary - 1, not the longest of the batch: as many shapes as buckets, which a device
  // wants. Elements longer than the last boundary are then an error.
  bool pad_to_bucket_boundary = false;
  bool drop_remainder = false;
};

// Runs through the elements of an epoch. One thread.
class ElementIterator {
 public:
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  ElementIterator();
  ElementIterator(ElementIterator&&) noexcept;
  ElementIterator& operator=(ElementIterator&&) noexcept;
  ~ElementIterator();
  Element& operator*() const;
  ElementIterator& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const;

 private:
  friend class Dataset;
  struct Impl;
  explicit ElementIterator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What there is to read and how. A cheap handle to something immutable; safe to copy and to share.
class Dataset {
 public:
  // Image records as `tenon convert` writes them: image/encoded, image/format (JPEG, PNG, WebP or RAW) and
  // image/class/label = class + 1. Errors name the file, and the record's offset where there is one. With a pool
  // the files are indexed in parallel.
  static Result<Dataset> images(InputOptions options, ThreadPool* pool = nullptr);

  // JPEG, PNG or WebP files, in order, without labels: "image" alone, as records have it when not training. Errors name
  // the file.
  static Result<Dataset> image_files(std::vector<std::string> paths, InputOptions options);

  // TFRecord files whose records `map` turns into `specs`.
  static Result<Dataset> from_records(InputOptions options, std::vector<FeatureSpec> specs, MapFn map,
                                      ThreadPool* pool = nullptr);

  // Arrays by the features' names, with an example a row, of which each has as many. Throws Error where they have not.
  // Those that are moved into it are not copied; MemoryFeature::lent has memory that stays the caller's.
  static Dataset from_arrays(Arrays features, InputOptions options = {});

  // The same with types of one's own. Nothing is thrown.
  static Result<Dataset> from_memory(std::vector<MemoryFeature> features, InputOptions options);

  // Examples 0 .. size-1 that `example` makes one at a time.
  static Result<Dataset> from_function(int64_t size, std::vector<FeatureSpec> specs, ExampleFn example,
                                       InputOptions options);

  // The same examples in the same order, whose features of these names are converted as they are read: to any float,
  // rounded to nearest even, or bytes, bools and integers to i32 or i64. Throws Error for other types, and where there
  // is no such feature.
  Dataset cast(const std::map<std::string, DType>& dtypes) const;

  // ---- Chains ----
  //
  //   Dataset train = Dataset::from_files(paths, labels).map(read_image({.height = 224, .width = 224})).cache()
  //                       .shuffle(2048).map(random_flip()).batch(128, true).prefetch();
  //   for (const Element& batch : train) ...            // or model.fit(train), or function(train)
  //
  // The names and what they do are tf.data's; share/doc/datasets.md says what differs. A chain is a description:
  // nothing is read before it is run, but for one element, which tells the shapes. The order is arithmetic, so the same
  // batches come for any number of threads. What is drawn for an element depends on its place at the source, on how
  // often that was read before, and on where in the chain it is drawn. A mistake in an argument throws Error at the
  // verb, a damaged element where it is read; the message names file and record. A Dataset that options describe
  // (above) is a source whose elements are its examples, in its order, of one epoch; its batch and repetition do not
  // count.

  // Files, each an element: "path" u8[..] and its bytes, "data" u8[..]; with labels, as many as files, "label" i32.
  static Dataset from_files(std::vector<std::string> paths, std::vector<int32_t> labels = {});
  // The files that a pattern of the shell names, sorted, or shuffled in each epoch: "path".
  static Dataset list_files(const std::string& pattern, bool shuffle = true, uint64_t seed = 0);
  // Folders with a class a directory, in the order of their names: as from_files. *classes gets the names. All files
  // below them but hidden ones: a function that cannot use one, a PDF among images, names it in its error, and
  // ignore_errors() leaves it out.
  static Dataset from_directory(const std::string& directory, std::vector<std::string>* classes = nullptr);
  // Lines of text files, one file after the other, without their ends: "line" u8[..]. Here and below GZIP and ZLIB are
  // known by their first bytes.
  static Dataset from_text_lines(std::vector<std::string> files);
  // TFRecord files, one after the other: "record" u8[..]; parse_example (element_maps.h) makes features of it. Where
  // the framing of a file breaks off, one element that cannot be read stands for the rest of it.
  static Dataset from_records(std::vector<std::string> files);
  // Rows of CSV files (RFC 4180), a scalar a column by the column's name. A row that is not of its columns' types is an
  // error with file, line and column.
  static Dataset from_csv(std::vector<std::string> files, const CsvOptions& options = {});
  // What `begin` makes is called until it gives nothing; `begin` is called anew for each epoch. Runs in one thread at a
  // time.
  using Generator = std::function<std::optional<Element>()>;
  static Dataset from_generator(std::function<Generator()> begin, int64_t cardinality = kUnknownCardinality);
  // start, start + step, ... below stop: "x" i64.
  static Dataset range(int64_t start, int64_t stop, int64_t step = 1);

  Dataset map(const ElementMap& fn, uint64_t seed = 0) const;
  Dataset filter(std::function<bool(const Element&)> keep) const;
  Dataset shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset repeat(int64_t count = -1) const;  // -1: for ever
  Dataset take(int64_t count) const;         // -1: all
  Dataset skip(int64_t count) const;         // -1: all
  Dataset shard(int64_t num_shards, int64_t index) const;
  // the elements at these places, counted from 0, in the order of the data
  Dataset pick(std::vector<int64_t> places) const;
  Dataset concatenate(const Dataset& next) const;
  // Elements with the features of all; no two may have a feature of one name. Ends with the shortest.
  static Dataset zip(std::vector<Dataset> datasets);
  // An element of each in turn, as `weights` say it by chance; those of a dataset come in its order.
  static Dataset sample_from_datasets(std::vector<Dataset> datasets, std::vector<double> weights = {}, const SampleOptions& options = {});
  // Datasets that `fn` makes of elements: cycle_length of them in turn, block_length elements of each.
  Dataset interleave(std::function<Dataset(const Element&)> fn, int cycle_length = 1, int block_length = 1) const;
  Dataset flat_map(std::function<Dataset(const Element&)> fn) const { return interleave(std::move(fn)); }
  // Values are kept as they come the first time: random numbers below a cache are drawn once, which is said on stderr.
  // With a path they are kept in that file, which appears when an epoch has been read to its end; one of another chain,
  // or of other data, is an error.
  Dataset cache(const std::string& path = {}) const;
  Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
  Dataset padded_batch(int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  // batch_sizes has one more than boundaries, which rise: an element of length x is of the first bucket whose boundary
  // is > x.
  Dataset bucket_by_sequence_length(std::function<int64_t(const Element&)> length, std::vector<int64_t> boundaries,
                                    std::vector<int64_t> batch_sizes, const BucketOptions& options = {}) const;
  Dataset unbatch() const;
  // `size` elements as one, stacked along a new first axis: tf.data's window(..).flat_map(batch of size). shift 0:
  // size.
  Dataset window(int64_t size, int64_t shift = 0, int64_t stride = 1, bool drop_remainder = false) const;
  // So many batches are made ahead; kAutotune: as many as it takes, within `ram_budget` bytes.
  Dataset prefetch(int64_t buffer_size = kAutotune, int64_t ram_budget = 0) const;
  // Elements that cannot be read are left out.
  Dataset ignore_errors() const;

  // Elements of an epoch, kInfiniteCardinality, or kUnknownCardinality where that is only known when they have been
  // read.
  int64_t cardinality() const;

  // One epoch, read ahead by `threads` threads; 0: those of the machine. Errors are thrown by ++ and begin().
  ElementIterator begin() const { return elements(); }
  std::default_sentinel_t end() const { return {}; }
  ElementIterator elements(int threads = 0, uint64_t epoch = 0) const;

  const std::vector<FeatureSpec>& specs() const;
  // The specs of an example in a batch of that bucket (Batch::bucket).
  const std::vector<FeatureSpec>& specs(int bucket) const;
  int64_t left_out() const;  // records that options.keep does not want, or that are longer than the last bucket
  // For messages: why size() is not larger, of records that were left out and files whose rest is lost; empty: nothing
  // was passed over.
  std::string passed_over() const;
  const InputOptions& options() const;
  int64_t size() const;          // examples in an epoch of this shard
  int64_t batches() const;       // in an epoch that does not repeat
  uint64_t fingerprint() const;  // equal for data and options that give the same order
  // A fingerprint of what is read: names, sizes and record counts of the files and some of their records' checksums, or
  // some of what is in memory. Other data of as many records have another, unless they differ in little but the records
  // in between. 0 where a function makes the examples.
  uint64_t data_fingerprint() const;
  PipelineState epoch(uint64_t epoch) const;  // the state at which an epoch begins
  // Whether the other is a copy of this one.
  bool same(const Dataset& other) const { return impl_ == other.impl_; }

  struct Impl;

 private:
  friend class InputPipeline;
  friend class ChainNode;
  explicit Dataset(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& sealed() const;
  const Impl& ready() const { return *sealed(); }
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tenon
