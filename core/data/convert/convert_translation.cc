#include <algorithm>
#include <span>
#include <utility>

#include "base/caught.h"
#include "base/strings.h"
#include "data/convert/text_records.h"
#include "data/convert/translation_corpus.h"
#include "data/items.h"

namespace tenon {
namespace {

constexpr size_t kBlockPairs = 1024, kBlockBytes = 8 << 20;  // encoded at once
constexpr size_t kKeptBytes = 16 << 10;                      // of a pair's memory, for the next one

// A pair on its way: what was read, and what becomes of it.
struct Item {
  TextPair pair;
  int64_t position = 0;
  bool held_out = false;
  bool shortened = false;
  const char* left_out = nullptr;  // why
  std::string record;

  size_t capacity() const { return pair.source.capacity() + pair.target.capacity() + record.capacity(); }
};

class Encoder {
 public:
  Encoder(const ConvertTranslationOptions& options, const Subtokenizer& words) : options_(options), words_(words) {}

  Status encode(Item& item) const {
    thread_local std::vector<int32_t> inputs, targets;
    for (std::string* text : {&item.pair.source, &item.pair.target}) *text = Subtokenizer::cleaned(*text);
    item.held_out = is_held_out(options_, item.pair.source);
    inputs.clear(), targets.clear();
    item.left_out = tokens_of(item, inputs, targets);
    if (!item.left_out) write_record(inputs, targets, item.record);
    return {};
  }

 private:
  // Why the pair is left out, or null.
  const char* tokens_of(Item& item, std::vector<int32_t>& inputs, std::vector<int32_t>& targets) const {
    const TextPair& pair = item.pair;
    if (pair.bad) return pair.source.empty() ? "empty" : pair.bad;
    if (pair.source.empty() || pair.target.empty()) return "empty";
    if (has_nul(pair.source) || has_nul(pair.target)) return "nul_byte";
    if (!words_.encode(pair.source, inputs).ok() || !words_.encode(pair.target, targets).ok()) return "not_utf8";
    const auto most = static_cast<size_t>(options_.max_length);
    item.shortened = options_.cut_source && inputs.size() >= most;
    if (item.shortened) inputs.resize(most - 1);
    inputs.push_back(Subtokenizer::kEos), targets.push_back(Subtokenizer::kEos);
    const auto [shorter, longer] = std::minmax({inputs.size(), targets.size()});
    const int64_t most_targets = options_.max_target_length > 0 ? options_.max_target_length : options_.max_length;
    if (inputs.size() > most || static_cast<int64_t>(targets.size()) > most_targets) return "too_long";
    const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
    return options_.max_ratio > 0 && ratio > options_.max_ratio ? "unequal" : nullptr;
  }

  static void write_record(const std::vector<int32_t>& inputs, const std::vector<int32_t>& targets,
                           std::string& record) {
    thread_local ExampleBuilder builder;
    thread_local std::vector<int64_t> wide;
    wide.assign(inputs.begin(), inputs.end());
    builder.add_int64s("inputs", wide);
    wide.assign(targets.begin(), targets.end());
    builder.add_int64s("targets", wide);
    record = builder.finish();
  }

  const ConvertTranslationOptions& options_;
  const Subtokenizer& words_;
};

// Encodes pairs by blocks, on all threads, and gives them to their splits in order.
class Conversion {
 public:
  Conversion(const ConvertTranslationOptions& options, const Subtokenizer& words, TextUnits& units, ThreadPool& pool)
      : options_(options), encoder_(options, words), units_(units), pool_(pool), items_(kBlockPairs) {}

  // `held_out`, if any, gets the pairs that are held out.
  Status encode(const std::vector<OpenPairs>& files, SplitWriter& to, SplitWriter* held_out) {
    for (const OpenPairs& open : files) {
      TENON_ASSIGN(const PairReaderPtr reader, open());
      TENON_TRY(for_each_pair(*reader, options_, [&](TextPair& pair) -> Result<bool> {
        bytes_ += pair.source.size() + pair.target.size();
        items_[used_].position = reader->position();
        std::swap(items_[used_++].pair, pair);
        if (used_ == items_.size() || bytes_ >= kBlockBytes) TENON_TRY(flush(*reader, to, held_out));
        return true;
      }));
      TENON_TRY(flush(*reader, to, held_out));
    }
    return {};
  }

 private:
  Status flush(const PairReader& reader, SplitWriter& to, SplitWriter* held_out) {
    if (used_ == 0) return {};
    TENON_ASSIGN(const bool makes, units_.begin_block(bytes_));
    if (makes) TENON_TRY(make_records(reader, to, held_out));
    used_ = bytes_ = 0;
    return {};
  }

