#include "conformance/host/gang.h"

#include <algorithm>
#include <system_error>

namespace tenon::conformance {

struct Gang::Round {
  Fn fn;
  void* arg;
  uint32_t count = 1;
  uint32_t running = 0;  // workers that are not back
};

Gang::Gang(uint32_t threads) {
  workers_.reserve(threads);  // a worker that runs is always one that is joined
  for (uint32_t i = 1; i < threads; ++i) {
    auto made = std::make_unique<Worker>();
    Worker& worker = *made;
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error&) {  // a host with fewer threads is one too
      return;
    }
    workers_.push_back(std::move(made));
  }
}

Gang::~Gang() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (const auto& worker : workers_) worker->wake.notify_one();
  for (const auto& worker : workers_) worker->thread.join();
}

void Gang::set_limit(uint32_t limit) {
  std::lock_guard lock(mutex_);
  limit_ = limit;
}

uint32_t Gang::share_of(uint32_t want) {
  uint32_t most = limit_ ? limit_ : UINT32_MAX;
  if (++calls_ % 4 == 0)
    most = std::max(1u, (std::min<uint32_t>(want, static_cast<uint32_t>(workers_.size()) + 1)) / 2);
  return std::max(1u, std::min(want, most));
}

uint32_t Gang::run(uint32_t want, Fn fn, void* arg) {
  Round round{fn, arg};
  std::vector<Worker*> members;
  {
    std::lock_guard lock(mutex_);
    const uint32_t share = share_of(want);
    for (const auto& worker : workers_)
      if (!worker->round && members.size() + 1 < share) members.push_back(worker.get());
    round.running = static_cast<uint32_t>(members.size());
    round.count = round.running + 1;
    for (uint32_t i = 0; i < members.size(); ++i) {
      members[i]->index = i + 1;
      members[i]->round = &round;
    }
  }
  for (Worker* member : members) member->wake.notify_one();
  fn(arg, 0, round.count);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return round.running == 0; });
  return round.count;
}

void Gang::work(Worker& self) {
  std::unique_lock lock(mutex_);
  for (;;) {
    self.wake.wait(lock, [&] { return stopping_ || self.round; });
    if (!self.round) return;
    Round& round = *self.round;
    lock.unlock();
    round.fn(round.arg, self.index, round.count);
    lock.lock();
    self.round = nullptr;
    if (--round.running == 0) done_.notify_all();
  }
}

}  // namespace tenon::conformance
