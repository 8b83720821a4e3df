// What conversions of text share: their options, vocabularies, and records on their way to the files of a split.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/convert/record_spill.h"
#include "data/record/shards.h"
#include "tenon/convert.h"
#include "tenon/subtokenizer.h"

namespace tenon {

Status check_text_options(const ConvertTextOptions& options);
// kInterrupted where the caller has asked for it.
Status check_interrupted(const ConvertOptions& options);
// Whether it is drawn for evaluation: by `text` alone, so that what has the same is in one split.
bool is_held_out(const ConvertTextOptions& options, std::string_view text);

// What no text has, and programs end their strings with.
inline bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// options.vocab_file, or what `count` gives is made one; where several processes share the work, by one of them for all.
Result<Subtokenizer> text_vocabulary(OutputSet& output, const ConvertTextOptions& options,
                                     const std::function<Status(TokenCounts& counts)>& count);
// What conversions of text have in common to tell them from others.
JobText text_job(std::string_view kind, const ConvertTextOptions& options);
// What it is called in the output directory, "vocab.STEM.32768". An error where another one is lost to it.
Result<std::string> vocabulary_name(const ConvertTextOptions& options, const std::string& stem,
                                    const Subtokenizer& vocabulary);

// The records of a split: dealt in turn to shards, which are then written one after the other.
class SplitWriter {
 public:
  struct Kind {
    std::string name, file_prefix;  // "train", "wmt32k-train"
    const char* what;               // "pair", for errors
    int64_t shards;
    bool shuffles;
  };
  static Result<SplitWriter> create(Kind kind, OutputSet& output, const ConvertOptions& options);

  Status add(std::string_view record);
  void count_shortened() { ++split_.shortened; }
  // Counted; `first` says where it is the first time.
  template <class First>
  void leave_out(std::string_view why, const First& first) {
    split_.leave_out(why, first);
  }

  // Where several processes share the work, what was added since the last call is a unit's: its records become a file called
  // `name`, its counts are given back.
  Result<ConvertSummary::Split> write_unit(const std::string& name);
  // All units, in order: what they have is what was added.
  Status take_units(const std::vector<std::string>& names, const std::vector<ConvertSummary::Split>& counts);

  // Writes the files that this process is to make; show() is the rest. An error where there is no record.
  Status write(OutputSet& output, int64_t group, const ConvertOptions& options);
  Result<ConvertSummary::Split> show(OutputSet& output);
  const ConvertSummary::Split& counts() const { return split_; }

 private:
  SplitWriter(Kind kind, std::string directory) : kind_(std::move(kind)), directory_(std::move(directory)) {
    split_.name = kind_.name;
  }
  std::string first_left_out() const;
  size_t shards() const { return static_cast<size_t>(std::min(kind_.shards, split_.records)); }
  std::string shard_name(size_t shard) const;
  Result<std::vector<std::string_view>> read_shard(size_t shard, std::string& text) const;

  ConvertSummary::Split split_;
  Kind kind_;
  std::string directory_;             // of units
  std::optional<RecordSpill> spill_;  // of one process alone
  // The records of a unit on its way: record i is in dealt_[i % shards].
  std::vector<std::string> dealt_;
  std::vector<std::string> units_;    // files
  std::vector<int64_t> unit_begins_;  // how many records there are before each
};

// Blocks of text that several processes share. All read everything, in the same order; which of them makes records of a block is
// decided for some blocks in a row, a unit. One process alone makes all.
class TextUnits {
 public:
  // They outlive it.
  TextUnits(OutputSet& output, SplitWriter& train, SplitWriter& dev) : output_(output), splits_{&train, &dev} {}

  // Whether records are to be made of the next block, of so many bytes.
  Result<bool> begin_block(size_t bytes);
  // The input has ended. Waits for other processes, unless they have other parts; the splits then have what all of them made, or this
  // part.
  Status end();

 private:
  Status end_unit();

  OutputSet& output_;
  SplitWriter* splits_[2];
  int64_t units_ = 0;
  int blocks_ = 0;      // of this unit
  size_t bytes_ = 0;    // of this unit
  bool makes_ = false;  // it is this process's
};

// Writes the splits, the vocabulary and info.json, {"kind": .., "vocab_file", "vocab_size", numbers.., "train": ..}, and shows them all; of
// one part, only counts. REQUIRED: `units` of the splits has ended, where there are any.
Status write_text_records(OutputSet& output, const std::vector<SplitWriter*>& splits, const Subtokenizer& words,
                          const char* kind, const std::vector<std::pair<const char*, int64_t>>& numbers,
                          const ConvertOptions& options, ConvertSummary* summary);

}  // namespace tenon
