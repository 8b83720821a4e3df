#include "data/convert/text_records.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>

#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/strings.h"
#include "data/convert/generation_marker.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kDevStream = 0x64657673;
constexpr int kUnitBlocks = 16;  // of a unit, or
constexpr size_t kUnitBytes = 16 << 20;

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
  return interrupted_status(options);
}

bool is_held_out(const ConvertTextOptions& options, std::string_view text) {
  const uint64_t drawn = philox_bits64(options.seed, kDevStream, 0, crc32c(text));
  return static_cast<double>(drawn >> 11) * 0x1p-53 < options.dev_fraction;
}

namespace {

Result<Subtokenizer> made_vocabulary(const ConvertTextOptions& o,
                                     const std::function<Status(TokenCounts& counts)>& count) {
  TokenCounts counts;
  TENON_TRY(count(counts));
  return build_subtokens(counts, {.target_size = o.vocab_size,
                                  .threshold = std::max<int64_t>(o.vocab_size / 100, 1),
                                  .interrupted = o.interrupted});
}

}  // namespace

Result<Subtokenizer> text_vocabulary(OutputSet& output, const ConvertTextOptions& o,
                                     const std::function<Status(TokenCounts& counts)>& count) {
  if (!o.vocab_file.empty()) return Subtokenizer::load(o.vocab_file);
  Parts* const parts = output.parts();
  if (!parts) return made_vocabulary(o, count);
  constexpr const char* kName = "vocabulary";
  TENON_ASSIGN(const bool ours, parts->lock_or_wait(Parts::Lock::kVocabulary, kName));
  if (ours) {
    Result<Subtokenizer> made = made_vocabulary(o, count);
    if (!made.ok()) return output.failed(made.status());
    TENON_TRY(parts->as_asked(atomic_write(parts->path(kName), made->text())));
    TENON_TRY(parts->unlock(Parts::Lock::kVocabulary));
  }
  return Subtokenizer::load(parts->path(kName));
}

JobText text_job(std::string_view kind, const ConvertTextOptions& o) {
  JobText job(kind);
  job.add("seed", o.seed).add("dev_fraction", o.dev_fraction).add("vocab_size", o.vocab_size);
  job.add("vocab_sample", o.vocab_sample).add("max_length", o.max_length).add("train_shards", o.train_shards);
  job.add_files("vocab_file", {o.vocab_file});
  return job;
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

Result<SplitWriter> SplitWriter::create(Kind kind, OutputSet& output, const ConvertOptions& options) {
  const auto shards = static_cast<size_t>(kind.shards);
  SplitWriter out(std::move(kind), output.parts() ? output.parts()->path("") : "");
  if (output.parts()) {
    out.dealt_.resize(shards);
  } else {
    TENON_ASSIGN(out.spill_, RecordSpill::create(options.output, out.kind_.shards));
  }
  return out;
}

Status SplitWriter::add(std::string_view record) {
  const auto shard = static_cast<size_t>(split_.records++ % kind_.shards);
  if (spill_) return spill_->add(shard, record);
  append_record(record, dealt_[shard]);
  return {};
}

// The file is where the records dealt to each shard begin, shards + 1 numbers, and these.
Result<ConvertSummary::Split> SplitWriter::write_unit(const std::string& name) {
  std::vector<int64_t> begins{0};
  for (const std::string& records : dealt_) begins.push_back(begins.back() + static_cast<int64_t>(records.size()));
  TENON_TRY(atomic_write(directory_ + name, [&](AtomicFile& file) -> Status {
    TENON_TRY(file.write(begins.data(), begins.size() * sizeof begins[0]));
    for (const std::string& records : dealt_) TENON_TRY(file.write(records.data(), records.size()));
    return {};
  }));
  for (std::string& records : dealt_) records.clear();
  ConvertSummary::Split out = std::move(split_);
  split_ = {};
  split_.name = kind_.name;
  return out;
}

Status SplitWriter::take_units(const std::vector<std::string>& names,
                               const std::vector<ConvertSummary::Split>& counts) {
  for (size_t unit = 0; unit < names.size(); ++unit) {
    unit_begins_.push_back(split_.records);
    add_counts(counts[unit], &split_);
  }
  units_ = names;
  return {};
}

std::string SplitWriter::shard_name(size_t shard) const {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu", shard + 1, shards());
  return kind_.file_prefix + suffix;
}

// Views into *text. Of a unit that has n records before it, what is dealt to shard s is what it dealt to (s - n) % shards.
Result<std::vector<std::string_view>> SplitWriter::read_shard(size_t shard, std::string& text) const {
  if (spill_) return spill_->read(shard, text);
  text.clear();
  const auto most = static_cast<size_t>(kind_.shards);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const size_t dealt = (shard + most - static_cast<size_t>(unit_begins_[unit]) % most) % most;
    TENON_ASSIGN(const File file, File::open(directory_ + units_[unit]));
    int64_t ends[2];
    TENON_TRY(file.read_exactly_at(static_cast<int64_t>(dealt * sizeof(int64_t)), ends, sizeof ends));
    const int64_t header = (kind_.shards + 1) * static_cast<int64_t>(sizeof(int64_t));
    if (ends[0] < 0 || ends[0] > ends[1] || ends[1] > file.size() - header)
      return invalid("'", file.path(), "': expected what a conversion writes there");
    const size_t before = text.size();
    text.resize(before + static_cast<size_t>(ends[1] - ends[0]));
    TENON_TRY(file.read_exactly_at(header + ends[0], text.data() + before, text.size() - before));
  }
  return records_in_text(text);
}

