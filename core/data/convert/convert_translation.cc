#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "base/caught.h"
#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/text.h"
#include "data/convert/record_spill.h"
#include "data/convert/translation_corpus.h"
#include "data/items.h"
#include "data/philox.h"
#include "data/record/shards.h"

namespace tenon {
namespace {

constexpr size_t kBlockPairs = 1024, kBlockBytes = 8 << 20;  // encoded at once
constexpr size_t kKeptBytes = 16 << 10;                      // of a pair's memory, for the next one
constexpr uint32_t kDevStream = 0x64657673;

// A pair on its way: what was read, and what becomes of it.
struct Item {
  TextPair pair;
  int64_t position = 0;
  bool held_out = false;
  const char* left_out = nullptr;  // why
  std::string record;

  size_t capacity() const { return pair.source.capacity() + pair.target.capacity() + record.capacity(); }
};

class Encoder {
 public:
  Encoder(const ConvertTranslationOptions& options, const Subtokenizer& words) : options_(options), words_(words) {}

  Status encode(Item& item) const {
    thread_local std::vector<int32_t> inputs, targets;
    clean(item.pair.source), clean(item.pair.target);
    item.held_out = is_held_out(item.pair.source);
    inputs.clear(), targets.clear();
    item.left_out = tokens_of(item.pair, inputs, targets);
    if (!item.left_out) write_record(inputs, targets, item.record);
    return {};
  }

 private:
  // By the source sentence alone, so that none is in both splits.
  bool is_held_out(std::string_view source) const {
    const uint64_t drawn = philox_bits64(options_.seed, kDevStream, 0, crc32c(source));
    return static_cast<double>(drawn >> 11) * 0x1p-53 < options_.dev_fraction;
  }

