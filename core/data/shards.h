// The files that a conversion writes: records made in parallel, written in order, renamed at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
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

// A directory and its parents; those that it made and that are still empty go with it.
class MadeDirectory {
 public:
  static Result<MadeDirectory> make(const std::string& path);
  MadeDirectory(MadeDirectory&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  ~MadeDirectory();

 private:
  MadeDirectory() = default;
  std::vector<std::string> made_;  // parents first
};

// The new contents of an output directory. Nothing is visible before commit(), and nothing remains without it.
class OutputSet {
 public:
  // Makes the directory. An error when it holds records, unless options.overwrite.
  static Result<OutputSet> create(const ConvertOptions& options);

  // Adds counts, bytes and files to *split.
  Status write_split(const SplitSource& source, ThreadPool& pool, ConvertSummary::Split* split);
  Status write_text(const std::string& name, std::string_view text);

  // Removes the old records and gives every new file its name, those of write_text last.
  Status commit();

 private:
  OutputSet(const ConvertOptions& options, MadeDirectory directory)
      : directory_(std::move(directory)), options_(options) {}
  Result<std::vector<std::string>> existing() const;

  MadeDirectory directory_;  // outlives the files in it
  ConvertOptions options_;
  std::vector<RecordWriter> shards_;
  std::vector<AtomicFile> texts_;
};

// labels.txt and info.json; `more` is added to the JSON object.
Status write_labels_and_info(OutputSet& output, const ConvertSummary& summary, const std::string& more);

// The class names: at least two, all different.
Result<std::vector<std::string>> read_labels(const std::string& path);

}  // namespace tenon
