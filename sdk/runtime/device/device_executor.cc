#include "runtime/device/device_executor.h"

#include <algorithm>
#include <deque>
#include <string>

#include "tenon/plugin/element.h"

namespace tenon::plugin {
namespace {

[[noreturn]] void refuse_run(const char* text) { throw Error(TENON_INVALID, std::string("run: ") + text); }

}  // namespace

DeviceExecutor::DeviceExecutor(Plan plan, DeviceMemory& memory, DeviceArena& arena)
    : plan_(std::move(plan)), memory_(memory), arena_(arena) {
  const auto bases = kBaseFirstInput + plan_.n_buffers + plan_.n_results;
  const auto n = static_cast<size_t>(bases);
  bases_.resize(n);
  base_offsets_.resize(n);
  if (plan_.constants.empty()) return;
  constants_ = memory_.allocate(plan_.constants.size(), "compile: constants");
  set_base(kBaseConstants, constants_, 0);
  try {
    const auto stream = memory_.driver().open_stream();
    stream->write({constants_, 0}, plan_.constants.data(), plan_.constants.size());
    stream->submit()->reached(UINT64_MAX);
  } catch (...) {
    memory_.release(constants_, plan_.constants.size());
    throw;
  }
}

DeviceExecutor::~DeviceExecutor() { memory_.release(constants_, plan_.constants.size()); }

void DeviceExecutor::check(const tenon_run& run) const {
  if (!plan_.scalars.empty() && !run.scalars) refuse_run("the program takes scalars and there are none");
  if ((plan_.n_buffers && !run.inputs) || (plan_.n_results && !run.results)) refuse_run("inputs or results are NULL");
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    const DeviceBuffer* b = device_buffer(run.inputs[i]);
    if (!b && !(run.feed && plan_.is_feed[i])) refuse_run("an input buffer is NULL");
    if (b && b->bytes < plan_.input_bytes[i]) refuse_run("an input buffer is smaller than the program's input");
  }
  for (int32_t r = 0; r < plan_.n_results; ++r) {
    const DeviceBuffer* b = device_buffer(run.results[r]);
    if (!b) refuse_run("a result buffer is NULL");
    const int32_t alias = plan_.result_alias[r];
    if (alias >= 0 && run.inputs[alias] != run.results[r]) refuse_run("an aliased result is not its input's buffer");
    const uint64_t rows = plan_.result_mode[r] == TENON_MODE_EACH ? run.iterations : 1;
    if (b->bytes < plan_.result_bytes[r] * rows) refuse_run("a result buffer is smaller than the program's result");
  }
}

void DeviceExecutor::set_base(int32_t base, void* memory, uint64_t offset) {
  bases_[base] = static_cast<uint8_t*>(memory);
  base_offsets_[base] = offset;
}

void DeviceExecutor::bind(const tenon_run& run) {
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    const DeviceBuffer* b = device_buffer(run.inputs[i]);
    if (b && !(run.feed && plan_.is_feed[i])) set_base(kBaseFirstInput + i, b->memory, 0);
  }
  for (int32_t r = 0; r < plan_.n_results; ++r)
    set_base(kBaseFirstInput + plan_.n_buffers + r, device_buffer(run.results[r])->memory, 0);
}

// What the host wrote into HOST buffers before it submitted.
void DeviceExecutor::send_inputs(const tenon_run& run, DeviceStream& stream) {
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    DeviceBuffer* b = device_buffer(run.inputs[i]);
    if (!b || !b->host || (run.feed && plan_.is_feed[i])) continue;
    wait_behind(stream, b->last_read);
    stream.write({b->memory, 0}, b->host, b->bytes);
  }
}

void DeviceExecutor::fetch_results(const tenon_run& run, DeviceStream& stream) {
  for (int32_t r = 0; r < plan_.n_results; ++r) {
    const DeviceBuffer* b = device_buffer(run.results[r]);
    const uint64_t rows = plan_.result_mode[r] == TENON_MODE_EACH ? run.iterations : 1;
    if (b->host) stream.read(b->host, {b->memory, 0}, plan_.result_bytes[r] * rows);
  }
}

