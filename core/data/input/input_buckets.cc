#include "data/input/input_buckets.h"

#include <algorithm>
#include <utility>

namespace tenon {

std::vector<int64_t> length_boundaries(int64_t longest) {
  std::vector<int64_t> out;
  for (int64_t x = 8; x < longest; x = std::max(x + 1, static_cast<int64_t>(static_cast<double>(x) * 1.1)))
    out.push_back(x);
  out.push_back(longest);
  return out;
}

int64_t BucketTable::most_rows() const { return *std::max_element(rows.begin(), rows.end()); }

void BucketOrder::seek(uint64_t delivered) {
  order_.seek(0);
  for (auto& bucket : waiting_) bucket.clear();
  read_ = delivered_ = 0;
  std::vector<PlannedExample> passed;
  while (delivered_ < delivered) next(passed);
}

int BucketOrder::next(std::vector<PlannedExample>& batch) {
  for (;;) {
    const RecordRef ref = order_.next();
    const PlannedExample example{ref, read_++, order_.epoch()};
    const uint8_t bucket = table_.of[ref.part][ref.record];
    if (bucket == BucketTable::kLeftOut) continue;
    std::vector<PlannedExample>& waiting = waiting_[bucket];
    waiting.push_back(example);
    if (static_cast<int64_t>(waiting.size()) < table_.rows[bucket]) continue;
    batch.swap(waiting);
    waiting.clear();
    delivered_ += batch.size();
    return bucket;
  }
}

}  // namespace tenon
