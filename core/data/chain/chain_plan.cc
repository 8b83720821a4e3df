// The batches of a chain, in its order.
#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "data/chain/chain_batches.h"
#include "data/input/input_plan.h"

namespace tenon {
namespace {

class ChainPlan : public BatchPlan {
 public:
  ChainPlan(const Dataset::Impl& data, ThreadPool& pool) : data_(data), batches_(*data.batches), pool_(&pool) {}

  void seek(uint64_t samples) override {
    epoch_ = samples / data_.size;
    given_ = epoch_ * data_.size;
    stream_ = batches_.node->open(epoch_, pool_);
    ahead_.reset();
    while (given_ < samples && pull()) {
      given_ += rows_of(*ahead_);
      ahead_.reset();
    }
  }

  uint64_t next(InputSlot& slot) override {
    if (!pull()) return 0;
    const uint64_t rows = rows_of(*ahead_);
    if (rows > slot.rows.size())
      fail(batches_.node->where(ahead_->ref), ": a batch has ", rows, " rows, expected at most ", slot.rows.size());
    if (!data_.buckets.empty()) slot.set_bucket(static_cast<int>(BatchNode::bucket_of(ahead_->ref)));
    for (uint64_t row = 0; row < rows; ++row) {
      slot.rows[row].ref = {0, static_cast<uint32_t>(row)};
      slot.rows[row].sample = {given_ + row, epoch_, data_.options.seed, false};
      slot.rows[row].batch = ahead_.get();
    }
    slot.batch = std::move(ahead_);
    given_ += rows;
    slot.end_sample = given_;
    return rows;
  }

  bool at_end() override { return !pull(); }

 private:
  // The next batch, which waits until it is taken.
  bool pull() {
    if (ahead_) return true;
    auto batch = std::make_shared<PlannedBatch>();
    if (!stream_->next(batch->ref)) return false;
    ahead_ = std::move(batch);
    return true;
  }

  // Made at once where nobody else knows.
  uint64_t rows_of(PlannedBatch& batch) const {
    const int64_t known = batches_.node->rows(batch.ref);
    if (known >= 0) return static_cast<uint64_t>(known);
    std::call_once(batch.once, [&] {
      batch.whole = placed(*batches_.node, batch.ref, [&] { return batches_.node->shared_value(batch.ref); });
    });
    const Array& first = batch.whole->begin()->second;
    return first.shape().rank() < 1 ? 1 : static_cast<uint64_t>(first.dim(0));
  }

  const Dataset::Impl& data_;
  const ChainBatches& batches_;
  ThreadPool* pool_;
  std::unique_ptr<ElementStream> stream_;
  std::shared_ptr<PlannedBatch> ahead_;
  uint64_t epoch_ = 0, given_ = 0;
};

}  // namespace

std::unique_ptr<BatchPlan> make_chain_plan(const Dataset::Impl& data, ThreadPool& pool) {
  return std::make_unique<ChainPlan>(data, pool);
}

}  // namespace tenon
