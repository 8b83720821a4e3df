#include "survey/set_bench.h"

#include <algorithm>
#include <filesystem>

#include "output.h"
#include "tenon/element_maps.h"
#include "tenon/example.h"
#include "tenon/image_maps.h"
#include "tenon/input.h"
#include "tenon/pixels.h"
#include "tenon/tfrecord.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr int64_t kBatch = 64;
constexpr const char *kEncoded = "image/encoded", *kLabel = "image/class/label";

[[noreturn]] void nothing_of(const DataSet& set) {
  throw Error(Status(Code::kInvalid, "--bench: nothing of '" + set.name + "' can be read"));
}

// Epoch after epoch for so long. Counts elements, or the rows of batches.
void run_through(const DataSet& set, const Dataset& data, double seconds, bool batches, Meter& meter) {
  for (uint64_t epoch = 0; meter.seconds() < seconds; ++epoch) {
    const int64_t before = meter.examples();
    ElementIterator at = data.elements(process_threads(), epoch);
    for (; at != data.end() && meter.seconds() < seconds; ++at) meter.add(batches ? (*at).begin()->second.dim(0) : 1);
    if (at == data.end() && meter.examples() == before) nothing_of(set);
  }
}

double core_ms(const Meter& meter) {
  return meter.core_seconds() * 1e3 / static_cast<double>(std::max<int64_t>(meter.examples(), 1));
}

// Bytes, nothing made of them.
Dataset source_of(const DataSet& set) {
  switch (set.kind) {
    case SetKind::kRecords:
      return Dataset::from_records(set.files).ignore_errors();
    case SetKind::kImages:
      return Dataset::from_files(set.files).ignore_errors();
    case SetKind::kTable:
      return Dataset::from_csv(set.files, {.delimiter = set.files[0].ends_with(".tsv") ? '\t' : ','}).ignore_errors();
    case SetKind::kText:
      break;
  }
  return Dataset::from_text_lines(set.files).ignore_errors();
}

// The pixels of a record, or of a file.
PixelImage pixels_of(const Element& element) {
  const auto record = element.find("record");
  return record == element.end() ? decode_pixels(text_of(element.at("data"))).take()
                                 : record_pixels(text_of(record->second)).take();
}

Element decoded(const Element& element) {
  PixelImage image = pixels_of(element);
  return {{"image", Array(image.rgb, Shape{image.height, image.width, 3})}};
}

struct FirstRecord {
  bool image = false, label = false, encoded = false;
  int channels = 3;
};
FirstRecord first_of(const DataSet& set) {
  FirstRecord out;
  if (set.kind != SetKind::kRecords) return out;
  RecordReader reader = RecordReader::open(set.files[0], {.skip_corrupt = true}).take();
  std::string_view record;
  Example example;
  if (!reader.next(&record).take() || !example.parse(record).ok()) return out;
  out.image = example.bytes(kEncoded).ok();
  out.label = example.int64(kLabel).ok();
  out.encoded = out.image && !image_format_of(*example.bytes(kEncoded)).empty();
  // Pixels as they are cannot become others; of encoded ones training makes three.
  if (out.image && !out.encoded)
    out.channels = example.int64("image/channels").ok() && *example.int64("image/channels") == 1 ? 1 : 3;
  return out;
}

// The side of the first image that can be read.
ImageSide own_size(const DataSet& set) {
  const Dataset images = source_of(set).map(decoded).ignore_errors();
  const ElementIterator first = images.elements(1);
  if (first == images.end()) nothing_of(set);
  const Shape& shape = (*first).at("image").shape();
  return {static_cast<int>(std::min<int64_t>(shape[0], kMostSide)),
          static_cast<int>(std::min<int64_t>(shape[1], kMostSide))};
}

constexpr int kPad = 10;  // of a grid that is cropped, as Dataset::images has it

