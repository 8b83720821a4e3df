#include "bench/bench_input.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "bench/input_rate.h"
#include "bench/made_lines.h"
#include "bench/made_photos.h"
#include "command.h"
#include "temporary_directory.h"
#include "tenon/element_maps.h"
#include "tenon/image_maps.h"
#include "tenon/input.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr int64_t kBatch = 64;
constexpr int kSide = 224, kGrid = 234;
constexpr int64_t kLineNumbers = 8192;  // of a batch of lines
constexpr int64_t kLinesAPhoto = 100;

// Where a case has its files; removed at the end unless the user named it.
class Place {
 public:
  explicit Place(const std::string& named) : named_(named) {
    if (named_.empty()) own_.emplace();
  }
  const std::string& path() const { return own_ ? own_->path() : named_; }

 private:
  std::string named_;
  std::optional<TemporaryDirectory> own_;
};

InputOptions photo_options(const std::string& directory, uint64_t seed) {
  return {.data_dir = directory,
          .split = "train",
          .batch_size = kBatch,
          .training = true,
          .repeat = true,
          .seed = seed,
          .height = kSide,
          .width = kSide,
          .num_classes = 5};
}

Rate decode_rate(const std::string& directory, double seconds) {
  const std::vector<std::string> photos = photos_in(directory);
  std::vector<uint8_t> pixels;
  Meter meter;
  for (size_t i = 0; meter.seconds() < seconds; meter.add(1)) decode_photo(photos[i++ % photos.size()], pixels);
  return meter.rate();
}

// Lines as the numbers of their bytes, of about one length in a batch: as many numbers in each.
Dataset line_batches(const std::string& directory, uint64_t seed) {
  const std::vector<int64_t> lengths = {32, 64, 128, kLongestLine};
  std::vector<int64_t> boundaries, batch_sizes;
  for (const int64_t length : lengths) boundaries.push_back(length + 1), batch_sizes.push_back(kLineNumbers / length);
  batch_sizes.push_back(1);  // of longer lines, which there are not
  return Dataset::from_text_lines({directory + "/lines.txt"})
      .shuffle(4096, {.seed = seed})
      .repeat()
      .map(cast_features({{"line", DType::kI32}}))
      .bucket_by_sequence_length([](const Element& e) { return e.at("line").shape().dims()[0]; }, boundaries,
                                 batch_sizes, {.pad_to_bucket_boundary = true});
}

struct InputCase {
  const char* name;
  const char* description;
  void (*make)(const std::string& directory, int64_t examples);
  std::function<Rate(const std::string& directory, const Flags& flags)> run;
};

Rate train_rate(const std::string& directory, const Flags& flags) {
  return rate_of(Dataset::images(photo_options(directory, static_cast<uint64_t>(flags.integer("seed")))).take(),
                 flags.number("seconds"));
}

Rate evaluate_rate(const std::string& directory, const Flags& flags) {
  InputOptions o = photo_options(directory, 0);
  o.training = false;
  return rate_of(Dataset::images(o).take(), flags.number("seconds"));
}

// What `photos` does by options, by verbs, which clip what becomes brighter.
Dataset photo_batches(const std::string& directory, uint64_t seed) {
  std::vector<std::string> files;
  for (const Element& file : Dataset::list_files(directory + "/train-*", false))
    files.emplace_back(text_of(file.at("path")));
  return Dataset::from_records(files)
      .shuffle(1024, {.seed = seed})
      .repeat()
      .map(parse_example({{"data", {.dtype = DType::kU8, .name = "image/encoded"}},
                          {"label", {.dtype = DType::kI32, .name = "image/class/label", .offset = 1}}}))
      .map(read_image({.height = kGrid, .width = kGrid, .resize = ResizeKind::kLegacy, .fast = true}), seed)
      .map(random_crop({kSide, kSide}), seed)
      .map(random_flip({.mode = FlipMode::kHorizontal}), seed)
      .map(random_brightness({.factor = 63 / 255.0}), seed)
      .map(random_contrast({.factor = 0.8}), seed)
      .map(rescale(1 / 127.5, -1), seed)
      .batch(kBatch, true);
}

Rate verbs_rate(const std::string& directory, const Flags& flags) {
  return rate_of(photo_batches(directory, static_cast<uint64_t>(flags.integer("seed"))), flags.number("seconds"));
}

Rate line_rate(const std::string& directory, const Flags& flags) {
  return rate_of(line_batches(directory, static_cast<uint64_t>(flags.integer("seed"))), flags.number("seconds"),
                 kLineNumbers * static_cast<int64_t>(sizeof(int32_t)));
}

const std::vector<InputCase>& input_cases() {
  static const std::vector<InputCase> cases = {
      {"photos", "JPEGs of 500x375, resized to 234, cropped to 224, flipped, brightness, contrast; batch 64",
       write_photos, train_rate},
      {"photos_eval", "the same, resized to 224", write_photos, evaluate_rate},
      {"photos_verbs", "as photos, by verbs of a Dataset", write_photos, verbs_rate},
      {"libjpeg", "the same, decoded whole by libjpeg in one thread, and no more", write_photos,
       [](const std::string& directory, const Flags& flags) {
         return decode_rate(directory, flags.number("seconds"));
       }},
      {"lines", "lines of text, shuffled, as numbers padded to 32, 64, 128 or 255, 8192 of them in a batch",
       [](const std::string& directory, int64_t examples) { write_lines(directory, kLinesAPhoto * examples); },
       line_rate},
  };
  return cases;
}

}  // namespace

std::vector<std::string> bench_input_names() {
  std::vector<std::string> names;
  for (const InputCase& c : input_cases()) names.push_back(c.name);
  return names;
}

std::string list_of_inputs() {
  std::string out = "Inputs:\n";
  for (const InputCase& c : input_cases()) out += format("  %-20s %s\n", c.name, c.description);
  return out;
}

void declare_bench_input(Flags& flags) {
  flags.leave_out({"device"});
  flags.text("data_dir", "",
             "where the made-up examples are, and made where there are none; empty: nowhere afterwards");
  flags.integer("examples", 2000, "that are made up; of lines a hundred times as many", 64, 1e7);
  flags.number("seconds", 3, "that each round takes", 0.01, 1e6);
  flags.integer("rounds", 3, "of which the fastest counts", 1, 1e6);
}

int run_bench_input(const std::string& name, const Flags& flags) {
  const auto& cases = input_cases();
  const InputCase& c =
      *std::find_if(cases.begin(), cases.end(), [&](const InputCase& one) { return one.name == name; });
  const Place place(flags.text("data_dir"));
  c.make(place.path(), flags.integer("examples"));
  Rate best;
  for (int64_t r = 0; r < flags.integer("rounds"); ++r) {
    const Rate rate = c.run(place.path(), flags);
    best = {std::max(best.a_second, rate.a_second), std::max(best.a_core, rate.a_core)};
  }
  if (flags.boolean("json")) {
    print_line(Json("result")
                   .add("case", c.name)
                   .add("examples_per_second", best.a_second)
                   .add("examples_per_second_a_core", best.a_core)
                   .add("threads", process_threads())
                   .str());
    return 0;
  }
  print("%-19s examples_per_second %s, of a core's work %s (%s)\n", c.name, rate_text(best.a_second).c_str(),
        rate_text(best.a_core).c_str(), counted(process_threads(), "thread").c_str());
  return 0;
}

}  // namespace tenon::runner