void DeviceExecutor::begin_iteration(const tenon_run& run, uint64_t i, DeviceStream& stream) {
  const size_t n = plan_.scalars.size();
  for (size_t k = 0; k < n; ++k) {
    const ScalarSlot& slot = plan_.scalars[k];
    uint8_t element[8];
    put_scalar(run.scalars[i * n + k], slot.dtype, element);
    stream.set({bases_[slot.place.base], base_offsets_[slot.place.base] + slot.place.offset}, element,
               static_cast<uint32_t>(dtype_bytes(slot.dtype)));
  }
  for (int32_t r = 0; r < plan_.n_results; ++r)
    if (plan_.result_mode[r] == TENON_MODE_EACH)
      base_offsets_[kBaseFirstInput + plan_.n_buffers + r] = i * plan_.result_bytes[r];
}

void DeviceExecutor::enqueue_steps(DeviceStream& stream, bool traced) {
  Call call;
  call.stream = &stream;
  call.bases_ = bases_.data();
  call.base_offsets_ = base_offsets_.data();
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    call.operands_ = step.operands.data();
    call.results_ = step.results.data();
    call.scratch_address_ = {bases_[kBaseArena], step.scratch};
    const uint64_t start = traced ? now_ps() : 0;
    step.kernel.run(call);
    if (!traced) continue;
    stream.submit()->reached(UINT64_MAX);  // a kernel's time is told by waiting for it
    events_->set(i, 0, start, now_ps());
  }
}

bool DeviceExecutor::ended(const tenon_run& run, DeviceStream& stream) {
  if (plan_.until < 0) return false;
  stream.read(&until_, {device_buffer(run.results[plan_.until])->memory, 0}, 1);
  stream.submit()->reached(UINT64_MAX);
  return until_ != 0;
}

// Enqueues iteration i, with these batches if there are any.
DeviceExecutor::Iteration DeviceExecutor::iterate(const tenon_run& run, uint64_t i, DeviceStream& stream,
                                                  tenon_buffer* const* fed) {
  Iteration out;
  std::vector<tenon_event> events;
  {
    const std::lock_guard lock(mutex_);
    bind(run);
    for (size_t f = 0; fed && f < plan_.feeds.size(); ++f)
      set_base(kBaseFirstInput + plan_.feeds[f], device_buffer(fed[f])->memory, 0);
    DeviceArena::Lease arena(arena_, plan_.arena_bytes, stream);
    set_base(kBaseArena, arena.memory(), 0);
    const bool traced = events_ && tracer_->active();
    begin_iteration(run, i, stream);
    enqueue_steps(stream, traced);
    out.ended = ended(run, stream);
    out.mark = stream.submit();
    arena.give_back(out.mark);
    if (traced) events = events_->events();
  }
  if (!events.empty()) tracer_->emit(events);
  return out;
}

void DeviceExecutor::run_plain(const tenon_run& run, DeviceStream& stream, uint32_t* done) {
  for (uint32_t i = 0; i < run.iterations; ++i) {
    const Iteration iteration = iterate(run, i, stream, nullptr);
    *done = i + 1;
    if (iteration.ended) break;
  }
}