Dataset training_records(const DataSet& set, const FirstRecord& first_record, ImageSide size) {
  InputOptions o{.batch_size = kBatch, .training = true, .repeat = true, .skip_corrupt = true, .label_offset = 0};
  const std::filesystem::path first = set.files[0];
  if (first.filename() == set.name)
    o.file_pattern = first.string();
  else
    o.data_dir = first.parent_path().string(), o.split = set.name;
  o.height = size.height, o.width = size.width, o.channels = first_record.channels, o.num_classes = 1 << 24;
  Result<Dataset> data = Dataset::images(o, &process_pool());
  if (data.ok()) return data.take();
  o.batch_size = 1;  // there may be fewer examples than that
  o.batch_size = std::min(kBatch, Dataset::images(o, &process_pool()).take().size());
  return Dataset::images(o, &process_pool()).take();
}

Dataset images_of(const DataSet& set, const FirstRecord& first) {
  const ElementMap read = read_image({.resize = ResizeKind::kLegacy, .fast = true});  // as training records are
  if (set.kind == SetKind::kImages) return Dataset::from_files(set.files).map(read);
  const Dataset records = Dataset::from_records(set.files);
  if (!first.encoded) return records.map(decoded);
  return records.map(parse_example({{"data", {.dtype = DType::kU8, .name = kEncoded}}})).map(read);
}

Dataset training_chain(const DataSet& set, const FirstRecord& first, ImageSide size, bool skip_bad) {
  const Dataset images = images_of(set, first)
                             .map(resize_image({size.height + kPad, size.width + kPad, ResizeKind::kLegacy}))
                             .map(random_crop({size.height, size.width}))
                             .map(random_flip({FlipMode::kHorizontal}))
                             .map(random_contrast({0.5}))
                             .map(random_brightness({0.2}))
                             .map(rescale(1 / 127.5, -1));
  return (skip_bad ? images.ignore_errors() : images).repeat().batch(kBatch, true);
}

SetBench bench_training(const Dataset& training, ImageSide size, double seconds) {
  InputWork::Seconds work;
  SetBench out{.unit = "image",
               .rate = rate_of(training, seconds, 0, &work),
               .batch_size = training.options().batch_size,
               .size = size};
  const double read = 1e3 * work.read, decode = 1e3 * work.decode, change = 1e3 * work.change;
  out.parts = {{"read", read},
               {"decode", decode},
               {"change", change},
               {"batch", std::max(1e3 / out.rate.a_core - read - decode - change, 0.0)}};
  return out;
}

// What a training reads: records with classes as options say it, all else as a chain.
SetBench bench_images(const DataSet& set, const FirstRecord& first, ImageSide size, double seconds) {
  const ImageSide own = own_size(set);
  if (size.height == 0) size.height = own.height;
  if (size.width == 0) size.width = own.width;
  if (first.label) return bench_training(training_records(set, first, size), size, seconds);
  try {
    return bench_training(training_chain(set, first, size, false), size, seconds);
  } catch (const Error& e) {
    if (e.status().code() == Code::kOutOfMemory) throw;
    return bench_training(training_chain(set, first, size, true), size, seconds);
  }
}

SetBench bench_rows(const DataSet& set, double seconds) {
  const Dataset source = source_of(set);
  Meter reading;
  run_through(set, source, seconds, false, reading);
  const double read = core_ms(reading);
  SetBench out{.unit = set.kind == SetKind::kTable  ? "row"
                       : set.kind == SetKind::kText ? "line"
                                                    : "record",
               .batch_size = kBatch};
  Meter batching;
  run_through(set, source.padded_batch(kBatch), seconds, true, batching);
  out.rate = batching.rate();
  out.parts = {{"read", read}, {"batch", std::max(core_ms(batching) - read, 0.0)}};
  return out;
}

}  // namespace

SetBench bench_of(const DataSet& set, ImageSide size, double seconds) {
  const FirstRecord first = first_of(set);
  if (set.kind == SetKind::kImages || first.image) return bench_images(set, first, size, seconds);
  return bench_rows(set, seconds);
}

}  // namespace tenon::runner
