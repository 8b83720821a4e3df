#include "step/feed/batch_feed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/process/process_pool.h"
#include "base/text.h"
#include "op/replicas.h"

namespace tenon {
namespace {

// Small batches are cheap to make ahead; large ones take memory.
int slots_for(int64_t batch_bytes) {
  constexpr int64_t kBudget = 256 << 20;
  return static_cast<int>(std::clamp<int64_t>(kBudget / std::max<int64_t>(batch_bytes, 1), 2, 8));
}

Result<std::vector<size_t>> match_feeds(const Graph& graph, const std::vector<FeatureSpec>& specs) {
  std::vector<size_t> out;
  for (const GraphInput& input : graph.inputs) {
    if (input.role != Role::kFeed) continue;
    const auto it =
        std::find_if(specs.begin(), specs.end(), [&](const FeatureSpec& s) { return s.name == input.name; });
    if (it == specs.end()) return invalid("the input has no feature '", input.name, "' that the model uses");
    out.push_back(static_cast<size_t>(it - specs.begin()));
  }
  return out;
}

}  // namespace

Type dealt_type(const FeatureSpec& spec, int64_t batch, int replicas) {
  if (!spec.batch_minor) return spec.batch_type(batch);
  Type type = spec.batch_type(batch / replicas);
  type.shape.set(0, type.shape[0] * replicas);
  return type;
}

Result<std::unique_ptr<BatchFeed>> BatchFeed::create(const StepProgram& program, const StepInput& input,
                                                     const PipelineState& from, std::function<bool()> interrupted) {
  const Executable& executable = program.executable();
  const int64_t batch = input.batch_size;
  const int replicas = executable.graph.replicas;
  std::unique_ptr<BatchFeed> feed(new BatchFeed(batch, replicas));
  if (executable.graph.mode != Mode::kTrain) feed->positions_.resize(static_cast<size_t>(batch));
  TENON_ASSIGN(feed->feature_of_feed_, match_feeds(executable.graph, input.specs()));
  feed->specs_ = input.specs();
  for (const IndexRange& range : program.indices())
    for (size_t i = 0; i < feed->specs_.size(); ++i)
      if (feed->specs_[i].name == range.feature) feed->checked_.push_back({i, range});
  int64_t bytes = 0;
  for (const FeatureSpec& spec : input.specs()) bytes += spec.batch_type(batch).bytes();
  std::vector<BatchSlot> memory;
  for (int s = slots_for(bytes); s > 0; --s) {
    std::vector<Buffer> features;
    BatchSlot slot;
    slot.blocks = replicas;
    for (const FeatureSpec& spec : input.specs()) {
      TENON_ASSIGN(Buffer buffer,
                   executable.device->allocate(dealt_type(spec, batch, replicas), true, true));  // dealt over the units
      slot.features.push_back(buffer.host());
      features.push_back(std::move(buffer));
    }
    feed->slots_.push_back(std::move(features));
    memory.push_back(std::move(slot));
  }
  TENON_ASSIGN(feed->pipeline_, StepPipeline::create(input, process_pool(), memory, from));
  feed->state_ = from;
  feed->interrupted_ = std::move(interrupted);
  return feed;
}

Result<uint32_t> BatchFeed::run(StepProgram& program, Queue& queue, uint32_t n, Feed* around) {
  const auto begin = std::chrono::steady_clock::now();
  const double waited = pipeline_->wait_seconds();
  Result<uint32_t> done = program.run(queue, n, around ? around : this);
  device_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() -
                     (pipeline_->wait_seconds() - waited);
  if (done.ok()) examples_ += *done * batch_size_;
  return done;
}

bool BatchFeed::more() {
  if (ended_ || stopped_ || left_ == 0) return false;
  if (partial_.rows > 0) return true;
  if (!seen_) seen_ = pipeline_->next();
  return !seen_->ok() || !(*seen_)->end();
}

Result<Batch> BatchFeed::next_batch() {
  if (!seen_) return pipeline_->next();
  const Result<Batch> seen = *seen_;
  seen_.reset();
  return seen;
}

bool BatchFeed::next(uint64_t i, std::span<Buffer*> feeds) {
  if (ended_ || stopped_ || partial_.rows > 0 || left_ == 0) return false;
  stopped_ = i > 0 && interrupted_ && interrupted_();
  if (stopped_) return false;
  const Result<Batch> batch = next_batch();
  status_ = batch.ok() ? take(*batch) : batch.status();
  ended_ = !status_.ok() || batch->end();
  if (ended_) return false;
  const int64_t rows = std::min<int64_t>(batch->rows, left_);
  left_ -= rows;
  if (rows < batch_size_ || batch->bucket >= 0) {
    partial_ = *batch;
    partial_.rows = rows;
    return false;
  }
  held_.push_back(*batch);
  for (size_t k = 0; k < feeds.size(); ++k) feeds[k] = &slots_[batch->slot][feature_of_feed_[k]];
  return true;
}

// Takes note of a batch, or gives it back with an error.
Status BatchFeed::take(const Batch& batch) {
  for (int64_t row = 0; !positions_.empty() && row < batch.rows; ++row)
    positions_[static_cast<size_t>(row)] = pipeline_->position(batch, row);
  const Status status = check(batch);
  if (!status.ok()) pipeline_->release(batch.slot);
  return status;
}

Status BatchFeed::check(const Batch& batch) const {
  for (const Checked& c : checked_) {
    if (batch.end()) break;
    const FeatureSpec& spec = pipeline_->specs(batch.bucket)[c.feature];
    const Outside found =
        find_outside(c.range, slots_[static_cast<size_t>(batch.slot)][c.feature].host(), spec.type.dtype, batch.rows,
                     spec.type.shape.elements(), spec.batch_minor ? batch_size_ / replicas_ : 0);
    if (found.row >= 0) return invalid(pipeline_->where(batch, found.row), ": ", outside_message(c.range, found.value));
  }
  return {};
}

BatchFeed::FarFeature BatchFeed::farthest() const {
  FarFeature out;
  const Batch& batch = held_.back();
  for (size_t i = 0; i < specs_.size() && std::isfinite(out.value); ++i) {
    const FeatureSpec& spec = specs_[i];
    const Farthest found = find_farthest(slots_[static_cast<size_t>(batch.slot)][i].host(), spec.type.dtype, batch.rows,
                                         spec.type.shape.elements(), spec.batch_minor ? batch_size_ / replicas_ : 0);
    if (found.row < 0 || std::fabs(found.value) <= std::fabs(out.value)) continue;
    out = {found.value, cat("feature '", spec.name, "' is ", found.value, " in ", pipeline_->where(batch, found.row))};
  }
  return out;
}

Status BatchFeed::fill_partial(const StepProgram& program, Queue& queue, int64_t rows,
                               std::vector<Buffer>& buffers) const {
  const Executable& small = program.executable();
  size_t feed = 0;
  for (const GraphInput& input : small.graph.inputs) {
    if (input.role != Role::kFeed) continue;
    if (feed == buffers.size()) {
      TENON_ASSIGN(Buffer buffer,
                   small.device->allocate(joined_type(small.graph, input.value, input.split), true, input.split));
      buffers.push_back(std::move(buffer));
    }
    TENON_TRY(write_partial(queue, feed, buffers[feed], rows / small.graph.replicas, small.graph.replicas));
    ++feed;
  }
  return {};
}

// The first rows, `share` to the beginning of each of the buffer's parts, one a unit.
Status BatchFeed::write_partial(Queue& queue, size_t feed, const Buffer& to, int64_t share, int parts) const {
  const FeatureSpec& spec = partial_specs()[feature_of_feed_[feed]];
  const auto* from = static_cast<const std::byte*>(slots_[partial_.slot][feature_of_feed_[feed]].host());
  const auto size = static_cast<size_t>(dtype_bytes(spec.type.dtype));
  const int64_t elements = spec.type.shape.elements(), held = batch_size_ / replicas_;
  const int64_t room = to.type().shape.elements() / elements / parts;
  if (!spec.batch_minor && room == share) return queue.write(to, from, static_cast<uint64_t>(to.type().bytes()));
  // Element e of the row that is number i of a unit whose part has `rows`.
  const auto place = [&](int64_t unit, int64_t i, int64_t e, int64_t rows) {
    const int64_t at = spec.batch_minor ? (unit * elements + e) * rows + i : (unit * rows + i) * elements + e;
    return static_cast<size_t>(at) * size;
  };
  std::vector<std::byte> packed(static_cast<size_t>(to.type().bytes()));
  for (int64_t r = 0; r < share * parts; ++r)
    for (int64_t e = 0; e < elements; ++e) {
      const size_t source = place(r / held, r % held, e, held);
      std::memcpy(&packed[place(r / share, r % share, e, room)], from + source, size);
    }
  return queue.write(to, packed.data(), packed.size());
}

void BatchFeed::release_partial() {
  state_ = pipeline_->state_after(partial_);
  pipeline_->release(partial_.slot);
  partial_ = {};
}

void BatchFeed::release(uint64_t) {
  state_ = pipeline_->state_after(held_.front());
  pipeline_->release(held_.front().slot);
  held_.erase(held_.begin());
}

}  // namespace tenon
