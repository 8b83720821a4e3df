// Ids of tokens with a class each, as other libraries' tokenizers write them for a model that they trained: records train-%.5d-of-%.5d and
// validation-.. with lists of int64: the ids, and maybe which of them count and which part each is of, by Hugging Face's names or by
// those of TensorFlow's BERT. An example is these, with 0 behind the end, and the class.
#include <algorithm>
#include <array>

#include "data/info_file.h"
#include "data/model_data.h"
#include "output.h"
#include "tenon/example.h"
#include "tenon/text_file.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

using FeatureNames = std::array<const char*, 2>;
constexpr FeatureNames kIdNames{"input_ids", "ids"}, kMaskNames{"attention_mask", "input_mask"},
    kSegmentNames{"token_type_ids", "segment_ids"}, kLabelNames{"label", "label_ids"};

const Feature* found_by(const Example& example, const FeatureNames& names) {
  for (const char* name : names)
    if (const Feature* feature = example.find(name)) return feature;
  return nullptr;
}

// The list into a row, whose rest is 0; numbers from 0 to below `below`.
Status copy_list(const Feature* feature, const FeatureNames& names, int64_t below, std::span<int32_t> out) {
  const auto wrong = [&](const std::string& what) {
    return Status(Code::kInvalid, std::string(names[0]) + ": " + what);
  };
  if (!feature || feature->kind() != Feature::Kind::kInt64) return wrong("expected a list of int64, found none");
  if (feature->size() > out.size())
    return wrong(format("expected at most %zu numbers, which is --max_length, found %zu", out.size(), feature->size()));
  thread_local std::vector<int64_t> numbers;
  numbers.resize(feature->size());
  feature->copy(numbers.data());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= below)
      return wrong(format("number %zu is %ld, expected 0 to %ld", i, static_cast<long>(numbers[i]),
                          static_cast<long>(below - 1)));
    out[i] = static_cast<int32_t>(numbers[i]);
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(numbers.size()), out.end(), 0);
  return {};
}

class IdData : public ModelData {
 public:
  explicit IdData(const DataContext& c) : skip_corrupt_(c.flags.get_or("skip_corrupt", false)) {
    const std::string dir = c.flags.get_or("data_dir", std::string());
    const InfoFile info(dir);
    const auto number = [&](const char* name) { return c.chosen(name, info.number(name, c.number(name))); };
    if (const std::string path = file_in(dir, "labels.txt"); !path.empty()) labels_ = read_class_names(path).take();
    if (labels_.empty() && c.record) labels_ = c.record->labels;
    max_length_ = number("max_length"), vocab_size_ = number("vocab_size");
    classes_ =
        c.chosen("num_classes", labels_.empty() ? c.number("num_classes") : static_cast<int64_t>(labels_.size()));
    if (labels_.size() != static_cast<size_t>(classes_)) labels_.clear();
    if (max_length_ < 1 || vocab_size_ < 1 || classes_ < 1)
      throw UsageError{format("--max_length is %ld, --vocab_size %ld, --num_classes %ld, expected at least 1 of each",
                              static_cast<long>(max_length_), static_cast<long>(vocab_size_),
                              static_cast<long>(classes_))};
  }

  std::vector<FeatureSpec> features() const override {
    const Type row{DType::kI32, {max_length_}};
    return {{"ids", row}, {"mask", row}, {"segments", row}, {"label", {DType::kI32, {}}}};
  }
  std::map<std::string, int64_t> numbers() const override {
    return {{"max_length", max_length_}, {"vocab_size", vocab_size_}, {"num_classes", classes_}};
  }
  std::string text() const override {
    return format("at most %ld ids of %s, %ld classes", static_cast<long>(max_length_),
                  with_commas(vocab_size_).c_str(), static_cast<long>(classes_));
  }
  const std::vector<std::string>& labels() const override { return labels_; }

  ExampleFn random_example() const override {
    return [vocabulary = static_cast<int>(vocab_size_), classes = static_cast<int>(classes_)](
               int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (int32_t& id : out.get<int32_t>(0)) id = random.below(vocabulary);
      std::ranges::fill(out.get<int32_t>(1), 1);
      std::ranges::fill(out.get<int32_t>(2), 0);
      out.get<int32_t>(3)[0] = random.below(classes);
      return {};
    };
  }
  Dataset records(InputOptions how) const override {
    how.skip_corrupt = skip_corrupt_;
    const MapFn map = [vocabulary = vocab_size_, classes = classes_](std::string_view record, const Sample&,
                                                                     Slots& out) -> Status {
      thread_local Example example;
      TENON_TRY(example.parse(record));
      const Feature* const ids = found_by(example, kIdNames);
      TENON_TRY(copy_list(ids, kIdNames, vocabulary, out.get<int32_t>(0)));
      const std::span<int32_t> mask = out.get<int32_t>(1), segments = out.get<int32_t>(2);
      // Where nothing is said, all that are listed count, and are of one part.
      for (size_t i = 0; i < mask.size(); ++i) mask[i] = i < ids->size();
      std::ranges::fill(segments, 0);
      if (const Feature* given = found_by(example, kMaskNames)) TENON_TRY(copy_list(given, kMaskNames, 2, mask));
      if (const Feature* given = found_by(example, kSegmentNames))
        TENON_TRY(copy_list(given, kSegmentNames, int64_t{1} << 16, segments));
      const std::span<int32_t> label = out.get<int32_t>(3);
      const Feature* const given = found_by(example, kLabelNames);
      if (given && given->size() != 1)
        return Status(Code::kInvalid, format("label: expected one number, found %zu", given->size()));
      return copy_list(given, kLabelNames, classes, label);
    };
    return Dataset::from_records(how, features(), map, &process_pool()).take();
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes ids of tokens, which images are not"};
  }

 private:
  int64_t max_length_ = 0, vocab_size_ = 0, classes_ = 0;
  std::vector<std::string> labels_;
  bool skip_corrupt_;
};

}  // namespace

const DataKind kIds{
    .name = "ids",
    .what = "ids of tokens with a class each",
    .shape_flags =
        [](Flags& flags) {
          flags.integer("max_length", 0, "ids of an example; 0: as the data or the model say", 0, 1 << 16);
          flags.integer("vocab_size", 0, "ids that there are; 0: as the data or the model say", 0, 1 << 24);
          flags.integer("num_classes", 0, "0: as labels.txt or the model say", 0, 1 << 24);
        },
    .train_flags = [](Flags&) {},
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<IdData>(c); },
};

}  // namespace tenon::runner
