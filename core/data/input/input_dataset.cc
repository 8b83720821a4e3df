#include "data/input/input_dataset.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/image/decoded_images.h"
#include "data/input/input_sources.h"
#include "data/items.h"
#include "data/random_bits.h"

namespace tenon {

Status Source::look_at(const RecordRef& ref, const std::function<Status(std::string_view)>&) const {
  return invalid(where({.ref = ref}), ": is no record");
}

namespace {

// The part of `records` records, numbered from `base` in all the data, that belongs to this worker.
FilePart stride_part(uint32_t file, uint64_t base, uint64_t records, const InputOptions& o) {
  const uint64_t stride = static_cast<uint64_t>(o.shard_count);
  const uint64_t first = (static_cast<uint64_t>(o.shard_index) + stride - base % stride) % stride;
  const uint64_t count = first < records ? (records - first + stride - 1) / stride : 0;
  return {file, static_cast<uint32_t>(first), static_cast<uint32_t>(stride), static_cast<uint32_t>(count)};
}

uint64_t fingerprint_of(const OrderOptions& order, const InputOptions& options, const std::vector<uint32_t>& counts) {
  uint64_t hash = mix_hash(0x7e4014, order.seed);
  for (uint64_t value : {static_cast<uint64_t>(order.shuffle), static_cast<uint64_t>(order.shuffle_buffer),
                         static_cast<uint64_t>(order.interleave), static_cast<uint64_t>(options.shard_index),
                         static_cast<uint64_t>(options.shard_count)})
    hash = mix_hash(hash, value);
  for (uint32_t count : counts) hash = mix_hash(hash, count);
  return hash | 1;  // never 0, which means unknown
}

Status check_options(const InputOptions& o) {
  if (o.batch_size < 1) return invalid("batch size: expected at least 1, found ", o.batch_size);
  if (o.batch_size > 1 << 24) return invalid("batch size: expected at most ", 1 << 24, ", found ", o.batch_size);
  if (o.shard_count < 1 || o.shard_index < 0 || o.shard_index >= o.shard_count)
    return invalid("input shard: expected 0 <= index < count, found index ", o.shard_index, " of ", o.shard_count);
  if (o.interleave < 1) return invalid("interleave: expected at least 1 file, found ", o.interleave);
  if (o.cache.on && !o.cache.file.empty() && o.shard_count > 1)
    return invalid("cache ", o.cache.file, ": ", o.shard_count,
                   " workers read the data, expected one, or a cache in memory");
  if (o.shuffle_buffer < 0 || o.prefetch < 0) return invalid("shuffle_buffer and prefetch cannot be negative");
  return {};
}

Status check_specs(const std::vector<FeatureSpec>& specs) {
  if (specs.empty()) return invalid("a dataset needs at least one feature");
  if (specs.size() > kMaxFeatures) return invalid("at most ", kMaxFeatures, " features, found ", specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    if (dtype_bytes(specs[i].type.dtype) <= 0 || specs[i].type.shape.elements() <= 0)
      return invalid("feature '", specs[i].name, "' has no elements: ", specs[i].type.str());
    for (size_t j = 0; j < i; ++j)
      if (specs[i].name == specs[j].name) return invalid("feature '", specs[i].name, "' is there twice");
  }
  return {};
}

// Why there are no more examples; empty: nothing was passed over.
std::string passed_over_text(const std::vector<std::string>& lost, int64_t left_out) {
  std::string out = join_first(lost, 1, "; ");
  if (left_out > 0)
    append(out, cat(out.empty() ? "" : "; ", left_out, left_out == 1 ? " record is" : " records are", " left out"));
  return out;
}

Status check_size(uint64_t size, const InputOptions& o, const std::string& name, const std::string& passed_over) {
  const std::string why = passed_over.empty() ? "" : "; " + passed_over;
  const std::string place = o.shard_count > 1 ? cat(name, " (shard ", o.shard_index, " of ", o.shard_count, ")") : name;
  if (size == 0) return invalid("no examples in ", place, why);
  if ((o.training || o.drop_remainder) && static_cast<uint64_t>(o.batch_size) > size)
    return invalid("batch size ", o.batch_size, " is larger than the ", size, " examples in ", place, why);
  return {};
}

Result<std::shared_ptr<Dataset::Impl>> finish(InputOptions options, std::vector<FeatureSpec> specs,
                                              std::unique_ptr<const Source> source, const std::string& name,
                                              int64_t left_out = 0) {
  auto impl = std::make_shared<Dataset::Impl>();
  const std::vector<uint32_t> counts = source->counts();
  for (uint32_t count : counts) impl->size += count;
  impl->left_out = left_out;
  TENON_TRY(check_size(impl->size, options, name, passed_over_text(source->lost(), left_out)));
  impl->order = {options.training, options.shuffle_buffer, options.interleave, options.seed};
  // Data in memory: drawing from all of it costs no more than from a part.
  if (source->immediate() && options.shuffle_buffer > 1) impl->order.shuffle_buffer = static_cast<int64_t>(impl->size);
  impl->fingerprint = fingerprint_of(impl->order, options, counts);
  impl->data_fingerprint = source->fingerprint();
  for (const FeatureSpec& spec : specs) impl->bytes.push_back(static_cast<size_t>(spec.type.bytes()));
  impl->options = std::move(options);
  impl->specs = std::move(specs);
  impl->source = std::move(source);
  return impl;
}

Status check_buckets(const LengthBuckets& buckets, const InputOptions& o, const std::vector<FeatureSpec>& specs) {
  const std::vector<int64_t>& b = buckets.boundaries;
  if (!buckets.length) return invalid("buckets have no function for the length of a record");
  if (!o.training || !o.repeat || o.shard_count > 1)
    return invalid("buckets are for one worker's data that train and repeat");
  if (b.size() >= BucketTable::kLeftOut || b.front() < 1 ||
      std::adjacent_find(b.begin(), b.end(), std::greater_equal<>()) != b.end())
    return invalid("boundaries of buckets: expected fewer than ", int{BucketTable::kLeftOut},
                   " rising lengths from 1 on");
  if (buckets.rows_divide_by < 1 || o.batch_size % buckets.rows_divide_by != 0)
    return invalid("rows_divide_by is ", buckets.rows_divide_by, ", expected a divisor of the batch size ",
                   o.batch_size);
  for (const FeatureSpec& spec : specs)
    if (spec.type.shape.rank() < 1 || spec.type.shape[0] != b.back() || spec.batch_minor)
      return invalid("feature '", spec.name, "' is ", spec.type.str(), ", expected the last boundary ", b.back(),
                     " along its first axis");
  return {};
}

// Looks at each record once.
Result<BucketTable> bucket_table(const Dataset::Impl& data, ThreadPool* pool) {
  const LengthBuckets& buckets = data.options.buckets;
  BucketTable table;
  const int64_t last = buckets.boundaries.back(), multiple = buckets.rows_divide_by;
  for (const int64_t length : buckets.boundaries) {
    const int64_t rows = data.options.batch_size * last / length;
    table.rows.push_back(rows / multiple * multiple);
    std::vector<FeatureSpec>& specs = table.specs.emplace_back(data.specs);
    std::vector<size_t>& bytes = table.bytes.emplace_back();
    for (FeatureSpec& spec : specs) {
      spec.type.shape.set(0, length);
      bytes.push_back(static_cast<size_t>(spec.type.bytes()));
    }
  }
  const std::vector<uint32_t> counts = data.source->counts();
  for (const uint32_t count : counts) table.of.emplace_back(count, BucketTable::kLeftOut);
  const auto look = [&](uint32_t part, uint32_t record) {
    return data.source->look_at({part, record}, [&](std::string_view bytes) -> Status {
      TENON_ASSIGN(const int64_t length, buckets.length(bytes));
      const auto at = std::lower_bound(buckets.boundaries.begin(), buckets.boundaries.end(), length);
      if (at != buckets.boundaries.end())
        table.of[part][record] = static_cast<uint8_t>(at - buckets.boundaries.begin());
      return {};
    });
  };
  const std::vector<Status> looked = for_each_item(pool, counts.size(), [&](size_t part) -> Status {
    for (uint32_t record = 0; record < counts[part]; ++record) {
      const Status status = look(static_cast<uint32_t>(part), record);
      if (status.ok()) continue;
      if (!data.options.skip_corrupt || status.code() != Code::kInvalid) return status;
      table.of[part][record] = 0;  // where it is left out and counted when it is read
    }
    return {};
  });
  for (const Status& status : looked) TENON_TRY(status);
  for (const auto& part : table.of) table.left_out += std::count(part.begin(), part.end(), BucketTable::kLeftOut);
  return table;
}

struct Parts {
  std::vector<RecordFile> files;
  std::vector<FilePart> parts;
  std::vector<std::string> lost;
};

// Whole files when there is one for each worker, else every shard_count-th record of all files.
Result<Parts> read_parts(const InputOptions& o, ThreadPool* pool) {
  TENON_ASSIGN(std::vector<std::string> paths, find_input_files(o));
  const bool by_file = paths.size() >= static_cast<size_t>(o.shard_count);
  if (by_file) {
    std::vector<std::string> mine;
    for (size_t i = static_cast<size_t>(o.shard_index); i < paths.size(); i += static_cast<size_t>(o.shard_count))
      mine.push_back(paths[i]);
    paths = std::move(mine);
  }
  Parts out;
  TENON_ASSIGN(out.files, index_files(paths, o.skip_corrupt, pool));
  uint64_t base = 0;
  for (uint32_t i = 0; i < out.files.size(); ++i) {
    const uint64_t records = static_cast<uint64_t>(out.files[i].records());
    out.parts.push_back(by_file ? FilePart{i, 0, 1, static_cast<uint32_t>(records)} : stride_part(i, base, records, o));
    base += records;
    // The broken frame belongs to the worker whose record it would have been.
    const uint64_t owner = by_file ? static_cast<uint64_t>(o.shard_index) : base % static_cast<uint64_t>(o.shard_count);
    if (out.files[i].lost_bytes > 0 && owner == static_cast<uint64_t>(o.shard_index))
      out.lost.push_back(out.files[i].lost());
  }
  return out;
}

Status check_memory(const std::vector<MemoryFeature>& features) {
  for (const MemoryFeature& feature : features) {
    const size_t bytes = static_cast<size_t>(feature.spec.type.bytes());
    const size_t first = features[0].bytes().size() / static_cast<size_t>(features[0].spec.type.bytes());
    if (feature.bytes().size() % bytes != 0)
      return invalid("feature '", feature.spec.name, "': ", feature.bytes().size(), " bytes are no multiple of the ",
                     bytes, " of ", feature.spec.type.str());
    if (feature.bytes().size() / bytes != first)
      return invalid("feature '", feature.spec.name, "' has ", feature.bytes().size() / bytes, " examples, '",
                     features[0].spec.name, "' has ", first);
  }
  return {};
}

Status check_count(uint64_t size) {
  if (size > std::numeric_limits<uint32_t>::max()) return invalid("at most 2^32 - 1 examples, found ", size);
  return {};
}

}  // namespace

Type FeatureSpec::batch_type(int64_t batch) const {
  std::vector<int64_t> dims = type.shape.vec();
  dims.insert(batch_minor ? dims.end() : dims.begin(), batch);
  return {type.dtype, Shape(dims)};
}

// Memory that runs out is an error here too.

Result<Dataset> Dataset::from_records(InputOptions options, std::vector<FeatureSpec> specs, MapFn map,
                                      ThreadPool* pool) {
  return caught([&]() -> Result<Dataset> {
    TENON_TRY(check_options(options));
    TENON_TRY(check_specs(specs));
    TENON_ASSIGN(Parts parts, read_parts(options, pool));
    const std::string name = input_name(options);
    auto source = std::make_unique<RecordSource>(std::move(parts.files), std::move(parts.parts), std::move(parts.lost),
                                                 std::move(map));
    const bool bucketed = !options.buckets.boundaries.empty();
    if (bucketed) TENON_TRY(check_buckets(options.buckets, options, specs));
    int64_t left_out = 0;
    if (options.keep) {
      TENON_ASSIGN(left_out, source->keep_only(options.keep, options.skip_corrupt, pool));
      const std::vector<uint32_t> counts = source->counts();
      if (left_out > 0 && std::all_of(counts.begin(), counts.end(), [](uint32_t n) { return n == 0; }))
        return invalid(name, ": all ", left_out, " records are left out");
    }
    TENON_ASSIGN(auto impl, finish(std::move(options), std::move(specs), std::move(source), name, left_out));
    if (!bucketed) return Dataset(std::move(impl));
    TENON_ASSIGN(impl->buckets, bucket_table(*impl, pool));
    if (impl->buckets.left_out == static_cast<int64_t>(impl->size))
      return invalid(name, ": all ", impl->size, " records are longer than ", impl->options.buckets.boundaries.back());
    for (const int64_t rows : impl->buckets.rows)
      impl->fingerprint = mix_hash(impl->fingerprint, static_cast<uint64_t>(rows));
    impl->fingerprint |= 1;
    return Dataset(std::move(impl));
  });
}

Result<Dataset> Dataset::images(InputOptions options, ThreadPool* pool) {
  return caught([&]() -> Result<Dataset> {
    TENON_ASSIGN(std::vector<FeatureSpec> specs, image_specs(options));
    const std::shared_ptr<DecodedImages> kept = images_to_keep(options);
    MapFn map = image_map(options, kept);
    TENON_ASSIGN(Dataset data, from_records(std::move(options), std::move(specs), std::move(map), pool));
    if (kept) TENON_TRY(kept->open(data.data_fingerprint(), static_cast<uint64_t>(data.size())));
    return data;
  });
}

Result<Dataset> Dataset::from_memory(std::vector<MemoryFeature> features, InputOptions options) {
  return caught([&]() -> Result<Dataset> {
    std::vector<FeatureSpec> specs;
    for (const MemoryFeature& feature : features) specs.push_back(feature.spec);
    TENON_TRY(check_options(options));
    TENON_TRY(check_specs(specs));
    TENON_TRY(check_memory(features));
    const uint64_t size = features[0].bytes().size() / static_cast<size_t>(specs[0].type.bytes());
    TENON_TRY(check_count(size));
    auto source = std::make_unique<MemorySource>(stride_part(0, 0, size, options), std::move(features));
    TENON_ASSIGN(auto impl, finish(std::move(options), std::move(specs), std::move(source), "memory"));
    return Dataset(std::move(impl));
  });
}

Result<Dataset> Dataset::from_function(int64_t size, std::vector<FeatureSpec> specs, ExampleFn example,
                                       InputOptions options) {
  return caught([&]() -> Result<Dataset> {
    TENON_TRY(check_options(options));
    TENON_TRY(check_specs(specs));
    TENON_TRY(check_count(static_cast<uint64_t>(size)));
    auto source =
        std::make_unique<FunctionSource>(stride_part(0, 0, static_cast<uint64_t>(size), options), std::move(example));
    TENON_ASSIGN(auto impl, finish(std::move(options), std::move(specs), std::move(source), "the function"));
    return Dataset(std::move(impl));
  });
}

const std::vector<FeatureSpec>& Dataset::specs() const { return ready().specs; }
const std::vector<FeatureSpec>& Dataset::specs(int bucket) const {
  return bucket < 0 ? ready().specs : ready().buckets.specs[static_cast<size_t>(bucket)];
}
std::string Dataset::passed_over() const { return passed_over_text(ready().source->lost(), left_out()); }
int64_t Dataset::left_out() const { return ready().left_out + ready().buckets.left_out; }
const InputOptions& Dataset::options() const { return ready().options; }
int64_t Dataset::size() const { return ready().counted ? static_cast<int64_t>(ready().size) : kUnknownCardinality; }
uint64_t Dataset::fingerprint() const { return ready().fingerprint; }
uint64_t Dataset::data_fingerprint() const { return ready().data_fingerprint; }

int64_t Dataset::batches() const {
  if (impl_->node) return cardinality();
  const int64_t batch = options().batch_size;
  return options().drop_remainder ? size() / batch : (size() + batch - 1) / batch;
}

PipelineState Dataset::epoch(uint64_t epoch) const {
  const Impl& data = ready();
  return {epoch * data.size, data.fingerprint, data.data_fingerprint};
}

}  // namespace tenon
