#include "runtime/device/stream_executor.h"

#include <deque>
#include <mutex>

#include "runtime/handles.h"
#include "tenon/plugin/element.h"

namespace tenon::plugin {

StreamExecutor::StreamExecutor(Plan plan, Device& device) : Executor(std::move(plan), false), device_(device) {
  if (plan_.constants.empty()) return;
  constants_ = device_.memory.allocate(plan_.constants.size(), "compile: constants");
  set_base(kBaseConstants, constants_, 0);
  try {
    const auto stream = device_.driver->open_stream();
    stream->write({constants_, 0}, plan_.constants.data(), plan_.constants.size());
    stream->submit()->reached(UINT64_MAX);
  } catch (...) {
    device_.memory.release(constants_, plan_.constants.size());
    throw;
  }
}

StreamExecutor::~StreamExecutor() { device_.memory.release(constants_, plan_.constants.size()); }

// What the host wrote into HOST buffers before it submitted.
void StreamExecutor::send_inputs(const tenon_run& run, DeviceStream& stream) {
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    Buffer* b = as_buffer(run.inputs[i]);
    if (!b || !b->host || is_fed(run, i)) continue;
    wait_behind(stream, b->last_read);
    stream.write({b->memory, 0}, b->host, b->bytes);
  }
}

void StreamExecutor::fetch_results(const tenon_run& run, DeviceStream& stream) {
  for (int32_t r = 0; r < plan_.n_results; ++r) {
    const Buffer* b = as_buffer(run.results[r]);
    const uint64_t rows = plan_.result_mode[r] == TENON_MODE_EACH ? run.iterations : 1;
    if (b->host) stream.read(b->host, {b->memory, 0}, plan_.result_bytes[r] * rows);
  }
}

void StreamExecutor::enqueue_steps(uint64_t iteration, DeviceStream& stream, bool traced) {
  Call call;
  call.stream = &stream;
  call.bases_ = bases_.data();
  call.base_offsets_ = base_offsets_.data();
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    call.operands_ = step.operands.data();
    call.results_ = step.results.data();
    call.scratch_address_ = {bases_[step.scratch.base], step.scratch.offset};
    const uint64_t start = traced ? now_ps() : 0;
    try {
      step.kernel.run(call);
      if (!traced) continue;
      stream.submit()->reached(UINT64_MAX);  // a kernel's time is told by waiting for it
    } catch (Error& e) {
      e.node = step.node;
      e.iteration = static_cast<uint32_t>(iteration);
      throw;
    }
    events_->set(i, 0, start, now_ps());
  }
}

bool StreamExecutor::ended(const tenon_run& run, DeviceStream& stream) {
  if (plan_.until < 0) return false;
  stream.read(&until_, {as_buffer(run.results[plan_.until])->memory, 0}, 1);
  stream.submit()->reached(UINT64_MAX);
  return until_ != 0;
}

// Enqueues iteration i, with these batches if there are any.
StreamExecutor::Iteration StreamExecutor::iterate(const tenon_run& run, uint64_t i, DeviceStream& stream,
                                                  tenon_buffer* const* fed) {
  Iteration out;
  std::vector<tenon_event> events;
  {
    const std::lock_guard lock(device_.enqueuing);
    bind(run);
    if (fed) bind_batch(fed);
    Workspace workspace(device_.workspaces, plan_.arena_parts, &stream, arenas_);
    bind_arena();
    begin_iteration(run, i, [&](const ScalarSlot& slot, tenon_scalar scalar) {
      uint8_t element[8];
      put_scalar(scalar, slot.dtype, element);
      stream.set({bases_[slot.place.base], base_offsets_[slot.place.base] + slot.place.offset}, element,
                 static_cast<uint32_t>(dtype_bytes(slot.dtype)));
    });
    const bool tell = traced();
    enqueue_steps(i, stream, tell);
    out.ended = ended(run, stream);
    out.mark = stream.submit();
    workspace.used_until(out.mark);
    if (tell) events = events_->events();
  }
  if (!events.empty()) tracer_->emit(events);
  return out;
}

void StreamExecutor::run_plain(const tenon_run& run, DeviceStream& stream, uint32_t* done) {
  for (uint32_t i = 0; i < run.iterations; ++i) {
    const Iteration iteration = iterate(run, i, stream, nullptr);
    *done = i + 1;
    if (iteration.ended) break;
  }
}

// Sends the batch's HOST buffers, and makes the work that follows wait for them. What is reached when the host may
// have all of the batch back; nullptr: when the iteration has read it.
std::shared_ptr<DeviceMark> StreamExecutor::send_batch(Queue& queue, tenon_buffer* const* fed,
                                                       const tenon_point& after) {
  check_batch(fed);
  size_t hosts = 0;
  for (size_t f = 0; f < plan_.feeds.size(); ++f) hosts += as_buffer(fed[f])->host != nullptr;
  DeviceStream& transfers = queue.transfers();
  Queue* source = as_queue(after.queue);
  std::shared_ptr<DeviceMark> ready;
  if (source && !source->wait(after.ticket, 0)) ready = source->mark_of(after.ticket);
  if (ready) transfers.after(*ready), queue.work().after(*ready);
  if (hosts == 0) return nullptr;
  for (size_t f = 0; f < plan_.feeds.size(); ++f) {
    Buffer* b = as_buffer(fed[f]);
    if (!b->host) continue;
    wait_behind(transfers, b->last_read);
    transfers.write({b->memory, 0}, b->host, b->bytes);
  }
  std::shared_ptr<DeviceMark> sent = transfers.submit();
  queue.work().after(*sent);
  return hosts == plan_.feeds.size() ? sent : nullptr;
}

// Batches that were taken and are not yet given back, in order.
class StreamExecutor::Held {
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

// Iteration i's batch is sent while iteration i - 1 computes. A batch is given back when it is on the device; one
// that lies there already, when the iteration has read it.
void StreamExecutor::run_fed(const tenon_run& run, Queue& queue, uint32_t* done) {
  const tenon_feed& feed = *run.feed;
  std::vector<tenon_buffer*> fed(plan_.feeds.size() + 1);
  Held held(feed);
  uint64_t taken = 0;
  try {
    for (uint32_t i = 0; i < run.iterations; ++i) {
      held.give_back(held.size() >= kFeedDepth);
      tenon_point after{nullptr, 0};
      std::fill(fed.begin(), fed.end(), nullptr);
      if (!feed.next(feed.ctx, i, fed.data(), &after)) break;
      ++taken;
      const std::shared_ptr<DeviceMark> sent = send_batch(queue, fed.data(), after);
      const Iteration iteration = iterate(run, i, queue.work(), fed.data());
      *done = i + 1;
      for (size_t f = 0; f < plan_.feeds.size(); ++f) as_buffer(fed[f])->last_read = iteration.mark;
      held.take(sent ? sent : iteration.mark);
      if (iteration.ended) break;
    }
    while (held.size()) held.give_back(true);
  } catch (...) {
    queue.drain();
    held.drop(taken);
    throw;
  }
}

void StreamExecutor::run(const tenon_run& run, Queue& queue, uint32_t* done) {
  send_inputs(run, queue.work());
  if (run.feed)
    run_fed(run, queue, done);
  else
    run_plain(run, queue.work(), done);
  fetch_results(run, queue.work());
}

}  // namespace tenon::plugin
