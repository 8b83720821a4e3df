// TFRecord files: a sequence of byte strings, each guarded by two checksums.
//
// On the disk a record is, little-endian,
//   u64 length | u32 masked crc32c(length bytes) | length bytes | u32 masked crc32c(data)
// and a compressed file is the whole sequence as one GZIP or ZLIB stream. The reader finds out by
// itself which it has.
//
//   TENON_ASSIGN(RecordReader reader, RecordReader::open("train-00000-of-00001"));
//   std::string_view record;
//   for (;;) {
//     TENON_ASSIGN(bool more, reader.next(&record));
//     if (!more) break;
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

enum class Compression { kNone, kGzip, kZlib };

struct RecordReaderOptions {
  // Damaged records are errors unless this is set; then they are passed over and counted.
  bool skip_corrupt = false;
  bool verify_checksums = true;
  // Read at once from the file; grows only for a larger record.
  size_t buffer_bytes = size_t{1} << 20;
  // A longer record is taken for damage.
  uint64_t max_record_bytes = uint64_t{1} << 30;
};

// Reads one file from front to back. Nothing is allocated for a record once the buffer has grown to
// the longest one. Movable; one thread at a time.
//
// What can be wrong, and what skip_corrupt makes of it:
//   checksum of the data is wrong,
//   no memory for so long a record   one record skipped, goes on with the next
//   checksum of the length is wrong, length beyond the end of the file, file ends inside a record,
//   broken compression               nothing after it can be found: counts as one, the file ends
// An error of the system (the disk) is never skipped. An error names file and byte offset and stays:
// every later next() gives it again.
class RecordReader {
 public:
  static Result<RecordReader> open(const std::string& path, const RecordReaderOptions& options = {});

  // Reads `bytes`, which must outlive the reader, as if they were a file called `name`.
  static Result<RecordReader> from_memory(std::string_view bytes, const std::string& name,
                                          const RecordReaderOptions& options = {});

  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  // True: *record is the next record's data, valid until the next call. False: the file has ended.
  Result<bool> next(std::string_view* record);

  // Where the next record starts. Offsets count uncompressed bytes, in a compressed file too.
  uint64_t offset() const;

  // Goes to an offset that offset() gave. Clears a sticky error; skipped() goes on counting. In a
  // compressed file everything before it is inflated once more.
  Status seek(uint64_t offset);

  uint64_t skipped() const;            // records passed over so far
  const Status& last_skipped() const;  // why the last of them was; ok when there was none
  const std::string& path() const;

 private:
  struct State;
  explicit RecordReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes one file. It appears under its name only in close(); without close(), or after an error,
// nothing remains of it. Movable; one thread at a time.
class RecordWriter {
 public:
  static Result<RecordWriter> create(const std::string& path, Compression compression = Compression::kNone);

  RecordWriter(RecordWriter&&) noexcept;
  RecordWriter& operator=(RecordWriter&&) noexcept;
  ~RecordWriter();

  Status write(std::string_view record);

  // Makes the file durable under its temporary name: the writer of several files finishes all of
  // them before it closes the first. Optional.
  Status finish();
  Status close();

  uint64_t records() const;  // written so far
  const std::string& path() const;

 private:
  struct State;
  explicit RecordWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tenon
