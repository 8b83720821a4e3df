// The files that a conversion writes: records made in parallel, written in order, shown at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/convert/generation.h"
#include "data/convert/parts.h"
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

// The new contents of an output directory. Nothing is visible before commit(), and nothing remains without it, but for parts
// that several processes make. Errors name a file as it would have been called in that directory.
class OutputSet {
 public:
  // Makes the directory. An error when it holds records, unless options.overwrite. All processes of a job call it, and commit().
  static Result<OutputSet> create(const ConvertOptions& options, const std::function<JobText()>& job);
  // The same for what has no parts; only one process calls it.
  static Result<OutputSet> create_whole(const ConvertOptions& options);

  // Adds counts, bytes and files to each split.
  Status write_splits(std::span<const SplitSource> sources, ThreadPool& pool, std::span<ConvertSummary::Split> splits);
  // These, in order, as one file. Adds bytes to *split, whose records are counted already.
  Status write_records(const std::string& name, std::span<const std::string_view> records,
                       ConvertSummary::Split* split);
  Status write_text(const std::string& name, std::string_view text);

  Status commit();

  // Where several processes share the work, or took it up; else null.
  Parts* parts() { return parts_ ? &*parts_ : nullptr; }
  bool is_part() const { return options_.parts > 0; }
  // Whether this process may make a unit: any, but for those of other parts.
  bool may_make(int64_t unit) const { return !is_part() || unit % options_.parts == options_.part; }
  // Is to be shown at the end; adds it to *split.
  void add_file(const std::string& name, ConvertSummary::Split* split);
  // The error as it is to be told; parts that cannot become a whole are not kept.
  Status failed(const Status& error);

 private:
  explicit OutputSet(const ConvertOptions& options) : options_(options) {}

  Status lead(const std::function<JobText()>& job);
  Result<std::string> place(const std::string& name);
  Status as_asked(const Status& error) const;
  Status write_split(const SplitSource& source, ThreadPool& pool, ConvertSummary::Split* split);
  Status share_splits(std::span<const SplitSource> sources, ThreadPool& pool, std::span<ConvertSummary::Split> splits);
  Status write_shard(const SplitSource& source, size_t begin, size_t end, const std::string& name, ThreadPool& pool,
                     ConvertSummary::Split* split);
  Status show_parts();

  ConvertOptions options_;
  std::optional<Generation> generation_;  // of the process that shows the files
  std::optional<Parts> parts_;
  std::vector<std::string> made_;  // finished parts
};

// labels.txt and info.json; `more` is added to the JSON object.
Status write_labels_and_info(OutputSet& output, const ConvertSummary& summary, const std::string& more);

// Whether a line of labels.txt can hold it; `where` begins the message.
Status check_label(std::string_view where, std::string_view label);
// The class names: at least two, all different.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace tenon