  Status make_records(const PairReader& reader, SplitWriter& to, SplitWriter* held_out) {
    for (const Status& made : for_each_item(&pool_, used_, [&](size_t i) { return encoder_.encode(items_[i]); }))
      TENON_TRY(made);
    for (Item& item : std::span(items_).first(used_)) {
      SplitWriter& split = held_out && item.held_out ? *held_out : to;
      if (item.shortened && !item.left_out) split.count_shortened();
      if (item.left_out)
        split.leave_out(item.left_out, [&] { return reader.where(item.position); });
      else
        TENON_TRY(split.add(item.record));
      if (item.capacity() > kKeptBytes) item = {};
    }
    return {};
  }

  const ConvertTranslationOptions& options_;
  Encoder encoder_;
  TextUnits& units_;
  ThreadPool& pool_;
  std::vector<Item> items_;
  size_t used_ = 0, bytes_ = 0;
};

bool is_language_tag(std::string_view tag) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !tag.empty() && tag.size() <= 35 && std::all_of(tag.begin(), tag.end(), is_part);
}

Status check_options(const ConvertTranslationOptions& o) {
  if (o.source.empty() && o.pairs.empty())
    return invalid("convert: there is no text, expected source and target files, or pairs");
  for (const std::string& tag : {o.source_language, o.target_language})
    if (!is_language_tag(tag))
      return invalid("convert: language '", abbreviated(tag), "', expected one like en or pt-BR");
  if (o.max_length < 2) return invalid("convert: max_length is ", o.max_length, ", expected at least 2");
  if (o.max_target_length < 0 || o.max_target_length == 1)
    return invalid("convert: max_target_length is ", o.max_target_length, ", expected 0 or at least 2");
  if (!o.vocab_stem.empty() && !is_language_tag(o.vocab_stem))
    return invalid("convert: vocab_stem '", abbreviated(o.vocab_stem), "', expected letters and digits");
  return check_text_options(o);
}

JobText job_of(const ConvertTranslationOptions& o) {
  JobText job = text_job("pairs", o);
  job.add_files("source", o.source).add_files("target", o.target).add_files("pairs", o.pairs);
  job.add_files("dev_source", o.dev_source).add_files("dev_target", o.dev_target).add_files("dev_pairs", o.dev_pairs);
  job.add("source_language", o.source_language).add("target_language", o.target_language).add("stem", o.vocab_stem);
  job.add("max_ratio", o.max_ratio).add("max_target_length", o.max_target_length).add("cut_source", o.cut_source);
  return job;
}

Result<ConvertSummary> convert(const ConvertTranslationOptions& options, ThreadPool& pool) {
  TENON_TRY(check_options(options));
  TENON_ASSIGN(const std::vector<OpenPairs> train_files, training_pairs(options));
  TENON_ASSIGN(const std::vector<OpenPairs> dev_files, dev_pairs(options));
  TENON_ASSIGN(OutputSet output, OutputSet::create(options, [&] { return job_of(options); }));
  TENON_ASSIGN(const Subtokenizer words, translation_vocabulary(output, options, train_files));
  ConvertSummary summary;
  summary.vocab_size = words.size();
  const std::string languages = options.source_language + options.target_language;
  TENON_ASSIGN(summary.vocab_file,
               vocabulary_name(options, options.vocab_stem.empty() ? languages : options.vocab_stem, words));

  TENON_ASSIGN(SplitWriter train,
               SplitWriter::create({"train", "wmt32k-train", "pair", options.train_shards, true}, output, options));
  TENON_ASSIGN(SplitWriter dev, SplitWriter::create({"dev", "wmt32k-dev", "pair", 1, false}, output, options));
  TextUnits units(output, train, dev);
  Conversion conversion(options, words, units, pool);
  TENON_TRY(output.failed(conversion.encode(train_files, train, dev_files.empty() ? &dev : nullptr)));
  TENON_TRY(output.failed(conversion.encode(dev_files, dev, nullptr)));
  TENON_TRY(units.end());
  std::vector<std::pair<const char*, int64_t>> numbers{{"max_length", options.max_length}};
  if (options.max_target_length > 0) numbers.emplace_back("max_target_length", options.max_target_length);
  TENON_TRY(write_text_records(output, {&train, &dev}, words, "pairs", numbers, options, &summary));
  return summary;
}

}  // namespace

Result<ConvertSummary> convert_translation(const ConvertTranslationOptions& options, ThreadPool& pool) {
  return caught([&] { return convert(options, pool); });
}

}  // namespace tenon
