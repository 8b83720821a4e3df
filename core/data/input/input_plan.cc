#include "data/input/input_plan.h"

#include <algorithm>
#include <vector>

namespace tenon {
namespace {

class FlatPlan : public BatchPlan {
 public:
  explicit FlatPlan(const Dataset::Impl& data) : data_(data), order_(data.source->counts(), data.order) {}
  void seek(uint64_t samples) override {
    next_ = samples;
    last_ = (samples / data_.size + 1) * data_.size;
    order_.seek(samples);
  }
  uint64_t next(InputSlot& slot) override {
    const uint64_t count = next_rows();
    for (uint64_t row = 0; row < count; ++row) {
      slot.rows[row].ref = order_.next();
      slot.rows[row].sample = {next_++, order_.epoch(), data_.options.seed, data_.options.training};
    }
    slot.end_sample = next_;
    return count;
  }
  bool at_end() override { return next_rows() == 0; }

 private:
  uint64_t next_rows() const {
    const auto batch = static_cast<uint64_t>(data_.options.batch_size);
    if (data_.options.repeat) return batch;
    const uint64_t left = last_ - next_;
    return left < batch && data_.options.drop_remainder ? 0 : std::min(batch, left);
  }

  const Dataset::Impl& data_;
  Order order_;
  uint64_t next_ = 0, last_ = 0;  // last_ is unused when the stream repeats
};

// The plan of data with buckets, which repeat.
class BucketPlan : public BatchPlan {
 public:
  explicit BucketPlan(const Dataset::Impl& data)
      : data_(data), order_(data.source->counts(), data.order), buckets_(order_, data.buckets) {}
  void seek(uint64_t samples) override { buckets_.seek(samples); }
  uint64_t next(InputSlot& slot) override {
    slot.set_bucket(buckets_.next(planned_));
    for (size_t row = 0; row < planned_.size(); ++row) {
      const PlannedExample& example = planned_[row];
      slot.rows[row].ref = example.ref;
      slot.rows[row].sample = {example.sample, example.epoch, data_.options.seed, data_.options.training};
    }
    slot.end_sample = buckets_.delivered();
    return planned_.size();
  }
  bool at_end() override { return false; }

 private:
  const Dataset::Impl& data_;
  Order order_;
  BucketOrder buckets_;
  std::vector<PlannedExample> planned_;
};

}  // namespace

std::unique_ptr<BatchPlan> make_plan(const Dataset::Impl& data, ThreadPool& pool) {
  if (data.batches) return make_chain_plan(data, pool);
  if (data.buckets.empty()) return std::make_unique<FlatPlan>(data);
  return std::make_unique<BucketPlan>(data);
}

}  // namespace tenon
