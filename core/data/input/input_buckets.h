// Which examples a batch of data with buckets holds: integers only, as their order.
#pragma once

#include <cstdint>
#include <vector>

#include "data/input/input_order.h"
#include "tenon/input.h"

namespace tenon {

// Where each record goes.
struct BucketTable {
  static constexpr uint8_t kLeftOut = 255;

  std::vector<std::vector<uint8_t>> of;         // [part][record]
  std::vector<int64_t> rows;                    // of a batch of each bucket
  std::vector<std::vector<FeatureSpec>> specs;  // of an example there
  std::vector<std::vector<size_t>> bytes;       // of them
  int64_t left_out = 0;

  bool empty() const { return rows.empty(); }
  int64_t most_rows() const;
};

// An example on its way, and its place in the stream.
struct PlannedExample {
  RecordRef ref;
  uint64_t sample = 0, epoch = 0;
};

// The batches of an endless stream. Not thread safe.
class BucketOrder {
 public:
  BucketOrder(Order& order, const BucketTable& table) : order_(order), table_(table), waiting_(table.rows.size()) {}

  // Goes to the first batch that ends behind so many delivered examples.
  void seek(uint64_t delivered);
  // The bucket of the next batch, whose examples these are.
  int next(std::vector<PlannedExample>& batch);
  uint64_t delivered() const { return delivered_; }

 private:
  Order& order_;
  const BucketTable& table_;
  std::vector<std::vector<PlannedExample>> waiting_;  // of each bucket
  uint64_t read_ = 0, delivered_ = 0;
};

}  // namespace tenon
