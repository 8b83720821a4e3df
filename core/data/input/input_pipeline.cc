#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "base/caught.h"
#include "base/process/thread_pool.h"
#include "base/strings.h"
#include "data/input/busy_clock.h"
#include "data/input/input_plan.h"
#include "tenon/input.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kTaskBytes = 64 << 10;       // what one task reads and writes, about
constexpr int64_t kImmediateBytes = 64 << 10;  // a batch in memory that the consumer copies itself

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

// The consumer's thread decides what goes into which slot, in order; tasks fill the rows, and the last task of a batch
// settles it. Only what stands below `mutex` is shared.
struct InputPipeline::Impl {
  struct Task {
    Impl* pipeline;
    uint32_t slot, begin, end;
    bool transposes;
  };

  Impl(Dataset d, ThreadPool& p) : dataset(std::move(d)), data(dataset.ready()), pool(p), batches(make_plan(data, p)) {}
  ~Impl() {
    for (const uint32_t index : pending) wait(*slots[index]);
  }

  void add_slots(std::vector<BatchSlot> memory);
  void start(const PipelineState& from);
  void schedule();
  bool plan(InputSlot& slot);
  void launch(uint32_t index);
  bool submit(Task* task);
  void run(const Task& task) noexcept;
  void finish_rows(uint32_t index);
  void transpose_rows(uint32_t index);
  Result<Batch> next();
  void finish(InputSlot& slot);
  void count_damaged(const InputSlot& slot);
  void wait(InputSlot& slot);
  void drain();

  const Dataset dataset;
  const Dataset::Impl& data;
  ThreadPool& pool;

  const std::unique_ptr<BatchPlan> batches;
  Status plan_failed;  // told when the batches before have been delivered
  bool exact = true;
  int64_t rows_a_task = 1;
  uint32_t transposers = 1;
  bool immediate = false;
  size_t target = 2;  // batches made ahead
  size_t most_target = 2;
  bool warm = false;  // a batch has been delivered since the start
  double waited = 0;
  Status failed;

  std::vector<std::unique_ptr<InputSlot>> slots;
  std::vector<std::vector<Task>> tasks;  // of each slot: first those that fill, then those that transpose
  std::vector<uint32_t> free;            // both have room for all slots
  std::vector<uint32_t> pending;         // in order; a task that was launched belongs to one of these
  std::vector<bool> held;                // by the caller

  std::set<std::pair<uint32_t, uint32_t>> damaged;  // of delivered batches, so that the count is the same each time

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t changes = 0;
  BusyClock busy;
};

void InputPipeline::Impl::add_slots(std::vector<BatchSlot> memory) {
  int64_t bytes = 0;
  for (size_t b : data.bytes) bytes += static_cast<int64_t>(b);
  const int64_t batch = data.options.batch_size;
  rows_a_task = std::clamp<int64_t>(kTaskBytes / (bytes + data.source->bytes_per_example()), 1, 64);
  if (data.source->rows_together()) rows_a_task = batch;
  most_target = memory.size();
  if (data.options.ram_budget > 0)
    most_target = std::clamp<size_t>(static_cast<size_t>(data.options.ram_budget / std::max<int64_t>(bytes * batch, 1)),
                                     1, most_target);
  immediate = data.source->immediate() && bytes * batch <= kImmediateBytes;
  transposers = static_cast<uint32_t>(std::clamp<int64_t>(bytes * batch / (1 << 20), 1, 64));
  const int64_t most_rows = data.buckets.empty() ? batch : data.buckets.most_rows();
  const uint32_t fillers = static_cast<uint32_t>((most_rows + rows_a_task - 1) / rows_a_task);
  for (uint32_t i = 0; i < memory.size(); ++i) {
    slots.push_back(std::make_unique<InputSlot>(data, std::move(memory[i])));
    std::vector<Task>& list = tasks.emplace_back();
    for (uint32_t t = 0; t < fillers; ++t)
      list.push_back(
          {this, i, static_cast<uint32_t>(t * rows_a_task), static_cast<uint32_t>((t + 1) * rows_a_task), false});
    for (uint32_t t = 0; t < transposers && slots.back()->has_transpose(); ++t)
      list.push_back({this, i, t, transposers, true});
    free.push_back(i);
  }
  pending.reserve(slots.size());
  held.resize(slots.size());
}

void InputPipeline::Impl::start(const PipelineState& from) {
  const bool other = from.data != 0 && data.data_fingerprint != 0 && from.data != data.data_fingerprint;
  exact = from.samples == 0 || (from.fingerprint == data.fingerprint && !other);
  batches->seek(from.samples);
  plan_failed = {};
  target = std::min(data.options.prefetch > 0 ? static_cast<size_t>(data.options.prefetch) : 2, most_target);
  warm = false;
  failed = {};
  schedule();
}

