// Pairs of sentences as tokens: records as `tenon convert translation` writes them, wmt32k-{train,dev}-%.5d-of-%.5d, with
// "inputs" and "targets" of i64 each, which end with EOS. An example is both, with 0 behind the end.
#include <algorithm>
#include <optional>

#include "command.h"
#include "data/model_data.h"
#include "data/pairs.h"
#include "data/vocabulary.h"
#include "output.h"
#include "tenon/devices.h"
#include "tenon/example.h"
#include "tenon/subtokenizer.h"
#include "tenon/threads.h"
#include "text/training_bleu.h"

namespace tenon::runner {
namespace {

constexpr int32_t kEos = Subtokenizer::kEos;

// Tokens of the longer side, by which a pair gets its bucket.
Result<int64_t> longer_side(std::string_view record) {
  thread_local Example example;
  TENON_TRY(example.parse(record));
  size_t longest = 0;
  for (const char* side : {"inputs", "targets"})
    if (const Feature* feature = example.find(side)) longest = std::max(longest, feature->size());
  return static_cast<int64_t>(longest);
}

// Whether both sides have at most so many tokens. What else is wrong with a record is said when it is read.
Result<bool> fits(std::string_view record, size_t inputs, size_t targets) {
  thread_local Example example;
  TENON_TRY(example.parse(record));
  const auto longer = [](const char* side, size_t most) {
    const Feature* feature = example.find(side);
    return feature && feature->size() > most;
  };
  return !longer("inputs", inputs) && !longer("targets", targets);
}

class PairData : public ModelData {
 public:
  explicit PairData(const DataContext& c) : skip_corrupt_(c.flags.get_or("skip_corrupt", false)) {
    const InfoFile info(c.flags.get_or("data_dir", std::string()));
    max_length_ = c.chosen("max_length", info.number("max_length", c.number("max_length")));
    max_target_length_ = c.chosen("max_target_length", info.number("max_target_length", 0));
    if (max_target_length_ > max_length_)
      throw UsageError{format("--max_target_length is %ld, expected at most --max_length, %ld",
                              static_cast<long>(max_target_length_), static_cast<long>(max_length_))};
    vocab_size_ = c.chosen("vocab_size", info.number("vocab_size", c.number("vocab_size")));
    words_.emplace(c, info, vocab_size_);
    for (const char* path : {"train_data_path", "eval_data_path"})
      if (!c.flags.get_or(path, std::string()).empty()) may_be_longer_ = true;
    const int64_t longest = info.number("max_length", 1 << 24), of_targets = info.number("max_target_length", longest);
    if (longest > max_length_ || of_targets > target_length()) may_be_longer_ = true;
    const int64_t tokens = c.flags.get_or<int64_t>("batch_size", 0);
    if (tokens > 0 && tokens < max_length_)
      throw UsageError{format("--batch_size is %ld tokens, expected at least --max_length, %ld",
                              static_cast<long>(tokens), static_cast<long>(max_length_))};
    if (tokens > 0 && c.flags.has("train_batch_size") && c.flags.given("train_batch_size"))
      throw UsageError{"--batch_size, in tokens, and --train_batch_size, in examples, exclude each other"};
    batch_ = tokens / max_length_;
    if (!c.flags.get_or("use_ctl", true)) throw UsageError{"--nouse_ctl: nothing but a loop of its own trains it"};
    if (!c.flags.has("static_batch")) return;
    const ResolvedDevice device = resolve_device(device_of(c.flags)).take();
    const bool one_length = max_target_length_ == 0;  // of both sides
    static_batch_ =
        c.flags.given("static_batch") ? c.flags.boolean("static_batch") : device.kind == "accelerator" || !one_length;
    if (!static_batch_ && !one_length) throw UsageError{"--nostatic_batch and a max_target_length exclude each other"};
    units_ = device.replicas;
  }

  std::vector<FeatureSpec> features() const override {
    return {{"inputs", {DType::kI32, {max_length_}}}, {"label", {DType::kI32, {target_length()}}}};
  }
  std::map<std::string, int64_t> numbers() const override {
    return {{"max_length", max_length_}, {"max_target_length", max_target_length_}, {"vocab_size", vocab_size_}};
  }
  std::string text() const override {
    return format("pairs of at most %ld tokens of %s", static_cast<long>(max_length_),
                  with_commas(vocab_size_).c_str());
  }
  std::string vocabulary() const override { return words_->mark(); }
  void remember(const std::string& model_dir) const override { words_->save(model_dir); }
  Measure measure(const Flags& flags, const Params& params) const override {
    return measure_bleu(flags, params, words_->path());
  }
  int64_t train_batch() const override { return batch_; }
  const char* split(bool training) const override { return training ? "wmt32k-train" : "wmt32k-dev"; }

