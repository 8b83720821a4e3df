// Elements of an epoch in a file: TFRecords of them in any order, one that says where each is, and one of fixed size at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/input/input_files.h"
#include "tenon/dataset.h"
#include "tenon/tfrecord.h"

namespace tenon {

// Whose elements they are: fingerprints of the chain and of its data, 0 where they are not known.
struct CacheTag {
  uint64_t chain = 0, data = 0;
};

struct CachedElement {
  std::string where;  // its place in the data
  Element element;
};

// Immutable; thread safe.
class CacheFile {
 public:
  // Null where there is no file. An error, in a line, where it is no such file, is cut, or is one of another chain or of other data.
  static Result<std::unique_ptr<const CacheFile>> open(const std::string& path, const CacheTag& tag);

  uint64_t size() const { return record_of_.size(); }
  int64_t rows(uint64_t index) const { return rows_[index]; }  // ChainNode::rows
  // The error names file and offset.
  Result<CachedElement> read(uint64_t index, uint64_t epoch) const;

 private:
  CacheFile(RecordFile file, std::vector<uint64_t> record_of, std::vector<int64_t> rows);
  RecordFiles files_;
  std::vector<uint64_t> record_of_;
  std::vector<int64_t> rows_;
};

// Writes one, which appears in finish(). One thread at a time.
class CacheWriter {
 public:
  static Result<CacheWriter> create(const std::string& path);

  static std::string record_of(const Element& element, const std::string& where);
  bool has(uint64_t index) const { return index < record_of_.size() && record_of_[index] != kNone; }
  uint64_t written() const { return static_cast<uint64_t>(offsets_.size()) - 1; }
  Status add(uint64_t index, int64_t rows, std::string_view record);
  // REQUIRED: elements 0 .. written() - 1 were added.
  Status finish(const CacheTag& tag);

 private:
  explicit CacheWriter(RecordWriter writer) : writer_(std::move(writer)) {}
  static constexpr uint64_t kNone = ~uint64_t{0};
  RecordWriter writer_;
  std::vector<int64_t> offsets_ = {0};
  std::vector<uint64_t> record_of_;
  std::vector<int64_t> rows_;
};

}  // namespace tenon
