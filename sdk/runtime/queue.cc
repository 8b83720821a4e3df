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

void Queue::throw_failure() {
  device.health.check();
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

void Queue::fail(const Error& e) {
  if (e.code == TENON_DEVICE_LOST) device.health.lost(e);
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = e;
}

bool Queue::reached(DeviceMark& mark, uint64_t timeout_ns) {
  try {
    return mark.reached(timeout_ns);
  } catch (const Error& e) {
    fail(e);
    const std::lock_guard lock(mutex_);
    throw Error(*failure_);
  }
}

void Queue::begin(const tenon_point* after, uint32_t n_after) {
  throw_failure();
  for (uint32_t i = 0; i < n_after; ++i) {
    Queue* other = as_queue(after[i].queue);
    if (!other || other == this) continue;
    other->throw_failure();
    const auto mark = other->mark_of(after[i].ticket);
    if (!mark) continue;
    work_->after(*mark);
    if (transfers_) transfers_->after(*mark);
  }
}

std::shared_ptr<DeviceMark> Queue::mark_of(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
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

uint64_t Queue::finish() {
  std::shared_ptr<DeviceMark> mark = work_->submit();
  uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++tickets_;
    if (mark) pending_.push_back({ticket, std::move(mark)});
  }
  forget_finished();
  return ticket;
}

uint64_t Queue::finish(const Error& failure) {
  fail(failure);
  const std::lock_guard lock(mutex_);
  return ++tickets_;
}

bool Queue::wait(uint64_t ticket, uint64_t timeout_ns) {
  {
    const std::lock_guard lock(mutex_);
    if (ticket > tickets_) throw Error(TENON_INVALID, "wait: the queue has no such ticket yet");
  }
  throw_failure();
  const std::shared_ptr<DeviceMark> mark = mark_of(ticket);
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
