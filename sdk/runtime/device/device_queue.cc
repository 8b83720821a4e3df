#include "runtime/device/device_queue.h"

#include <algorithm>

namespace tenon::plugin {

void DeviceHealth::lost(const Error& e) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = e;
}

void DeviceHealth::check() const {
  const std::lock_guard lock(mutex_);
  if (lost_) throw Error(*lost_);
}

DeviceQueue::DeviceQueue(DeviceDriver& driver, DeviceHealth& health)
    : health_(health), work_(driver.open_stream()), transfers_(driver.open_stream()) {}

DeviceQueue::~DeviceQueue() {
  transfers_.reset();
  work_.reset();
}

void DeviceQueue::throw_failure() {
  health_.check();
  const std::lock_guard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

bool DeviceQueue::reached(DeviceMark& mark, uint64_t timeout_ns) {
  try {
    return mark.reached(timeout_ns);
  } catch (const Error& e) {
    if (e.code == TENON_DEVICE_LOST) health_.lost(e);
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = e;
    throw Error(*failure_);
  }
}

void DeviceQueue::begin(const tenon_point* after, uint32_t n_after) {
  throw_failure();
  for (uint32_t i = 0; i < n_after; ++i) {
    auto* other = reinterpret_cast<DeviceQueue*>(after[i].queue);
    if (!other || other == this) continue;
    other->throw_failure();
    const auto mark = other->mark_of(after[i].ticket);
    if (mark) work_->after(*mark), transfers_->after(*mark);
  }
}

std::shared_ptr<DeviceMark> DeviceQueue::mark_of(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.ticket >= ticket; });
  return found == pending_.end() ? nullptr : found->mark;
}

uint64_t DeviceQueue::push(std::shared_ptr<DeviceMark> mark) {
  const std::lock_guard lock(mutex_);
  pending_.push_back({++tickets_, std::move(mark)});
  return tickets_;
}

void DeviceQueue::forget_finished() {
  constexpr size_t kRoom = 64;
  for (;;) {
    std::shared_ptr<DeviceMark> first;
    bool full = false;
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty() || !pending_.front().mark) return;
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

uint64_t DeviceQueue::finish() {
  const uint64_t ticket = push(work_->submit());
  forget_finished();
  return ticket;
}

uint64_t DeviceQueue::finish(const Error& failure) {
  if (failure.code == TENON_DEVICE_LOST) health_.lost(failure);
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  return push(nullptr);
}

bool DeviceQueue::wait(uint64_t ticket, uint64_t timeout_ns) {
  std::shared_ptr<DeviceMark> mark;
  {
    const std::lock_guard lock(mutex_);
    if (ticket > tickets_) throw Error(TENON_INVALID, "wait: the queue has no such ticket yet");
  }
  throw_failure();
  mark = mark_of(ticket);
  return !mark || reached(*mark, timeout_ns);
}

}  // namespace tenon::plugin
