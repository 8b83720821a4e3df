#include "data/convert/text_records.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>

#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/text.h"
#include "data/convert/generation_marker.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kDevStream = 0x64657673;

bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.';
  });
}

void shuffle(std::vector<std::string_view>& records, uint64_t seed) {
  std::vector<std::string_view> out;
  out.reserve(records.size());
  for (const size_t i : shuffled(records.size(), seed)) out.push_back(records[i]);
  records.swap(out);
}

}  // namespace

Status check_text_options(const ConvertTextOptions& o) {
  if (o.train_shards < 1 || o.train_shards > 99999)
    return invalid("convert: ", o.train_shards, " shards, expected 1 to 99999");
  if (o.vocab_size < 2 || o.vocab_sample < 1)
    return invalid("convert: a vocabulary of ", o.vocab_size, " from ", o.vocab_sample,
                   " characters, expected at least 2 and 1");
  if (!(o.dev_fraction > 0 && o.dev_fraction < 1))
    return invalid("convert: dev_fraction is ", o.dev_fraction, ", expected between 0 and 1");
  return {};
}

Status check_interrupted(const ConvertOptions& options) {
  if (!options.interrupted || !options.interrupted()) return {};
  return Status(Code::kInterrupted, cat("interrupted; '", options.output, "' is as it was"));
}

bool is_held_out(const ConvertTextOptions& options, std::string_view text) {
  const uint64_t drawn = philox_bits64(options.seed, kDevStream, 0, crc32c(text));
  return static_cast<double>(drawn >> 11) * 0x1p-53 < options.dev_fraction;
}

Result<Subtokenizer> text_vocabulary(const ConvertTextOptions& o,
                                     const std::function<Status(TokenCounts& counts)>& count) {
  if (!o.vocab_file.empty()) return Subtokenizer::load(o.vocab_file);
  TokenCounts counts;
  TENON_TRY(count(counts));
  return build_subtokens(counts, {.target_size = o.vocab_size,
                                  .threshold = std::max<int64_t>(o.vocab_size / 100, 1),
                                  .interrupted = o.interrupted});
}

Result<std::string> vocabulary_name(const ConvertTextOptions& o, const std::string& stem,
                                    const Subtokenizer& vocabulary) {
  const std::string given = name_of(o.vocab_file);
  const bool keeps = is_plain(given) && ::fnmatch(kVocabularyFiles, given.c_str(), 0) == 0;
  const int64_t size = o.vocab_file.empty() ? o.vocab_size : vocabulary.size();
  const std::string name = keeps ? given : cat("vocab.", stem, ".", size);
  const std::string path = cat(o.output, "/", name);
  if (o.overwrite || !file_bytes(path).ok()) return name;
  // A vocabulary by which other text is encoded must not be lost to one that is made now.
  const Result<Subtokenizer> old = Subtokenizer::load(path);
  if (old.ok() && old->text() == vocabulary.text()) return name;
  return invalid("output '", o.output, "': expected no other vocabulary, found ", path,
                 "; name it with --vocab_file, choose another directory, or overwrite it (--overwrite)");
}

Result<SplitWriter> SplitWriter::create(Kind kind, const ConvertOptions& options) {
  TENON_ASSIGN(RecordSpill spill, RecordSpill::create(options.output, kind.shards));
  return SplitWriter(std::move(kind), std::move(spill));
}

Result<ConvertSummary::Split> SplitWriter::write(OutputSet& output, const ConvertOptions& options) {
  if (split_.records == 0)
    return invalid(split_.name, ": expected at least one good ", kind_.what, ", found none", first_left_out());
  const auto shards = static_cast<size_t>(std::min(kind_.shards, split_.records));
  std::string text;
  for (size_t shard = 0; shard < shards; ++shard) {
    TENON_TRY(check_interrupted(options));
    TENON_ASSIGN(std::vector<std::string_view> records, spill_.read(shard, text));
    if (kind_.shuffles) shuffle(records, options.seed + shard);
    char suffix[64];
    std::snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu", shard + 1, shards);
    TENON_TRY(output.write_records(kind_.file_prefix + suffix, records, &split_));
  }
  return std::move(split_);
}

std::string SplitWriter::first_left_out() const {
  if (split_.left_out.empty()) return "";
  const ConvertSummary::LeftOut& first = split_.left_out[0];
  return cat("; the first is left out as ", first.why, " at ", first.first);
}

Status write_text_records(OutputSet& output, const std::vector<SplitWriter*>& splits, const Subtokenizer& words,
                          const char* kind, const std::vector<std::pair<const char*, int64_t>>& numbers,
                          const ConvertOptions& options, ConvertSummary* summary) {
  std::string info = cat("{\"kind\": \"", kind, "\", \"vocab_file\": \"", summary->vocab_file,
                         "\", \"vocab_size\": ", summary->vocab_size);
  for (const auto& [name, number] : numbers) info += cat(", \"", name, "\": ", number);
  for (SplitWriter* split : splits) {
    TENON_ASSIGN(ConvertSummary::Split written, split->write(output, options));
    info +=
        cat(", \"", written.name, "\": {\"records\": ", written.records, ", \"shards\": ", written.files.size(), "}");
    summary->splits.push_back(std::move(written));
  }
  TENON_TRY(output.write_text(summary->vocab_file, words.text()));
  TENON_TRY(output.write_text("info.json", info + "}\n"));
  return output.commit();
}

}  // namespace tenon
