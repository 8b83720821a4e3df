#include "runtime/host/host_stream.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>

namespace tenon::plugin {

struct HostStream::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> items;
  uint64_t enqueued = 0, done = 0;
  std::optional<Error> failure;  // the first cause
  uint64_t failed = 0;           // the number of the work that failed
  bool closing = false;

  void complete(std::optional<Error> outcome) {
    const std::lock_guard lock(mutex);
    ++done;
    if (!failure && outcome) failure = std::move(outcome), failed = done;
    changed.notify_all();
  }
};

class HostStream::Mark : public DeviceMark {
 public:
  Mark(std::shared_ptr<State> state, uint64_t number) : state_(std::move(state)), number_(number) {}
  bool reached(uint64_t timeout_ns) override {
    std::unique_lock lock(state_->mutex);
    const auto over = [&] { return state_->done >= number_ || has_failed(); };
    constexpr uint64_t kForever = uint64_t{1} << 62;
    if (timeout_ns >= kForever)
      state_->changed.wait(lock, over);
    else if (timeout_ns == 0 ? !over() : !state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), over))
      return false;
    if (has_failed()) throw Error(*state_->failure);
    return true;
  }

 private:
  bool has_failed() const { return state_->failure && state_->failed <= number_; }

  std::shared_ptr<State> state_;
  uint64_t number_;  // of the work that is to be done
};

HostStream::HostStream(bool worker) : state_(std::make_shared<State>()) {
  if (!worker) return;
  try {
    thread_ = std::thread([this] { loop(); });
  } catch (const std::system_error& e) {
    throw Error(TENON_OUT_OF_MEMORY,
                std::string("queue_create: the system gives no thread for the queue: ") + e.what());
  }
}

HostStream::~HostStream() {
  if (is_inline()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_all();
  }
  thread_.join();
}

void HostStream::enqueue(std::function<void()> work) {
  if (is_inline()) return work();
  const std::lock_guard lock(state_->mutex);
  state_->items.push_back(std::move(work));
  ++state_->enqueued;
  state_->changed.notify_all();
}

void HostStream::move(void* to, const void* from, uint64_t bytes) {
  if (is_inline())
    std::memmove(to, from, bytes);
  else
    enqueue([=] { std::memmove(to, from, bytes); });
}

namespace {

uint8_t* pointer(DeviceAddress a) { return static_cast<uint8_t*>(a.memory) + a.offset; }

}  // namespace

void HostStream::copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) { move(pointer(to), pointer(from), bytes); }
void HostStream::write(DeviceAddress to, const void* from, uint64_t bytes) { move(pointer(to), from, bytes); }
void HostStream::read(void* to, DeviceAddress from, uint64_t bytes) { move(to, pointer(from), bytes); }

void HostStream::set(DeviceAddress to, const void* element, uint32_t width) {
  uint64_t kept = 0;
  std::memcpy(&kept, element, width);
  enqueue([=] { std::memcpy(pointer(to), &kept, width); });
}

void HostStream::after(DeviceMark& mark) {
  enqueue([other = static_cast<Mark&>(mark)]() mutable { other.reached(UINT64_MAX); });
}

std::shared_ptr<DeviceMark> HostStream::submit() {
  if (is_inline()) return nullptr;
  const std::lock_guard lock(state_->mutex);
  return std::make_shared<Mark>(state_, state_->enqueued);
}

void HostStream::loop() {
  for (;;) {
    std::function<void()> work;
    std::optional<Error> outcome;
    {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return state_->closing || !state_->items.empty(); });
      if (state_->items.empty()) return;
      work = std::move(state_->items.front());
      state_->items.pop_front();
      outcome = state_->failure;
    }
    try {
      if (!outcome) work();
    } catch (const Error& e) {
      outcome = e;
    } catch (const std::exception& e) {
      outcome = Error(TENON_INTERNAL, e.what());
    }
    state_->complete(std::move(outcome));
  }
}

}  // namespace tenon::plugin
