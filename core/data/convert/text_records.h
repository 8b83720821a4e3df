// What conversions of text share: their options, vocabularies, and records on their way to the files of a split.
#pragma once

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

// options.vocab_file, or what `count` gives is made one.
Result<Subtokenizer> text_vocabulary(const ConvertTextOptions& options,
                                     const std::function<Status(TokenCounts& counts)>& count);
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
  static Result<SplitWriter> create(Kind kind, const ConvertOptions& options);

  Status add(std::string_view record) {
    return spill_.add(static_cast<size_t>(split_.records++ % kind_.shards), record);
  }
  void count_shortened() { ++split_.shortened; }
  // Counted; `first` says where it is the first time.
  template <class First>
  void leave_out(std::string_view why, const First& first) {
    split_.leave_out(why, first);
  }
  // An error where there is none.
  Result<ConvertSummary::Split> write(OutputSet& output, const ConvertOptions& options);

 private:
  SplitWriter(Kind kind, RecordSpill spill) : kind_(std::move(kind)), spill_(std::move(spill)) {
    split_.name = kind_.name;
  }
  std::string first_left_out() const;

  ConvertSummary::Split split_;
  Kind kind_;
  RecordSpill spill_;
};

// Writes the splits, the vocabulary and info.json, {"kind": .., "vocab_file", "vocab_size", numbers.., "train": ..}, and shows them all.
Status write_text_records(OutputSet& output, const std::vector<SplitWriter*>& splits, const Subtokenizer& words,
                          const char* kind, const std::vector<std::pair<const char*, int64_t>>& numbers,
                          const ConvertOptions& options, ConvertSummary* summary);

}  // namespace tenon