// Which examples the slot holds.
bool InputPipeline::Impl::plan(InputSlot& slot) {
  if (!plan_failed.ok()) return false;
  const Result<uint64_t> count = caught([&]() -> Result<uint64_t> { return batches->next(slot); });
  plan_failed = count.status();
  if (!count.ok() || *count == 0) return false;
  slot.planned = static_cast<int64_t>(*count);
  slot.choose_memory();
  slot.failure = {};
  slot.ready.store(false, std::memory_order_relaxed);
  return true;
}

void InputPipeline::Impl::schedule() {
  if (free.empty() || pending.size() >= target) return;
  const BusyClock::Span span(busy, immediate);
  while (!free.empty() && pending.size() < target && plan(*slots[free.front()])) {
    pending.push_back(free.front());
    free.erase(free.begin());
    launch(pending.back());
  }
}

// Every task that is counted in tasks_left runs, whatever fails: a batch that waits for a lost one would wait for ever.
void InputPipeline::Impl::launch(uint32_t index) {
  InputSlot& slot = *slots[index];
  const uint32_t count = static_cast<uint32_t>((slot.planned + rows_a_task - 1) / rows_a_task);
  slot.tasks_left.store(count, std::memory_order_relaxed);
  for (uint32_t t = 0; t < count; ++t)
    if (immediate || !submit(&tasks[index][t])) run(tasks[index][t]);
}

// False when there is no memory to do so. The function holds one pointer, which std::function keeps without allocating.
bool InputPipeline::Impl::submit(Task* task) {
  return caught([&]() -> Status {
           pool.submit([task] { task->pipeline->run(*task); });
           return {};
         })
      .ok();
}

