#include "step/feed/step_input.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

Status with_pipeline(size_t pipeline, const Status& status) {
  return Status(status.code(), cat("input pipeline ", pipeline, ": ", status.message()));
}

Result<Dataset> called(const InputFn& function, const InputContext& context, const Params& params) {
  try {
    return function(context, params);
  } catch (const Error& e) {
    return e.status();
  } catch (const std::exception& e) {
    return invalid("the input function threw: ", e.what());
  }
}

bool same(const FeatureSpec& a, const FeatureSpec& b) {
  return a.name == b.name && a.type == b.type && a.batch_minor == b.batch_minor;
}

Status check_pipeline(const Dataset& data, const Dataset& first, int64_t rows) {
  if (data.options().batch_size != rows)
    return invalid("the input function gave batches of ", data.options().batch_size,
                   ", expected params[\"batch_size\"], ", rows);
  const auto& specs = data.specs();
  if (!std::equal(specs.begin(), specs.end(), first.specs().begin(), first.specs().end(), same))
    return invalid("the input function gave other features than for pipeline 0");
  return {};
}

InputContext context_of(const Spread& spread, int pipeline, int64_t rows) {
  const int pipelines = spread.pipelines();
  return {.input_pipeline_id = pipeline,
          .num_input_pipelines = pipelines,
          .host = static_cast<int>(int64_t{pipeline} * spread.hosts / pipelines),
          .num_hosts = spread.hosts,
          .num_replicas_in_sync = spread.replicas,
          .batch_size = rows};
}

}  // namespace

Result<StepInput> StepInput::make(const TrainInput& input, const Spread& spread, const Params& params, Mode mode) {
  if (input.data()) return StepInput(*input.data());
  const int64_t batch = input.batch_size();
  if (batch < 1) return invalid(mode_name(mode), " batch size ", batch, ", expected 1 or more");
  TENON_TRY(spread.check_batch(batch, mode));
  if (spread.pipelines() > 1 && spread.replicas % spread.hosts != 0)
    return invalid("input for each host: expected as many cores on each, found ", spread.replicas, " on ", spread.hosts,
                   " hosts");
  const int64_t rows = spread.params_batch_size(batch);
  Params with_batch = params;
  with_batch.set("batch_size", rows);
  std::vector<Dataset> datasets;
  for (int p = 0; p < spread.pipelines(); ++p) {
    Result<Dataset> data = called(input.function(), context_of(spread, p, rows), with_batch);
    const Status status = data.ok() ? check_pipeline(*data, p ? datasets[0] : *data, rows) : data.status();
    if (!status.ok()) return spread.pipelines() > 1 ? with_pipeline(static_cast<size_t>(p), status) : status;
    datasets.push_back(data.take());
  }
  return StepInput(batch, std::move(datasets));
}

uint64_t StepInput::data_fingerprint() const {
  uint64_t all = 0;
  for (const Dataset& data : datasets) {
    if (data.data_fingerprint() == 0) return 0;
    all = all == 0 ? data.data_fingerprint() : (all * 1099511628211u ^ data.data_fingerprint()) | 1;
  }
  return all;
}

std::string StepInput::data_text() const {
  return cat(datasets[0].size(), " examples, fingerprint ", data_fingerprint());
}

StepPipeline::StepPipeline(const StepInput& input)
    : batch_size_(input.batch_size),
      rows_(input.datasets[0].options().batch_size),
      parts_(static_cast<int>(batch_size_ / rows_ / static_cast<int64_t>(input.datasets.size()))),
      count_(input.datasets.size()),
      fingerprint_(input.datasets[0].fingerprint()),
      data_(input.data_fingerprint()),
      datasets_(input.datasets) {
  for (size_t p = 1; p < count_; ++p)
    fingerprint_ = (fingerprint_ * 1099511628211u ^ input.datasets[p].fingerprint()) | 1;  // 0 is unknown
}

// The memory of the `rows_` rows from `first_row` on. Features whose batch is minor-most lie there in whole shares of units.
BatchSlot StepPipeline::part_of(const BatchSlot& slot, const std::vector<FeatureSpec>& specs, int64_t first_row) const {
  BatchSlot out;
  out.blocks = static_cast<int>(slot.blocks * rows_ / batch_size_);
  for (size_t i = 0; i < specs.size(); ++i)
    out.features.push_back(static_cast<char*>(slot.features[i]) + first_row * specs[i].type.bytes());
  return out;
}

// Pipelines run in step, so each has given its part of all samples.
PipelineState StepPipeline::state_of(const PipelineState& all, const Dataset& data) const {
  if (count_ == 1) return all;
  return {all.samples / count_, all.fingerprint == fingerprint_ ? data.fingerprint() : 0, data.data_fingerprint()};
}

