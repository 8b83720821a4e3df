#include "base/process/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace tenon {
namespace {

thread_local bool in_gang = false;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// How long a worker spins for the next gang before it sleeps: longer than the gap between two
// steps, shorter than anything a user would see as load.
constexpr auto kSpin = std::chrono::microseconds(60);

}  // namespace

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(static_cast<uint32_t>(i)); });
  } catch (const std::exception& e) {  // those that were made go on
    shortage_ = e.what();
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  while (help()) {
  }
}

void ThreadPool::submit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

bool ThreadPool::run_one(std::unique_lock<std::mutex>& lock) {
  if (tasks_.empty()) return false;
  std::function<void()> task = std::move(tasks_.front());
  tasks_.pop_front();
  lock.unlock();
  task();
  task = nullptr;
  lock.lock();
  return true;
}

bool ThreadPool::help() {
  std::unique_lock lock(mutex_);
  return run_one(lock);
}

uint32_t ThreadPool::gang(uint32_t want, GangFn fn, void* arg) {
  const uint32_t count = std::min<uint32_t>(want, static_cast<uint32_t>(threads()));
  std::unique_lock lock(gang_mutex_, std::defer_lock);
  if (count <= 1 || in_gang || !lock.try_lock()) {
    fn(arg, 0, 1);
    return 1;
  }
  gang_fn_ = fn;
  gang_arg_ = arg;
  gang_count_ = count;
  // Every worker takes notice of every generation, so that none can miss one or see two.
  pending_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) > 0) {
    std::lock_guard wake_lock(mutex_);
    wake_.notify_all();
  }
  in_gang = true;
  fn(arg, 0, count);
  in_gang = false;
  for (uint32_t spins = 1; pending_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins > 256) std::this_thread::yield();  // as Barrier does
    pause();
  }
  return count;
}

void ThreadPool::work(uint32_t index) {
  in_gang = true;  // neither a gang's thread nor a task can lead a gang
  uint64_t seen = 0;
  auto last = std::chrono::steady_clock::now() - kSpin;
  for (;;) {
    const uint64_t now = generation_.load(std::memory_order_acquire);
    if (now != seen) {
      seen = now;
      if (index < gang_count_) {
        gang_fn_(gang_arg_, index, gang_count_);
        last = std::chrono::steady_clock::now();
      }
      pending_.fetch_sub(1, std::memory_order_acq_rel);
      continue;
    }
    {
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock.owns_lock()) {
        if (run_one(lock)) continue;
        if (stopping_) return;
        if (std::chrono::steady_clock::now() - last >= kSpin) {
          parked_.fetch_add(1, std::memory_order_seq_cst);
          wake_.wait(lock, [&] {
            return stopping_ || !tasks_.empty() || generation_.load(std::memory_order_seq_cst) != seen;
          });
          parked_.fetch_sub(1, std::memory_order_seq_cst);
          continue;
        }
      }
    }
    for (int i = 0; i < 200 && generation_.load(std::memory_order_acquire) == seen; ++i) pause();
  }
}

}  // namespace tenon
