#include "step/feed/batch_feed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/process/process_pool.h"
#include "base/strings.h"
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

// Evaluation counts each row once, damaged ones not at all: every process has to see all of them to know a batch's end.
BatchFeed::BatchFeed(int64_t batch_size, const StepProgram& program)
    : batch_size_(batch_size), replicas_(program.executable().graph.replicas) {
  const Device& device = *program.executable().device;
  const bool shared = replicas_ > 1 && device.processes() > 1;
  rows_ = shared ? batch_size / device.processes() : batch_size;
  first_row_ = shared ? device.rank() * rows_ : 0;
  fills_own_ = program.executable().graph.mode == Mode::kTrain;
}

Result<BatchSlot> BatchFeed::make_slot(const StepProgram& program) {
  Device& device = *program.executable().device;
  Slot slot;
  BatchSlot memory;
  memory.blocks = static_cast<int>(replicas_ * rows_ / batch_size_);
  for (const FeatureSpec& spec : specs_) {
    TENON_ASSIGN(Buffer buffer,
                 device.allocate(dealt_type(spec, batch_size_, replicas_), true, true));  // over the units
    memory.features.push_back(buffer.host());
    slot.features.push_back(std::move(buffer));
    if (!is_shared()) continue;
    const auto bytes = static_cast<size_t>(spec.batch_type(batch_size_).bytes());
    slot.whole.emplace_back(static_cast<std::byte*>(std::calloc(std::max<size_t>(bytes, 1), 1)));
    if (!slot.whole.back())
      return Status(Code::kOutOfMemory, cat("no memory for batches: asked for ", bytes, " bytes"));
    memory.rest.push_back(slot.whole.back().get());
  }
  slots_.push_back(std::move(slot));
  if (!is_shared()) return memory;
  memory.rest_blocks = replicas_;
  memory.first_row = first_row_;
  memory.rows = rows_;
  if (!fills_own_) return BatchSlot{.features = memory.rest, .blocks = replicas_};
  return memory;
}

// The memory of a batch: all of it, or of a whole batch this process's rows.
const void* BatchFeed::rows_of(const Batch& batch, size_t feature, bool own) const {
  const Slot& slot = slots_[static_cast<size_t>(batch.slot)];
  return own || !is_shared() ? slot.features[feature].host() : slot.whole[feature].get();
}

// This process's rows to where the device reads them.
void BatchFeed::copy_own(const Batch& batch) {
  Slot& slot = slots_[static_cast<size_t>(batch.slot)];
  for (size_t i = 0; i < specs_.size(); ++i) {
    const auto bytes = static_cast<size_t>(slot.features[i].type().bytes());
    std::memcpy(slot.features[i].host(), slot.whole[i].get() + static_cast<size_t>(first_row_ / rows_) * bytes, bytes);
  }
}

Result<std::unique_ptr<BatchFeed>> BatchFeed::create(const StepProgram& program, const StepInput& input,
                                                     const PipelineState& from, std::function<bool()> interrupted) {
  const Executable& executable = program.executable();
  const int64_t batch = input.batch_size;
  std::unique_ptr<BatchFeed> feed(new BatchFeed(batch, program));
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
    TENON_ASSIGN(BatchSlot slot, feed->make_slot(program));
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
  if (is_shared() && !fills_own_) copy_own(*batch);
  held_.push_back(*batch);
  for (size_t k = 0; k < feeds.size(); ++k)
    feeds[k] = &slots_[static_cast<size_t>(batch->slot)].features[feature_of_feed_[k]];
  return true;
}

// Takes note of a batch, or gives it back with an error.
Status BatchFeed::take(const Batch& batch) {
  if (!positions_.empty() && batch.rows > static_cast<int64_t>(positions_.size()))  // of a bucket
    positions_.resize(static_cast<size_t>(batch.rows));
  for (int64_t row = 0; !positions_.empty() && row < batch.rows; ++row)
    positions_[static_cast<size_t>(row)] = pipeline_->position(batch, row);
  const Status status = check(batch);
  if (!status.ok()) pipeline_->release(batch.slot);
  return status;
}

Status BatchFeed::check(const Batch& batch) const {
  const bool own = is_shared() && fills_own_ && batch.rows == batch_size_ && batch.bucket < 0;
  const int64_t rows = own ? rows_ : batch.rows, first = own ? first_row_ : 0;
  for (const Checked& c : checked_) {
    if (batch.end()) break;
    const FeatureSpec& spec = pipeline_->specs(batch.bucket)[c.feature];
    const Outside found = find_outside(c.range, rows_of(batch, c.feature, own), spec.type.dtype, rows,
                                       spec.type.shape.elements(), spec.batch_minor ? batch_size_ / replicas_ : 0);
    if (found.row >= 0)
      return invalid(pipeline_->where(batch, first + found.row), ": ", outside_message(c.range, found.value));
  }
  return {};
}

BatchFeed::FarFeature BatchFeed::farthest() const {
  FarFeature out;
  const Batch& batch = held_.back();
  for (size_t i = 0; i < specs_.size() && std::isfinite(out.value); ++i) {
    const FeatureSpec& spec = specs_[i];
    const Farthest found = find_farthest(rows_of(batch, i, true), spec.type.dtype, rows_, spec.type.shape.elements(),
                                         spec.batch_minor ? batch_size_ / replicas_ : 0);
    if (found.row < 0 || std::fabs(found.value) <= std::fabs(out.value)) continue;
    out = {found.value,
           cat("feature '", spec.name, "' is ", found.value, " in ", pipeline_->where(batch, first_row_ + found.row))};
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
    TENON_TRY(
        write_partial(queue, feed, buffers[feed], rows / small.graph.replicas, small.graph.replicas, *small.device));
    ++feed;
  }
  return {};
}

// The first rows, `share` to the beginning of each of the buffer's parts, one a unit; those of this process's units.
Status BatchFeed::write_partial(Queue& queue, size_t feed, const Buffer& to, int64_t share, int replicas,
                                const Device& device) const {
  const int parts = replicas > 1 ? replicas / device.processes() : 1;
  const int64_t first = replicas > 1 ? device.rank() * parts * share : 0;  // row
  const FeatureSpec& spec = partial_specs()[feature_of_feed_[feed]];
  const auto* from = static_cast<const std::byte*>(rows_of(partial_, feature_of_feed_[feed], false));
  const auto size = static_cast<size_t>(dtype_bytes(spec.type.dtype));
  const int64_t elements = spec.type.shape.elements(), held = batch_size_ / replicas_;
  const int64_t room = to.type().shape.elements() / elements / parts;
  if (!spec.batch_minor && room == share)
    return queue.write(to, from + static_cast<size_t>(first * elements) * size,
                       static_cast<uint64_t>(to.type().bytes()));
  // Element e of the row that is number i of a unit whose part has `rows`.
  const auto place = [&](int64_t unit, int64_t i, int64_t e, int64_t rows) {
    const int64_t at = spec.batch_minor ? (unit * elements + e) * rows + i : (unit * rows + i) * elements + e;
    return static_cast<size_t>(at) * size;
  };
  std::vector<std::byte> packed(static_cast<size_t>(to.type().bytes()));
  for (int64_t r = 0; r < share * parts; ++r)
    for (int64_t e = 0; e < elements; ++e) {
      const size_t source = place((first + r) / held, (first + r) % held, e, held);
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
