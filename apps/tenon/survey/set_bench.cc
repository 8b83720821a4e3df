#include "survey/set_bench.h"

#include <ctime>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "output.h"
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

// The work of all threads in one function.
class WorkTime {
 public:
  template <class Fn>
  auto of(const Fn& fn) {
    struct Watch {
      explicit Watch(WorkTime& all) : all(all) {}
      ~Watch() { all.nanoseconds_ += now() - begun, ++all.calls_; }
      WorkTime& all;
      int64_t begun = now();
    } const watch(*this);
    return fn();
  }
  double core_ms() const {  // of a call
    return static_cast<double>(nanoseconds_) * 1e-6 / static_cast<double>(std::max<int64_t>(calls_, 1));
  }

 private:
  static int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  }
  std::atomic<int64_t> nanoseconds_{0}, calls_{0};
};

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
  bool image = false, label = false;
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
  // Pixels as they are cannot become others; of encoded ones training makes three.
  if (out.image && image_format_of(*example.bytes(kEncoded)).empty())
    out.channels = example.int64("image/channels").ok() && *example.int64("image/channels") == 1 ? 1 : 3;
  return out;
}

constexpr int kPad = 10;  // of a grid that is cropped, as Dataset::images has it

std::vector<ElementMap> changes(int height, int width) {
  return {resize_image({height + kPad, width + kPad}),
          random_crop({height, width}),
          random_flip({FlipMode::kHorizontal}),
          random_contrast({0.5}),
          random_brightness({0.2}),
          rescale(1 / 127.5, -1)};
}

Dataset training_records(const DataSet& set, const FirstRecord& first_record, int height, int width) {
  InputOptions o{.batch_size = kBatch, .training = true, .repeat = true, .skip_corrupt = true, .label_offset = 0};
  const std::filesystem::path first = set.files[0];
  if (first.filename() == set.name)
    o.file_pattern = first.string();
  else
    o.data_dir = first.parent_path().string(), o.split = set.name;
  o.height = height, o.width = width, o.channels = first_record.channels, o.num_classes = 1 << 24;
  Result<Dataset> data = Dataset::images(o, &process_pool());
  if (data.ok()) return data.take();
  o.batch_size = 1;  // there may be fewer examples than that
  o.batch_size = std::min(kBatch, Dataset::images(o, &process_pool()).take().size());
  return Dataset::images(o, &process_pool()).take();
}

// What a training reads: records with classes as options say it, all else as a chain.
Dataset training_images(const DataSet& set, const FirstRecord& first, int height, int width) {
  if (first.label) return training_records(set, first, height, width);
  Dataset data = set.kind == SetKind::kImages ? Dataset::from_files(set.files).map(read_image())
                                              : Dataset::from_records(set.files).map(decoded);
  for (const ElementMap& change : changes(height, width)) data = data.map(change);
  return data.ignore_errors().repeat().batch(kBatch, true);
}

SetBench bench_images(const DataSet& set, const FirstRecord& first, int height, int width, double seconds) {
  Meter reading;
  run_through(set, source_of(set), seconds, false, reading);
  const double read = core_ms(reading);
  WorkTime decoding, changing;
  const std::vector<ElementMap> maps = changes(height, width);
  std::shared_ptr<const ElementOp> change = maps[0].op();
  for (size_t i = 1; i < maps.size(); ++i) change = change->then(maps[i].op());
  const Dataset apart = source_of(set)
                            .map([&](Element e) { return decoding.of([&] { return decoded(e); }); })
                            .map([&](Element e, const Sample& sample) {
                              return changing.of([&] { return change->apply(std::move(e), sample); });
                            })
                            .ignore_errors();
  if (apart.elements(1) == apart.end()) nothing_of(set);
  const Rate all = rate_of(apart.repeat().batch(kBatch, true), seconds);
  const double decode = decoding.core_ms(), changed = changing.core_ms();
  const Dataset training = training_images(set, first, height, width);
  SetBench out{.unit = "image", .rate = rate_of(training, seconds), .batch_size = training.options().batch_size};
  out.parts = {{"read", read},
               {"decode", decode},
               {"change", changed},
               {"batch", std::max(1e3 / all.a_core - read - decode - changed, 0.0)}};
  return out;
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

SetBench bench_of(const DataSet& set, int height, int width, double seconds) {
  const FirstRecord first = first_of(set);
  if (set.kind == SetKind::kImages || first.image) return bench_images(set, first, height, width, seconds);
  return bench_rows(set, seconds);
}

}  // namespace tenon::runner
