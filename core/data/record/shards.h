// The files that a conversion writes: records made in parallel, written in order, shown at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/convert/generation.h"
#include "tenon/convert.h"
#include "tenon/example.h"
#include "tenon/tfrecord.h"

namespace tenon {

// A permutation of 0..n-1, the same for the same seed.
std::vector<size_t> shuffled(size_t n, uint64_t seed);

// What one split consists of: `bytes[i]` is about the size of record i.
struct SplitSource {
  std::string name;
  std::vector<int64_t> bytes;
  // Puts record i into the builder; called from several threads. An error of code kInvalid may be
  // passed over when `skip_bad`.
  std::function<Status(size_t i, ExampleBuilder& builder)> make;
  bool skip_bad = false;
};

// The new contents of an output directory. Nothing is visible before commit(), and nothing remains without it. Errors name a
// file as it would have been called in that directory.
class OutputSet {
 public:
  // Makes the directory. An error when it holds records, unless options.overwrite.
  static Result<OutputSet> create(const ConvertOptions& options);

  // Adds counts, bytes and files to *split.
  Status write_split(const SplitSource& source, ThreadPool& pool, ConvertSummary::Split* split);
  // These, in order, as one file. Adds bytes and the file to *split, whose records are counted already.
  Status write_records(const std::string& name, std::span<const std::string_view> records,
                       ConvertSummary::Split* split);
  Status write_text(const std::string& name, std::string_view text);

  Status commit();

 private:
  OutputSet(const ConvertOptions& options, Generation generation)
      : options_(options), generation_(std::move(generation)) {}

  Status write_shard(const SplitSource& source, size_t begin, size_t end, const std::string& name, ThreadPool& pool,
                     ConvertSummary::Split* split);

  ConvertOptions options_;
  Generation generation_;
};

// labels.txt and info.json; `more` is added to the JSON object.
Status write_labels_and_info(OutputSet& output, const ConvertSummary& summary, const std::string& more);

// The class names: at least two, all different.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace tenon