void InputPipeline::Impl::run(const Task& task) noexcept {
  InputSlot& slot = *slots[task.slot];
  {
    const BusyClock::Span span(busy, !immediate);
    const uint32_t end = std::min(task.end, static_cast<uint32_t>(slot.planned));
    if (task.transposes)
      slot.transpose(task.begin, task.end);
    else
      slot.fill(task.begin, end);
  }
  if (task.transposes) {
    if (slot.tasks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish(slot);
    return;
  }
  if (slot.tasks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) finish_rows(task.slot);
}

void InputPipeline::Impl::finish_rows(uint32_t index) {
  InputSlot& slot = *slots[index];
  slot.failure = slot.settle();
  if (!slot.failure.ok() || !slot.has_transpose()) return finish(slot);
  slot.tasks_left.store(transposers, std::memory_order_relaxed);
  transpose_rows(index);
}

// What cannot be given to the pool is run here. Once the last task is given away or runs, the pipeline may be gone.
void InputPipeline::Impl::transpose_rows(uint32_t index) {
  Task* task = tasks[index].data() + (tasks[index].size() - transposers);
  Task* const end = task + transposers;
  {
    // Under the lock, so that the batch cannot be delivered, and the pipeline destroyed, before this is done.
    const std::lock_guard lock(mutex);
    while (!immediate && task != end && submit(task)) ++task;
    ++changes;
    changed.notify_all();  // the consumer may help
  }
  for (; task != end; ++task) run(*task);
}

// Nothing of the slot or the pipeline may be touched after this: the consumer may be on its way out.
void InputPipeline::Impl::finish(InputSlot& slot) {
  std::lock_guard lock(mutex);
  slot.ready.store(true, std::memory_order_release);
  ++changes;
  changed.notify_all();
}

void InputPipeline::Impl::count_damaged(const InputSlot& slot) {
  for (size_t row = slot.first_row(); row < slot.end_row(); ++row)
    if (slot.rows[row].status.code() == Code::kInvalid)
      damaged.emplace(slot.rows[row].ref.part, slot.rows[row].ref.record);
}

void InputPipeline::Impl::wait(InputSlot& slot) {
  for (;;) {
    // Always through the mutex at the end, so that the last task has left finish().
    std::unique_lock lock(mutex);
    if (slot.ready.load(std::memory_order_acquire)) return;
    const uint64_t seen = changes;
    lock.unlock();
    if (pool.help()) continue;
    lock.lock();
    changed.wait(lock, [&] { return changes != seen; });
  }
}

void InputPipeline::Impl::drain() {
  for (const uint32_t index : pending) {
    wait(*slots[index]);
    free.push_back(index);
  }
  pending.clear();
}

std::shared_ptr<ThreadPool> make_thread_pool(int threads) { return std::make_shared<ThreadPool>(std::max(threads, 1)); }

InputPipeline::InputPipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

InputPipeline::~InputPipeline() = default;

Result<std::unique_ptr<InputPipeline>> InputPipeline::create(Dataset dataset, ThreadPool& pool,
                                                             std::vector<BatchSlot> slots, PipelineState from) {
  return caught([&]() -> Result<std::unique_ptr<InputPipeline>> {
    if (slots.empty()) return invalid("an input pipeline needs at least one slot");
    for (const BatchSlot& slot : slots) {
      if (slot.features.size() != dataset.specs().size())
        return invalid("an input slot has ", slot.features.size(), " pointers, the dataset has ",
                       dataset.specs().size(), " features");
      const int64_t rows = slot.rows > 0 ? slot.rows : dataset.options().batch_size;
      if (slot.blocks < 1 || rows % slot.blocks != 0)
        return invalid("an input slot has ", slot.blocks, " blocks, the batch ", rows,
                       " examples, expected a multiple");
      if (slot.rows > 0 && slot.rest.size() != slot.features.size())
        return invalid("an input slot of some rows has ", slot.rest.size(), " pointers for the rest, expected ",
                       slot.features.size());
      for (const void* memory : slot.features)
        if (!memory) return invalid("an input slot has a null pointer");
    }
    auto impl = std::make_unique<Impl>(std::move(dataset), pool);
    impl->add_slots(std::move(slots));
    impl->start(from);
    return std::unique_ptr<InputPipeline>(new InputPipeline(std::move(impl)));
  });
}

Result<Batch> InputPipeline::next() {
  Result<Batch> batch = caught([&] { return impl_->next(); });
  // What was thrown: nobody knows how far the order of the examples had come.
  if (!batch.ok() && impl_->failed.ok() && batch.status().code() != Code::kInvalid)
    impl_->failed = caught([&] { return batch.status(); });
  return batch;
}

Result<Batch> InputPipeline::Impl::next() {
  Impl& p = *this;
  for (;;) {
    if (!p.failed.ok()) return p.failed;
    p.schedule();
    if (p.pending.empty()) {
      if (!p.plan_failed.ok()) {
        p.failed = p.plan_failed;
        return p.failed;
      }
      if (p.free.empty() && !p.batches->at_end())
        return invalid("all ", p.slots.size(), " input slots are held: release one before next()");
      return Batch{};
    }
    const uint32_t index = p.pending.front();
    InputSlot& slot = *p.slots[index];
    if (!slot.ready.load(std::memory_order_acquire)) {
      const auto begin = Clock::now();
      // The first batch is always waited for; a later one means that too few were made ahead.
      if (p.warm && p.data.options.prefetch == 0 && p.target < p.most_target) ++p.target;
      p.schedule();
      p.wait(slot);
      p.waited += seconds_since(begin);
    } else {
      p.wait(slot);
    }
    if (p.data.options.skip_corrupt) p.count_damaged(slot);
    p.failed = std::move(slot.failure);  // from here on nothing is allocated: the slot is taken over
    p.pending.erase(p.pending.begin());
    p.warm = true;
    if (!p.failed.ok() || slot.valid == 0) {
      p.free.push_back(index);
      continue;
    }
    p.held[index] = true;
    return Batch{static_cast<int>(index), slot.valid, slot.end_sample, slot.bucket()};
  }
}

void InputPipeline::release(int slot) {
  Impl& p = *impl_;
  if (slot < 0 || static_cast<size_t>(slot) >= p.held.size() || !p.held[static_cast<size_t>(slot)]) return;
  p.held[static_cast<size_t>(slot)] = false;
  p.free.push_back(static_cast<uint32_t>(slot));
  if (p.failed.ok()) p.failed = caught([&]() -> Status { return p.schedule(), Status(); });
}

Status InputPipeline::restart(const PipelineState& from) {
  Impl& p = *impl_;
  p.drain();
  return caught([&]() -> Status {
    if (p.free.size() != p.slots.size())
      return invalid("restart of an input pipeline: ", p.slots.size() - p.free.size(), " slots are still held");
    p.start(from);
    return {};
  });
}

PipelineState InputPipeline::state_after(const Batch& batch) const {
  return {batch.end_sample, impl_->data.fingerprint, impl_->data.data_fingerprint};
}

bool InputPipeline::resumed_exactly() const { return impl_->exact; }

int64_t InputPipeline::corrupt_records() const {
  return static_cast<int64_t>(impl_->damaged.size() + impl_->data.source->lost().size());
}

std::vector<std::string> InputPipeline::lost() const { return impl_->data.source->lost(); }

int64_t InputPipeline::position(const Batch& batch, int64_t row) const {
  const Sample& sample = impl_->slots[static_cast<size_t>(batch.slot)]->source_of(row).sample;
  return static_cast<int64_t>(sample.index - sample.epoch * impl_->data.size);
}

std::string InputPipeline::where(const Batch& batch, int64_t row) const {
  return impl_->data.source->where(impl_->slots[static_cast<size_t>(batch.slot)]->source_of(row));
}

int InputPipeline::prefetch() const { return static_cast<int>(std::min(impl_->target, impl_->slots.size())); }

double InputPipeline::wait_seconds() const { return impl_->waited + (impl_->immediate ? impl_->busy.seconds() : 0); }

double InputPipeline::busy_seconds() const { return impl_->busy.seconds(); }

}  // namespace tenon
