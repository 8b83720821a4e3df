#include "train/batch_feed.h"

#include <algorithm>

#include "base/process_pool.h"
#include "base/text.h"

namespace tenon {
namespace {

// Small batches are cheap to make ahead; large ones take memory.
int slots_for(int64_t batch_bytes) {
  constexpr int64_t kBudget = 256 << 20;
  return static_cast<int>(std::clamp<int64_t>(kBudget / std::max<int64_t>(batch_bytes, 1), 2, 8));
}

Result<std::vector<size_t>> match_feeds(const Graph& graph, const std::vector<FeatureSpec>& specs) {
  std::vector<size_t> out;
  for (const Input& input : graph.inputs) {
    if (input.role != Role::kFeed) continue;
    const auto it = std::find_if(specs.begin(), specs.end(), [&](const FeatureSpec& s) { return s.name == input.name; });
    if (it == specs.end()) return invalid("the input has no feature '", input.name, "' that the model uses");
    out.push_back(static_cast<size_t>(it - specs.begin()));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<BatchFeed>> BatchFeed::create(const Executable& executable, const Dataset& data,
                                                     const PipelineState& from) {
  const int64_t batch = data.options().batch_size;
  std::unique_ptr<BatchFeed> feed(new BatchFeed(batch));
  TENON_ASSIGN(feed->feature_of_feed_, match_feeds(executable.graph, data.specs()));
  int64_t bytes = 0;
  for (const FeatureSpec& spec : data.specs()) bytes += spec.batch_type(batch).bytes();
  std::vector<BatchSlot> memory;
  for (int s = slots_for(bytes); s > 0; --s) {
    std::vector<Buffer> features;
    BatchSlot slot;
    for (const FeatureSpec& spec : data.specs()) {
      TENON_ASSIGN(Buffer buffer, executable.device->allocate(spec.batch_type(batch), true, true));  // dealt over the units
      slot.features.push_back(buffer.host());
      features.push_back(std::move(buffer));
    }
    feed->slots_.push_back(std::move(features));
    memory.push_back(std::move(slot));
  }
  TENON_ASSIGN(feed->pipeline_, InputPipeline::create(data, process_pool(), std::move(memory), from));
  feed->state_ = from;
  return feed;
}

bool BatchFeed::next(uint64_t, std::span<Buffer*> feeds) {
  if (ended_) return false;
  Result<Batch> batch = pipeline_->next();
  if (!batch.ok()) {
    status_ = batch.status();
    ended_ = true;
    return false;
  }
  if (batch->end() || batch->rows < batch_size_) {
    ended_ = true;
    if (!batch->end()) partial_ = *batch;
    return false;
  }
  held_ = *batch;
  for (size_t k = 0; k < feeds.size(); ++k) feeds[k] = &slots_[held_.slot][feature_of_feed_[k]];
  return true;
}

void BatchFeed::release(uint64_t) {
  state_ = pipeline_->state_after(held_);
  pipeline_->release(held_.slot);
}

}  // namespace tenon
