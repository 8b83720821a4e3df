#include <exception>
#include <utility>

#include "backend/abi.h"
#include "backend/device.h"
#include "base/strings.h"

namespace tenon {

// Tickets grow and are never 0.
Status Queue::wait(uint64_t ticket, const char* entry, const tenon_program* program) {
  if (ticket <= last_ticket_)
    return broke_abi(device_->name(), cat(entry, " gave ticket ", ticket, ", expected more than ", last_ticket_));
  last_ticket_ = ticket;
  tenon_status status;
  try {
    status = device_->backend().wait(handle_, ticket, UINT64_MAX);
  } catch (...) {
    return thrown_out_of(device_->name(), "wait");
  }
  if (status.code) ask_failure(status, program);
  return from_abi(status, device_->name(), entry);  // a failure of what was submitted
}

// A backend that does not tell leaves what the status has.
void Queue::ask_failure(const tenon_status& status, const tenon_program* program) {
  failure_ = {.native = status.native};
  const tenon_backend& backend = device_->backend();
  if (!backend.error_info) return;
  tenon_error error{};
  error.struct_size = sizeof error;
  const Status told = call_entry(device_->name(), "error_info", [&] { return backend.error_info(handle_, &error); });
  if (!told.ok() || !is_readable(error.flags) || error.code != status.code) return;
  if (error.native) failure_.native = error.native;
  if (program && error.program != program) return;
  if (error.iteration != TENON_NONE) failure_.iteration = error.iteration;
  if (error.node != TENON_NONE) failure_.node = error.node;
}

// Sends what the host wrote.
Status Queue::stage(const Buffer& buffer, uint64_t* ticket) {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.dst = buffer.handle_;
  c.src_host = buffer.host_;
  c.bytes = static_cast<uint64_t>(buffer.type_.bytes());
  return call_entry(device_->name(), "copy", [&] { return device_->backend().copy(handle_, &c, ticket); });
}

Status Queue::write(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset) {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.dst = to.handle_;
  c.dst_offset = offset;
  c.src_host = from;
  c.bytes = bytes;
  uint64_t ticket = 0;
  TENON_TRY(call_entry(device_->name(), "copy", [&] { return device_->backend().copy(handle_, &c, &ticket); }));
  return wait(ticket, "copy");
}

Status Queue::read(const Buffer& from, void* to, uint64_t bytes, uint64_t offset) {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.src = from.handle_;
  c.src_offset = offset;
  c.dst_host = to;
  c.bytes = bytes;
  uint64_t ticket = 0;
  TENON_TRY(call_entry(device_->name(), "copy", [&] { return device_->backend().copy(handle_, &c, &ticket); }));
  return wait(ticket, "copy");
}

Status Queue::copy(const Buffer& to, uint64_t to_offset, const Buffer& from, uint64_t from_offset, uint64_t bytes) {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.dst = to.handle_;
  c.dst_offset = to_offset;
  c.src = from.handle_;
  c.src_offset = from_offset;
  c.bytes = bytes;
  uint64_t ticket = 0;
  TENON_TRY(call_entry(device_->name(), "copy", [&] { return device_->backend().copy(handle_, &c, &ticket); }));
  return wait(ticket, "copy");
}

Launch::Launch(const Program& program, int n_inputs, int n_results, int n_scalars, int max_iterations, int n_feeds)
    : program_(program.handle_),
      n_scalars_(n_scalars),
      inputs_(static_cast<size_t>(n_inputs) + 1),
      results_(static_cast<size_t>(n_results) + 1),
      scalars_(static_cast<size_t>(n_scalars) * static_cast<size_t>(max_iterations) + 1),
      feeds_(static_cast<size_t>(n_feeds)) {}

// Between a feed of the core's and a backend, for one run.
class FeedBridge {
 public:
  FeedBridge(Feed* feed, Queue& queue, std::span<Buffer*> buffers) : feed_(feed), queue_(queue), buffers_(buffers) {}

  tenon_feed abi() { return {sizeof(tenon_feed), 0, this, next, release}; }
  // What went wrong in the feed, or with a batch that had to be copied; throws what the feed threw.
  Status finish() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (staged_ == 0) return status_;
    const Status copied = queue_.feeder_->wait(std::exchange(staged_, 0), "copy");
    return status_.ok() ? copied : status_;
  }

 private:
  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    return static_cast<FeedBridge*>(ctx)->take(i, feeds, after);
  }
  static void release(void* ctx, uint64_t i) { static_cast<FeedBridge*>(ctx)->feed_->release(i); }

  int32_t take(uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    *after = {nullptr, 0};
    try {
      if (thrown_ || !status_.ok() || !feed_->next(i, buffers_)) return 0;
      for (size_t k = 0; k < buffers_.size(); ++k) {
        feeds[k] = buffers_[k]->handle_;
        if (buffers_[k]->staging_) status_ = stage(*buffers_[k]);
        if (!status_.ok()) return 0;
      }
    } catch (...) {  // the backend must not meet it
      thrown_ = std::current_exception();
      return 0;
    }
    if (staged_) *after = {queue_.feeder_->handle_, staged_};
    return 1;
  }

  Status stage(const Buffer& buffer) {
    if (!queue_.feeder_) {
      TENON_ASSIGN(Queue made, queue_.device_->create_queue());
      queue_.feeder_ = std::make_unique<Queue>(std::move(made));
    }
    return queue_.feeder_->stage(buffer, &staged_);
  }

  Feed* feed_;
  Queue& queue_;
  std::span<Buffer*> buffers_;
  uint64_t staged_ = 0;  // the last ticket of the queue that copies
  Status status_;
  std::exception_ptr thrown_;
};

Result<uint32_t> Queue::run(Launch& launch, uint32_t iterations, Feed* feed) {
  FeedBridge bridge(feed, *this, launch.feeds_);
  const tenon_feed abi_feed = bridge.abi();
  static_assert(sizeof(Launch::Number) == sizeof(tenon_scalar));
  tenon_run run{};
  run.struct_size = sizeof run;
  run.program = launch.program_;
  run.iterations = iterations;
  run.inputs = launch.inputs_.data();
  run.results = launch.results_.data();
  run.scalars = reinterpret_cast<const tenon_scalar*>(launch.scalars_.data());
  run.feed = feed ? &abi_feed : nullptr;
  uint64_t ticket = 0;
  uint32_t done = 0;
  Status status = call_entry(device_->name(), "run", [&] {
    const tenon_status answer = device_->backend().run(handle_, &run, &ticket, &done);
    if (answer.code) ask_failure(answer, launch.program_);
    return answer;
  });
  if (status.ok()) status = wait(ticket, "run", launch.program_);
  const Status fed = bridge.finish();
  TENON_TRY(device_->with_memory(status, 0));
  TENON_TRY(fed);
  if (done > iterations)
    return broke_abi(device_->name(), cat("run did ", done, " iterations, expected at most ", iterations));
  if (done == 0 && !feed) return broke_abi(device_->name(), "run did no iteration");
  return done;
}

}  // namespace tenon
