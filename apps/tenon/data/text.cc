// Text without gaps as tokens: records as `tenon convert text` writes them, train-%.5d-of-%.5d and validation-.., with the i64 list
// "tokens". An example is those, with 0 behind the end of the last one.
#include <algorithm>
#include <optional>

#include "data/pairs.h"
#include "data/token_data.h"
#include "output.h"
#include "tenon/example.h"
#include "tenon/subtokenizer.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

class TextData : public TokenData {
 public:
  explicit TextData(const DataContext& c) : TokenData(c, 2) {}

  std::vector<FeatureSpec> features() const override { return {{"tokens", {DType::kI32, {max_length_}}}}; }
  std::map<std::string, int64_t> numbers() const override {
    return {{"max_length", max_length_}, {"vocab_size", vocab_size_}};
  }
  std::string text() const override {
    return format("text, %ld tokens of %s at a time", static_cast<long>(max_length_), with_commas(vocab_size_).c_str());
  }
  ExampleFn random_example() const override {
    return [vocabulary = static_cast<int>(vocab_size_)](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (int32_t& token : out.get<int32_t>(0)) token = 1 + random.below(vocabulary - 1);
      return {};
    };
  }
  Dataset records(InputOptions how) const override {
    how.skip_corrupt = skip_corrupt_;
    const MapFn map = [vocabulary = vocab_size_](std::string_view record, const Sample&, Slots& out) -> Status {
      thread_local Example example;
      TENON_TRY(example.parse(record));
      return copy_tokens(example, "tokens", vocabulary, out.get<int32_t>(0));
    };
    return Dataset::from_records(how, features(), map, &process_pool()).take();
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes text, which images are not; `tenon generate` continues text"};
  }
};

}  // namespace

const DataKind kText{
    .name = "text",
    .what = "text",
    .shape_flags =
        [](Flags& flags) {
          flags.integer("max_length", 0, "tokens that the model sees at a time; 0: as the data or the model say", 0,
                        1 << 16);
          flags.integer("vocab_size", 0, "tokens that there are; 0: as the data or the model say", 0, 1 << 24);
        },
    .train_flags = add_vocabulary_flag,
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<TextData>(c); },
};

}  // namespace tenon::runner
