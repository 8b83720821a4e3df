// Questions about texts as tokens: records as `tenon convert answers` writes them, train-%.5d-of-%.5d and validation-.., with
// "inputs", "start" and "end" of i64. An example is the inputs, with 0 behind the end, and both places.
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

class AnswerData : public TokenData {
 public:
  explicit AnswerData(const DataContext& c) : TokenData(c, 8), doc_stride_(number(c, "doc_stride")) {}

  std::vector<FeatureSpec> features() const override {
    return {{"inputs", {DType::kI32, {max_length_}}}, {"label", {DType::kI32, {2}}}};
  }
  std::map<std::string, int64_t> numbers() const override {
    return {{"max_length", max_length_}, {"doc_stride", doc_stride_}, {"vocab_size", vocab_size_}};
  }
  std::string text() const override {
    return format("questions and texts of at most %ld tokens of %s", static_cast<long>(max_length_),
                  with_commas(vocab_size_).c_str());
  }
  ExampleFn random_example() const override {
    return [vocabulary = static_cast<int>(vocab_size_)](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      const std::span<int32_t> row = out.get<int32_t>(0), place = out.get<int32_t>(1);
      constexpr int32_t kFirst = Subtokenizer::kEos + 1;
      for (int32_t& token : row) token = kFirst + random.below(vocabulary - kFirst);
      const size_t question = row.size() / 4;
      row[question] = row.back() = Subtokenizer::kEos;
      place[0] = place[1] = static_cast<int32_t>(question) + 1;
      return {};
    };
  }

  Dataset records(InputOptions how) const override {
    how.skip_corrupt = skip_corrupt_;
    const MapFn map = [vocabulary = vocab_size_](std::string_view record, const Sample&, Slots& out) -> Status {
      thread_local Example example;
      TENON_TRY(example.parse(record));
      TENON_TRY(copy_tokens(example, "inputs", vocabulary, out.get<int32_t>(0)));
      const size_t tokens = example.find("inputs")->size();
      const char* const names[] = {"start", "end"};
      for (size_t i = 0; i < 2; ++i) {
        TENON_ASSIGN(const int64_t place, example.int64(names[i]));
        if (place < 0 || place >= static_cast<int64_t>(tokens))
          return Status(Code::kInvalid, format("%s: place %ld, expected one of the %zu tokens", names[i],
                                               static_cast<long>(place), tokens));
        out.get<int32_t>(1)[i] = static_cast<int32_t>(place);
      }
      return {};
    };
    return Dataset::from_records(how, features(), map, &process_pool()).take();
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes questions, which images are not; `tenon answer` answers them"};
  }

 private:
  int64_t doc_stride_;
};

}  // namespace

const DataKind kAnswers{
    .name = "answers",
    .what = "questions about texts",
    .shape_flags =
        [](Flags& flags) {
          flags.integer("max_length", 0,
                        "tokens of a question and a window of its text; 0: as the data or the model say", 0, 1 << 16);
          flags.integer("doc_stride", 0, "tokens from one window to the next; 0: the same", 0, 1 << 16);
          flags.integer("vocab_size", 0, "tokens that there are; 0: as the data or the model say", 0, 1 << 24);
        },
    .train_flags = add_vocabulary_flag,
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<AnswerData>(c); },
};

}  // namespace tenon::runner