  // Why the pair is left out, or null.
  const char* tokens_of(const TextPair& pair, std::vector<int32_t>& inputs, std::vector<int32_t>& targets) const {
    if (pair.source.empty() || pair.target.empty()) return "empty";
    if (!words_.encode(pair.source, inputs).ok() || !words_.encode(pair.target, targets).ok()) return "not_utf8";
    inputs.push_back(Subtokenizer::kEos), targets.push_back(Subtokenizer::kEos);
    const auto [shorter, longer] = std::minmax({inputs.size(), targets.size()});
    if (static_cast<int64_t>(longer) > options_.max_length) return "too_long";
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

// The records of a split: dealt in turn to shards, which are then written one after the other.
class SplitWriter {
 public:
  static Result<SplitWriter> create(std::string name, int64_t shards, bool shuffles,
                                    const ConvertTranslationOptions& options) {
    TENON_ASSIGN(RecordSpill spill, RecordSpill::create(options.output, shards));
    return SplitWriter(std::move(name), shards, shuffles, options.seed, std::move(spill));
  }

  Status add(const Item& item, const PairReader& reader) {
    if (item.left_out) {
      split_.leave_out(item.left_out, [&] { return reader.where(item.position); });
      return {};
    }
    return spill_.add(static_cast<size_t>(split_.records++ % shards_), item.record);
  }

  Result<ConvertSummary::Split> write(OutputSet& output, const ConvertTranslationOptions& options) {
    if (split_.records == 0)
      return invalid(split_.name, ": expected at least one good pair, found none", first_left_out());
    const auto shards = static_cast<size_t>(std::min(shards_, split_.records));
    std::string text;
    for (size_t shard = 0; shard < shards; ++shard) {
      TENON_TRY(check_interrupted(options));
      TENON_ASSIGN(std::vector<std::string_view> records, spill_.read(shard, text));
      if (shuffles_) shuffle(records, seed_ + shard);
      char suffix[64];
      std::snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu", shard + 1, shards);
      TENON_TRY(output.write_records(cat("wmt32k-", split_.name, suffix), records, &split_));
    }
    return std::move(split_);
  }

 private:
  SplitWriter(std::string name, int64_t shards, bool shuffles, uint64_t seed, RecordSpill spill)
      : shards_(shards), shuffles_(shuffles), seed_(seed), spill_(std::move(spill)) {
    split_.name = std::move(name);
  }

  static void shuffle(std::vector<std::string_view>& records, uint64_t seed) {
    std::vector<std::string_view> out;
    out.reserve(records.size());
    for (const size_t i : shuffled(records.size(), seed)) out.push_back(records[i]);
    records.swap(out);
  }
  std::string first_left_out() const {
    if (split_.left_out.empty()) return "";
    const ConvertSummary::LeftOut& first = split_.left_out[0];
    return cat("; the first is left out as ", first.why, " at ", first.first);
  }

  ConvertSummary::Split split_;
  int64_t shards_;
  bool shuffles_;
  uint64_t seed_;
  RecordSpill spill_;
};

// Encodes pairs by blocks, on all threads, and gives them to their splits in order.
class Conversion {
 public:
  Conversion(const ConvertTranslationOptions& options, const Subtokenizer& words, ThreadPool& pool)
      : options_(options), encoder_(options, words), pool_(pool), items_(kBlockPairs) {}

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
    for (const Status& made : for_each_item(&pool_, used_, [&](size_t i) { return encoder_.encode(items_[i]); }))
      TENON_TRY(made);
    for (Item& item : std::span(items_).first(used_)) {
      TENON_TRY((held_out && item.held_out ? *held_out : to).add(item, reader));
      if (item.capacity() > kKeptBytes) item = {};
    }
    used_ = bytes_ = 0;
    return {};
  }

  const ConvertTranslationOptions& options_;
  Encoder encoder_;
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
  if (o.train_shards < 1 || o.train_shards > 99999)
    return invalid("convert: ", o.train_shards, " shards, expected 1 to 99999");
  if (o.vocab_size < 2 || o.vocab_sample < 1)
    return invalid("convert: a vocabulary of ", o.vocab_size, " from ", o.vocab_sample,
                   " characters, expected at least 2 and 1");
  if (!(o.dev_fraction > 0 && o.dev_fraction < 1))
    return invalid("convert: dev_fraction is ", o.dev_fraction, ", expected between 0 and 1");
  return {};
}

// A vocabulary by which other text is encoded must not be lost to one that is made now.
Status check_vocabulary_in_the_way(const ConvertTranslationOptions& o, const std::string& name,
                                   const Subtokenizer& words) {
  const std::string path = cat(o.output, "/", name);
  if (o.overwrite || !file_bytes(path).ok()) return {};
  const Result<Subtokenizer> old = Subtokenizer::load(path);
  if (old.ok() && old->text() == words.text()) return {};
  return invalid("output '", o.output, "': expected no other vocabulary, found ", path,
                 "; name it with --vocab_file, choose another directory, or overwrite it (--overwrite)");
}

std::string info_of(const ConvertSummary& summary, int64_t max_length) {
  std::string out = cat("{\"kind\": \"pairs\", \"vocab_file\": \"", summary.vocab_file,
                        "\", \"vocab_size\": ", summary.vocab_size, ", \"max_length\": ", max_length);
  for (const ConvertSummary::Split& split : summary.splits)
    out += cat(", \"", split.name, "\": {\"records\": ", split.records, ", \"shards\": ", split.files.size(), "}");
  return out + "}\n";
}

Result<ConvertSummary> convert(const ConvertTranslationOptions& options, ThreadPool& pool) {
  TENON_TRY(check_options(options));
  TENON_ASSIGN(const std::vector<OpenPairs> train_files, training_pairs(options));
  TENON_ASSIGN(const std::vector<OpenPairs> dev_files, dev_pairs(options));
  TENON_ASSIGN(OutputSet output, OutputSet::create(options));
  TENON_ASSIGN(const Subtokenizer words, translation_vocabulary(options, train_files));
  ConvertSummary summary;
  summary.vocab_file = vocabulary_name(options, words);
  summary.vocab_size = words.size();
  TENON_TRY(check_vocabulary_in_the_way(options, summary.vocab_file, words));

  TENON_ASSIGN(SplitWriter train, SplitWriter::create("train", options.train_shards, true, options));
  TENON_ASSIGN(SplitWriter dev, SplitWriter::create("dev", 1, false, options));
  Conversion conversion(options, words, pool);
  TENON_TRY(conversion.encode(train_files, train, dev_files.empty() ? &dev : nullptr));
  TENON_TRY(conversion.encode(dev_files, dev, nullptr));
  for (SplitWriter* split : {&train, &dev}) {
    TENON_ASSIGN(ConvertSummary::Split written, split->write(output, options));
    summary.splits.push_back(std::move(written));
  }
  TENON_TRY(output.write_text(summary.vocab_file, words.text()));
  TENON_TRY(output.write_text("info.json", info_of(summary, options.max_length)));
  TENON_TRY(output.commit());
  return summary;
}

}  // namespace

Result<ConvertSummary> convert_translation(const ConvertTranslationOptions& options, ThreadPool& pool) {
  return caught([&] { return convert(options, pool); });
}

}  // namespace tenon