Status SplitWriter::write(OutputSet& output, int64_t group, const ConvertOptions& options) {
  if (split_.records == 0)
    return output.failed(
        invalid(split_.name, ": expected at least one good ", kind_.what, ", found none", first_left_out()));
  std::string text;
  Parts* const parts = output.parts();
  for (size_t shard = 0; shard < shards(); ++shard) {
    TENON_TRY(check_interrupted(options));
    const std::string name = shard_name(shard);
    if (parts) {
      TENON_ASSIGN(const bool mine, parts->claim(group, static_cast<int64_t>(shard), name));
      if (!mine) continue;
    }
    Result<std::vector<std::string_view>> records = read_shard(shard, text);
    if (!records.ok()) return output.failed(records.status());
    if (kind_.shuffles) shuffle(*records, options.seed + shard);
    PartCounts made(1);
    TENON_TRY(output.write_records(name, *records, made.data()));
    if (parts)
      TENON_TRY(parts->finish(group, static_cast<int64_t>(shard), name, made));
    else
      split_.bytes += made[0].bytes;
  }
  return {};
}

Result<ConvertSummary::Split> SplitWriter::show(OutputSet& output) {
  for (size_t shard = 0; shard < shards(); ++shard) {
    const std::string name = shard_name(shard);
    if (Parts* const parts = output.parts()) {
      TENON_TRY(parts->wait_for(name));
      TENON_ASSIGN(const PartCounts counts, parts->counts(name));
      for (const ConvertSummary::Split& made : counts) split_.bytes += made.bytes;
    }
    output.add_file(name, &split_);
  }
  return std::move(split_);
}

std::string SplitWriter::first_left_out() const {
  if (split_.left_out.empty())
    return kind_.name == "dev" ? "; without files for it, a larger --dev_fraction holds some out" : "";
  const ConvertSummary::LeftOut& first = split_.left_out[0];
  return cat("; the first is left out as ", first.why, " at ", first.first);
}

namespace {

std::string unit_name(int64_t unit) { return cat("unit-", unit); }

}  // namespace

Result<bool> TextUnits::begin_block(size_t bytes) {
  if (!output_.parts()) return true;
  if (blocks_ == kUnitBlocks || bytes_ >= kUnitBytes) TENON_TRY(end_unit());
  if (blocks_++ == 0) {
    makes_ = false;
    if (output_.may_make(units_)) {
      TENON_ASSIGN(makes_, output_.parts()->claim(0, units_, unit_name(units_)));
    }
  }
  bytes_ += bytes;
  return makes_;
}

Status TextUnits::end_unit() {
  if (blocks_ == 0) return {};
  const int64_t unit = units_++;
  blocks_ = 0, bytes_ = 0;
  if (!std::exchange(makes_, false)) return {};
  PartCounts counts;
  for (const SplitWriter* const split : splits_) counts.push_back(split->counts());
  for (SplitWriter* const split : splits_)
    TENON_TRY(output_.parts()->as_asked(split->write_unit(cat(unit_name(unit), "-", split->counts().name)).status()));
  return output_.parts()->finish(0, unit, unit_name(unit), counts);
}

Status TextUnits::end() {
  if (!output_.parts()) return {};
  TENON_TRY(end_unit());
  for (size_t s = 0; s < std::size(splits_); ++s) {
    std::vector<std::string> names;
    std::vector<ConvertSummary::Split> counts;
    for (int64_t unit = 0; unit < units_; ++unit) {
      if (!output_.may_make(unit)) continue;
      TENON_TRY(output_.parts()->wait_for(unit_name(unit)));
      TENON_ASSIGN(PartCounts made, output_.parts()->counts(unit_name(unit)));
      if (made.size() != std::size(splits_)) return invalid("unit ", unit, ": expected counts of two splits");
      names.push_back(cat(unit_name(unit), "-", splits_[s]->counts().name));
      counts.push_back(std::move(made[s]));
    }
    TENON_TRY(splits_[s]->take_units(names, counts));
  }
  return {};
}

Status write_text_records(OutputSet& output, const std::vector<SplitWriter*>& splits, const Subtokenizer& words,
                          const char* kind, const std::vector<std::pair<const char*, int64_t>>& numbers,
                          const ConvertOptions& options, ConvertSummary* summary) {
  summary->complete = !output.is_part();
  if (output.is_part()) {
    for (const SplitWriter* split : splits) summary->splits.push_back(split->counts());
    return {};
  }
  std::string info = cat("{\"kind\": \"", kind, "\", \"vocab_file\": \"", summary->vocab_file,
                         "\", \"vocab_size\": ", summary->vocab_size);
  for (const auto& [name, number] : numbers) info += cat(", \"", name, "\": ", number);
  int64_t group = 1;
  for (SplitWriter* split : splits) TENON_TRY(split->write(output, group++, options));
  for (SplitWriter* split : splits) {
    TENON_ASSIGN(ConvertSummary::Split written, split->show(output));
    info +=
        cat(", \"", written.name, "\": {\"records\": ", written.records, ", \"shards\": ", written.files.size(), "}");
    summary->splits.push_back(std::move(written));
  }
  TENON_TRY(output.write_text(summary->vocab_file, words.text()));
  TENON_TRY(output.write_text("info.json", info + "}\n"));
  return output.commit();
}

}  // namespace tenon
