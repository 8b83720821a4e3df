#include "runtime/host/host_queue.h"

#include <chrono>
#include <system_error>
#include <vector>

#include "tenon/plugin/entry.h"

namespace tenon::plugin {

struct HostQueue::Item {
  std::vector<std::pair<std::shared_ptr<State>, uint64_t>> after;
  Work work;
};

struct HostQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  uint64_t submitted = 0, completed = 0;
  Outcome failure;  // the first cause; sticks
  bool closing = false;

  void complete(Outcome outcome) {
    const std::lock_guard lock(mutex);
    if (failure.ok()) failure = outcome;
    ++completed;
    changed.notify_all();
  }
};

HostQueue::HostQueue(bool worker) : state_(std::make_shared<State>()) {
  if (!worker) return;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& e) {
    throw Error(TENON_OUT_OF_MEMORY,
                std::string("queue_create: the system gives no thread for the queue: ") + e.what());
  }
}

HostQueue::~HostQueue() {
  if (is_inline()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  thread_.join();
}

std::shared_ptr<HostQueue::State> HostQueue::state_of(const tenon_point& point) {
  return point.queue ? reinterpret_cast<HostQueue*>(point.queue)->state_ : nullptr;
}

Outcome HostQueue::wait_for(const std::shared_ptr<State>& state, uint64_t ticket) {
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->completed >= ticket || !state->failure.ok(); });
  return state->failure;
}

Outcome HostQueue::begin(const tenon_point* after, uint32_t n_after) {
  if (const Outcome own = failure(); !own.ok()) return own;
  for (uint32_t i = 0; i < n_after; ++i) {
    const std::shared_ptr<State> other = state_of(after[i]);
    if (!other) continue;
    if (is_inline() && other != state_) {
      if (const Outcome first = wait_for(other, after[i].ticket); !first.ok()) return first;
      continue;
    }
    const std::lock_guard lock(other->mutex);
    if (!other->failure.ok()) return other->failure;
  }
  return {};
}

uint64_t HostQueue::finish(Outcome outcome) {
  const std::lock_guard lock(state_->mutex);
  if (state_->failure.ok()) state_->failure = outcome;
  state_->completed = ++state_->submitted;
  state_->changed.notify_all();
  return state_->completed;
}

uint64_t HostQueue::submit(const tenon_point* after, uint32_t n_after, Work work) {
  Item item;
  for (uint32_t i = 0; i < n_after; ++i)
    if (std::shared_ptr<State> other = state_of(after[i]); other && other != state_)
      item.after.emplace_back(std::move(other), after[i].ticket);
  item.work = std::move(work);
  const std::lock_guard lock(state_->mutex);
  state_->items.push_back(std::move(item));
  state_->changed.notify_all();
  return ++state_->submitted;
}

void HostQueue::drain() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->completed == state_->submitted; });
}

HostQueue::Wait HostQueue::wait(uint64_t ticket, uint64_t timeout_ns) {
  std::unique_lock lock(state_->mutex);
  if (ticket > state_->submitted) return Wait::kNoSuchTicket;
  const auto done = [&] { return state_->completed >= ticket || !state_->failure.ok(); };
  constexpr uint64_t kForever = uint64_t{1} << 62;
  if (timeout_ns >= kForever)
    state_->changed.wait(lock, done);
  else if (!state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done))
    return Wait::kTimeout;
  return Wait::kDone;
}

Outcome HostQueue::failure() {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

void HostQueue::loop() {
  for (;;) {
    Item item;
    {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return state_->closing || !state_->items.empty(); });
      if (state_->items.empty()) return;
      item = std::move(state_->items.front());
      state_->items.pop_front();
    }
    Outcome outcome = failure();
    for (size_t i = 0; i < item.after.size() && outcome.ok(); ++i)
      outcome = wait_for(item.after[i].first, item.after[i].second);
    state_->complete(outcome.ok() ? item.work() : outcome);
  }
}

}  // namespace tenon::plugin
