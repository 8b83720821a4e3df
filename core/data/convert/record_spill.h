// Records on their way to shards: kept on the disk as they come, given back a shard at a time. In memory are some MiB whatever their
// number, and 16 bytes for each piece of some KiB that was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/descriptor.h"
#include "tenon/status.h"

namespace tenon {

// A record with its length, and the views of all in such a text.
void append_record(std::string_view record, std::string& text);
Result<std::vector<std::string_view>> records_in_text(const std::string& text);

// One file without a name. Movable; one thread.
class RecordSpill {
 public:
  // The file's bytes are on the disk of `directory`. REQUIRED: shards >= 1.
  static Result<RecordSpill> create(const std::string& directory, int64_t shards);

  Status add(size_t shard, std::string_view record);
  // All records of the shard, in the order in which they came. The views are into *text. REQUIRED: add() is not called again.
  Result<std::vector<std::string_view>> read(size_t shard, std::string& text) const;

 private:
  struct Piece {
    int64_t offset, bytes;
  };
  struct Shard {
    std::vector<Piece> pieces;
    std::string tail;  // not yet written
  };
  RecordSpill(std::string directory, Descriptor file, int64_t shards);
  Status write_tail(Shard& shard);

  std::string directory_;
  Descriptor file_;
  int64_t bytes_ = 0;
  std::vector<Shard> shards_;
  size_t piece_bytes_;  // of a tail that is written
};

}  // namespace tenon