  ExampleFn random_example() const override {
    return [vocabulary = static_cast<int>(vocab_size_)](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (const size_t side : {0, 1}) {
        const std::span<int32_t> row = out.get<int32_t>(side);
        const auto words = static_cast<size_t>(random.below(static_cast<int>(row.size())));
        for (size_t t = 0; t < row.size(); ++t)
          row[t] = t < words ? kEos + 1 + random.below(vocabulary - kEos - 1) : t == words ? kEos : 0;
      }
      return {};
    };
  }
  Dataset records(InputOptions how) const override {
    how.skip_corrupt = skip_corrupt_;
    if (how.training && !static_batch_) {
      how.buckets = {length_boundaries(max_length_), units_, longer_side};
      how.batch_size = std::max(how.batch_size / units_, int64_t{1}) * units_;
    } else if (may_be_longer_) {
      how.keep = [inputs = static_cast<size_t>(max_length_), targets = static_cast<size_t>(target_length())](
                     std::string_view record) { return fits(record, inputs, targets); };
    }
    const MapFn map = [vocabulary = vocab_size_](std::string_view record, const Sample&, Slots& out) -> Status {
      thread_local Example example;
      TENON_TRY(example.parse(record));
      TENON_TRY(copy_tokens(example, "inputs", vocabulary, out.get<int32_t>(0)));
      return copy_tokens(example, "targets", vocabulary, out.get<int32_t>(1));
    };
    return Dataset::from_records(how, features(), map, &process_pool()).take();
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes pairs of sentences, which images are not"};
  }

 private:
  int64_t target_length() const { return max_target_length_ > 0 ? max_target_length_ : max_length_; }

  int64_t max_length_, max_target_length_, vocab_size_, batch_;
  std::optional<ModelVocabulary> words_;
  bool skip_corrupt_, static_batch_ = true, may_be_longer_ = false;
  int64_t units_ = 1;
};

}  // namespace

Status copy_tokens(const Example& example, const char* name, int64_t vocabulary, std::span<int32_t> out) {
  const auto wrong = [&](const std::string& what) { return Status(Code::kInvalid, std::string(name) + ": " + what); };
  const Feature* feature = example.find(name);
  if (!feature || feature->kind() != Feature::Kind::kInt64) return wrong("expected a list of int64, found none");
  if (feature->size() > out.size())
    return wrong(format("expected at most %zu tokens, which is --max_length, found %zu", out.size(), feature->size()));
  thread_local std::vector<int64_t> tokens;
  tokens.resize(feature->size());
  feature->copy(tokens.data());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] <= 0 || tokens[i] >= vocabulary)
      return wrong(format("token %zu is %ld, expected 1 to %ld", i, static_cast<long>(tokens[i]),
                          static_cast<long>(vocabulary - 1)));
    out[i] = static_cast<int32_t>(tokens[i]);
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(tokens.size()), out.end(), 0);
  return {};
}

const DataKind kPairs{
    .name = "pairs",
    .what = "pairs of sentences",
    .shape_flags =
        [](Flags& flags) {
          flags.integer("max_length", 0, "tokens of a sentence, the end's among them; 0: as the data or the model say",
                        0, 1 << 16);
          flags.integer("max_target_length", 0,
                        "tokens of what is written, where it is shorter than what is read; 0: as the data or the "
                        "model say, or else as max_length",
                        0, 1 << 16);
          flags.integer("vocab_size", 0, "tokens that there are; 0: as the data or the model say", 0, 1 << 24);
        },
    .train_flags =
        [](Flags& flags) {
          add_vocabulary_flag(flags);
          add_bleu_flags(flags);
          flags.boolean("use_ctl", true, "train by a loop of its own rather than by Keras's fit; there is no other");
        },
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<PairData>(c); },
    .batch_flags =
        [](Flags& flags) {
          flags.integer("batch_size", 0,
                        "tokens in each step, of max_length for each sentence; 0: as train_batch_size says", 0,
                        1 << 30);
          flags.boolean(
              "static_batch", false,
              "batches of batch_size / max_length pairs, padded to max_length, as on a TPU unless "
              "--nostatic_batch, and where targets have a length of their own; else pairs of about one length "
              "are together");
        },
};

}  // namespace tenon::runner