// Sends the batch's HOST buffers, and makes the work that follows wait for them. What is reached when the host may
// have all of the batch back; nullptr: when the iteration has read it.
std::shared_ptr<DeviceMark> DeviceExecutor::send_batch(DeviceQueue& queue, tenon_buffer* const* fed,
                                                       const tenon_point& after) {
  size_t hosts = 0;
  for (size_t f = 0; f < plan_.feeds.size(); ++f) {
    const DeviceBuffer* b = device_buffer(fed[f]);
    if (!b || b->bytes < plan_.input_bytes[plan_.feeds[f]]) refuse_run("a fed buffer is missing or too small");
    hosts += b->host != nullptr;
  }
  DeviceStream& transfers = queue.transfers();
  auto* source = reinterpret_cast<DeviceQueue*>(after.queue);
  std::shared_ptr<DeviceMark> ready;
  if (source && !source->wait(after.ticket, 0)) ready = source->mark_of(after.ticket);
  if (ready) transfers.after(*ready), queue.work().after(*ready);
  if (hosts == 0) return nullptr;
  for (size_t f = 0; f < plan_.feeds.size(); ++f) {
    DeviceBuffer* b = device_buffer(fed[f]);
    if (!b->host) continue;
    wait_behind(transfers, b->last_read);
    transfers.write({b->memory, 0}, b->host, b->bytes);
  }
  std::shared_ptr<DeviceMark> sent = transfers.submit();
  queue.work().after(*sent);
  return hosts == plan_.feeds.size() ? sent : nullptr;
}

// Batches that were taken and are not yet given back, in order.
class DeviceExecutor::Held {
 public:
  explicit Held(const tenon_feed& feed) : feed_(feed) {}
  void take(std::shared_ptr<DeviceMark> mark) { marks_.push_back(std::move(mark)); }
  size_t size() const { return marks_.size(); }
  // Gives back what is past; with `wait` at least the first.
  void give_back(bool wait) {
    while (!marks_.empty() && marks_.front()->reached(wait ? UINT64_MAX : 0)) {
      marks_.pop_front();
      feed_.release(feed_.ctx, given_back_++);
      wait = false;
    }
  }
  // After a failure, when nothing reads them any more.
  void drop(uint64_t taken) {
    marks_.clear();
    while (given_back_ < taken) feed_.release(feed_.ctx, given_back_++);
  }

 private:
  const tenon_feed& feed_;
  std::deque<std::shared_ptr<DeviceMark>> marks_;
  uint64_t given_back_ = 0;
};

void DeviceExecutor::drain(DeviceQueue& queue) {
  for (DeviceStream* stream : {&queue.transfers(), &queue.work()}) {
    try {
      stream->submit()->reached(UINT64_MAX);
    } catch (const Error&) {  // then it does nothing more
    }
  }
}

// Iteration i's batch is sent while iteration i - 1 computes. A batch is given back when it is on the device; one
// that lies there already, when the iteration has read it.
void DeviceExecutor::run_fed(const tenon_run& run, DeviceQueue& queue, uint32_t* done) {
  const tenon_feed& feed = *run.feed;
  std::vector<tenon_buffer*> fed(plan_.feeds.size() + 1);
  Held held(feed);
  uint64_t taken = 0;
  try {
    for (uint32_t i = 0; i < run.iterations; ++i) {
      held.give_back(held.size() >= kFeedDepth);
      tenon_point after{nullptr, 0};
      if (!feed.next(feed.ctx, i, fed.data(), &after)) break;
      ++taken;
      const std::shared_ptr<DeviceMark> sent = send_batch(queue, fed.data(), after);
      const Iteration iteration = iterate(run, i, queue.work(), fed.data());
      *done = i + 1;
      for (size_t f = 0; f < plan_.feeds.size(); ++f) device_buffer(fed[f])->last_read = iteration.mark;
      held.take(sent ? sent : iteration.mark);
      if (iteration.ended) break;
    }
    while (held.size()) held.give_back(true);
  } catch (...) {
    drain(queue);
    held.drop(taken);
    throw;
  }
}

void DeviceExecutor::run(const tenon_run& run, DeviceQueue& queue, uint32_t* done) {
  *done = 0;
  send_inputs(run, queue.work());
  if (run.feed)
    run_fed(run, queue, done);
  else
    run_plain(run, queue.work(), done);
  fetch_results(run, queue.work());
}

}  // namespace tenon::plugin