Result<std::unique_ptr<StepPipeline>> StepPipeline::create(const StepInput& input, ThreadPool& pool,
                                                           const std::vector<BatchSlot>& slots,
                                                           const PipelineState& from) {
  std::unique_ptr<StepPipeline> out(new StepPipeline(input));
  if (out->count_ * static_cast<size_t>(out->parts_) > 1 && !input.datasets[0].options().buckets.boundaries.empty())
    return invalid("data with buckets of lengths are for one input pipeline, and the device has ",
                   out->count_ * static_cast<size_t>(out->parts_));
  int64_t row = 0;
  for (const Dataset& data : input.datasets) {
    std::vector<BatchSlot> memory;
    for (const BatchSlot& slot : slots)
      for (int k = 0; k < out->parts_; ++k)
        memory.push_back(out->count_ == 1 && out->parts_ == 1 ? slot
                                                              : out->part_of(slot, data.specs(), row + k * out->rows_));
    TENON_ASSIGN(auto pipeline, InputPipeline::create(data, pool, std::move(memory), out->state_of(from, data)));
    out->pipelines_.push_back(std::move(pipeline));
    row += out->parts_ * out->rows_;
  }
  return out;
}

Result<Batch> StepPipeline::next_of(size_t pipeline, int part) {
  Result<Batch> batch = pipelines_[pipeline]->next();
  if (!batch.ok()) return with_pipeline(pipeline, batch.status());
  if (!batch->end() && batch->slot % parts_ != part)
    return with_pipeline(pipeline, invalid("lost all records of a batch, others did not"));
  return batch;
}

Result<Batch> StepPipeline::join() {
  Batch out;
  for (size_t p = 0; p < count_; ++p) {
    for (int k = 0; k < parts_; ++k) {
      TENON_ASSIGN(const Batch part, next_of(p, k));
      if (part.end() || part.rows < rows_) return Batch{};
      const int slot = part.slot / parts_;
      if (out.end()) out.slot = slot;
      if (out.slot != slot) return with_pipeline(p, invalid("lost all records of a batch, others did not"));
      out.rows += part.rows;
      if (k + 1 == parts_) out.end_sample += part.end_sample;
    }
  }
  return out;
}

Result<Batch> StepPipeline::next() {
  if (alone()) return pipelines_[0]->next();
  if (ended_) return Batch{};
  Result<Batch> batch = join();
  ended_ = !batch.ok() || batch->end();
  return batch;
}

void StepPipeline::release(int slot) {
  for (const auto& pipeline : pipelines_)
    for (int k = 0; k < parts_; ++k) pipeline->release(slot * parts_ + k);
}

bool StepPipeline::resumed_exactly() const {
  return std::all_of(pipelines_.begin(), pipelines_.end(), [](const auto& p) { return p->resumed_exactly(); });
}

int64_t StepPipeline::position(const Batch& batch, int64_t row) const {
  if (alone()) return pipelines_[0]->position(batch, row);
  const int64_t part = row / rows_;
  const Batch of{batch.slot * parts_ + static_cast<int>(part % parts_), rows_};
  return pipelines_[static_cast<size_t>(part / parts_)]->position(of, row % rows_);
}

std::string StepPipeline::where(const Batch& batch, int64_t row) const {
  if (alone()) return pipelines_[0]->where(batch, row);
  const int64_t part = row / rows_;
  const Batch of{batch.slot * parts_ + static_cast<int>(part % parts_), rows_};
  const std::string place = pipelines_[static_cast<size_t>(part / parts_)]->where(of, row % rows_);
  return count_ == 1 ? place : cat("input pipeline ", part / parts_, ": ", place);
}

int64_t StepPipeline::corrupt_records() const {
  int64_t sum = 0;
  for (const auto& pipeline : pipelines_) sum += pipeline->corrupt_records();
  return sum;
}

double StepPipeline::wait_seconds() const {
  double sum = 0;
  for (const auto& pipeline : pipelines_) sum += pipeline->wait_seconds();
  return sum;
}

double StepPipeline::busy_seconds() const {
  double most = 0;
  for (const auto& pipeline : pipelines_) most = std::max(most, pipeline->busy_seconds());
  return most;
}

std::vector<std::string> StepPipeline::lost() const {
  std::vector<std::string> out;
  for (const auto& pipeline : pipelines_)
    for (std::string& file : pipeline->lost()) out.push_back(std::move(file));
  return out;
}

}  // namespace tenon
