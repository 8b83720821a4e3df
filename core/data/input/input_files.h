// The record files of an input pipeline: which they are, where their records begin, and reading one of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file.h"
#include "tenon/input.h"
#include "tenon/status.h"

namespace tenon {

// "DIR/train-*" or the pattern, for messages.
std::string input_name(const InputOptions& options);

// The files that the options name, sorted. No match, or a missing shard of a split, is an error.
Result<std::vector<std::string>> find_input_files(const InputOptions& options);

struct RecordFile {
  std::string path;
  // Where each record's frame begins, and the end of the last one: records + 1 numbers.
  std::vector<int64_t> offsets;
  // Behind the last record, where its successor's frame is broken: how many more there are cannot be known. Only when
  // that is tolerated.
  int64_t lost_bytes = 0;
  Status broken = {};  // what is wrong there, with its place

  uint32_t sample = 0;  // of the checksums of some of its records: tells files of equal sizes apart
  std::shared_ptr<const File> unpacked = nullptr;  // where the frames are, of a compressed file

  // "the rest of FILE is lost, N bytes from offset M on"
  std::string lost() const;
  int64_t records() const { return static_cast<int64_t>(offsets.size()) - 1; }
  // "FILE: record at offset N", which counts inflated bytes.
  std::string where(int64_t offset) const;
};

// Reads the headers of all records and checks them, in parallel when there is a pool. A broken one is an error that names file
// and offset, or, with `tolerate`, ends the file; the first file's error counts. Files that GZIP or ZLIB compressed, which cannot
// be read at random, are unpacked into temporary_directory().
Result<std::vector<RecordFile>> index_files(const std::vector<std::string>& paths, bool tolerate, ThreadPool* pool);

// Whether GZIP or ZLIB compressed it.
Result<bool> is_compressed(const File& file);

// Reads records of many files at random, holding a limited number of files open. Thread safe.
class RecordFiles {
 public:
  explicit RecordFiles(std::vector<RecordFile> files);

  const std::vector<RecordFile>& files() const { return files_; }
  int64_t bytes() const { return bytes_; }

  // The data of a record, checked; it lives in *buffer, or until this thread's next call. kInvalid when it is damaged, or does
  // not fit into memory. `epoch` lets the system read ahead once more in each epoch.
  Result<std::string_view> read(size_t file, int64_t record, uint64_t epoch, std::unique_ptr<char[]>* buffer) const;

  // "FILE: record at offset N"
  std::string where(size_t file, int64_t record) const;
  // Dataset::data_fingerprint() of all.
  uint64_t fingerprint() const;

 private:
  Result<std::shared_ptr<const File>> open(size_t file) const;
  void read_ahead(const File& opened, size_t file, int64_t begin, uint64_t epoch) const;

  std::vector<RecordFile> files_;
  int64_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const File>> open_;  // null: closed
  mutable std::deque<size_t> opened_;                      // those that are not, the oldest first
  mutable std::vector<std::atomic<uint64_t>> advised_;     // (epoch + 1, blocks advised) of each file
};

}  // namespace tenon
