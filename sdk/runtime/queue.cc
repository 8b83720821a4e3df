#include "runtime/queue.h"

#include <algorithm>

#include "runtime/handles.h"

namespace tenon::plugin {

void DeviceHealth::lost(const Error& e) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = e;
  is_lost_ = true;
}

void DeviceHealth::check() const {
  if (!is_lost_) return;
  const std::lock_guard lock(mutex_);
  throw Error(*lost_);
}

Queue::Queue(Device& of)
    : device(of),
      work_(of.driver->open_stream()),
      transfers_(of.execution == Execution::kStream ? of.driver->open_stream() : nullptr) {}

Queue::~Queue() {
  transfers_.reset();
  work_.reset();
}

void Queue::throw_first_failure() const {
  if (failure_) throw Error(failure_->error);
}

void Queue::check() {
  device.health.check();
  const std::lock_guard lock(mutex_);
  throw_first_failure();
}

void Queue::tell_failure(tenon_error* out) {
  check_flags(out->flags, 0, "error_info");
  tenon_error full{};
  full.node = full.iteration = TENON_NONE;
  const std::lock_guard lock(mutex_);
  if (failure_) {
    const Error& e = failure_->error;
    full.code = e.code;
    full.native = e.native;
    full.ticket = failure_->ticket;
    full.program = failure_->program;
    full.node = e.node;
    full.iteration = e.iteration;
    full.message = e.what();
  }
  give(full, out);
}

void Queue::fail(const Error& e, uint64_t ticket, tenon_program* program) {
  if (e.code == TENON_DEVICE_LOST) device.health.lost(e);
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = Failure{e, ticket, program};
}

void Queue::fail_pending(const Error& e) {
  const auto failed = [](const Pending& p) {
    try {
      return !p.mark->reached(0);
    } catch (const Error&) {
      return true;
    }
  };
  Pending of{};
  {
    const std::lock_guard lock(mutex_);
    const auto first = std::find_if(pending_.begin(), pending_.end(), failed);
    if (first != pending_.end()) of = *first;
  }
  fail(e, of.ticket, of.program);
}

bool Queue::reached(DeviceMark& mark, uint64_t timeout_ns) {
  try {
    return mark.reached(timeout_ns);
  } catch (const Error& e) {
    fail_pending(e);
    const std::lock_guard lock(mutex_);
    throw Error(failure_->error);
  }
}

void Queue::begin(const tenon_point* after, uint32_t n_after) {
  check();
  for (uint32_t i = 0; i < n_after; ++i) {
    Queue* other = as_queue(after[i].queue);
    if (!other || other == this) continue;
    other->check();
    const auto mark = other->mark_of(after[i].ticket);
    if (!mark) continue;
    work_->after(*mark);
    if (transfers_) transfers_->after(*mark);
  }
}

std::shared_ptr<DeviceMark> Queue::mark_of(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  return pending_mark(ticket);
}

std::shared_ptr<DeviceMark> Queue::pending_mark(uint64_t ticket) const {
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.ticket >= ticket; });
  return found == pending_.end() ? nullptr : found->mark;
}

void Queue::forget_finished() {
  constexpr size_t kRoom = 64;
  for (;;) {
    std::shared_ptr<DeviceMark> first;
    bool full = false;
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) return;
      first = pending_.front().mark;
      full = pending_.size() > kRoom;
    }
    try {
      if (!reached(*first, full ? UINT64_MAX : 0)) return;
    } catch (const Error&) {
      return;  // it sticks, and whoever asks next is told
    }
    const std::lock_guard lock(mutex_);
    if (!pending_.empty() && pending_.front().mark == first) pending_.pop_front();
  }
}

uint64_t Queue::finish(tenon_program* program) {
  std::shared_ptr<DeviceMark> mark = work_->submit();
  uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++tickets_;
    if (!mark) return ticket;
    pending_.push_back({ticket, std::move(mark), program});
  }
  forget_finished();
  return ticket;
}

uint64_t Queue::finish(const Error& failure, tenon_program* program) {
  fail(failure, tickets_ + 1, program);  // one thread submits, and no other counts tickets
  const std::lock_guard lock(mutex_);
  return ++tickets_;
}

bool Queue::wait(uint64_t ticket, uint64_t timeout_ns) {
  device.health.check();
  std::shared_ptr<DeviceMark> mark;
  {
    const std::lock_guard lock(mutex_);
    if (ticket > tickets_) throw Error(TENON_INVALID, "wait: the queue has no such ticket yet");
    throw_first_failure();
    mark = pending_mark(ticket);
  }
  return !mark || reached(*mark, timeout_ns);
}

void Queue::drain() {
  for (DeviceStream* stream : {transfers_.get(), work_.get()}) {
    try {
      if (const auto mark = stream ? stream->submit() : nullptr) mark->reached(UINT64_MAX);
    } catch (const Error&) {  // then it does nothing more
    }
  }
}

}  // namespace tenon::plugin
