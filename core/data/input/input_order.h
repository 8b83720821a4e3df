// The order in which the records of many files are delivered: integers only, no data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

// Record `record` of part `part`; a part is what one shard reads of a file.
struct RecordRef {
  uint32_t part = 0;
  uint32_t record = 0;
};

struct OrderOptions {
  bool shuffle = false;  // parts and records
  int64_t shuffle_buffer = 1024;
  int interleave = 64;
  uint64_t seed = 0;
};

// An endless stream of epochs, each a permutation of all records. Not thread safe.
class Order {
 public:
  // REQUIRED: the sum of counts is positive.
  Order(std::vector<uint32_t> counts, OrderOptions options);

  uint64_t size() const { return size_; }  // of an epoch
  uint64_t epoch() const { return epoch_; }

  // Goes to a place in the stream; costs some 10 ns for each record between the epoch's begin and it.
  void seek(uint64_t sample);
  RecordRef next();

 private:
  struct Reader {
    uint32_t part;
    uint32_t record;
  };

  void begin_epoch(uint64_t epoch);
  bool open_next(Reader& reader);
  RecordRef read();
  void fill_buffer();
  RecordRef draw();

  std::vector<uint32_t> counts_;
  OrderOptions options_;
  uint64_t size_ = 0;

  uint64_t epoch_ = 0;
  uint64_t delivered_ = 0;       // in this epoch
  uint64_t read_ = 0;            // in this epoch, into the shuffle buffer too
  std::vector<uint32_t> parts_;  // in this epoch's order
  size_t next_part_ = 0;
  std::vector<Reader> cycle_;  // the parts read in turn
  size_t turn_ = 0;
  std::vector<RecordRef> buffer_;
  std::array<uint64_t, 2> drawn_ = {};  // for an even sample of the epoch and the next one
};

}  // namespace tenon
