// The one thread pool of a process: it runs the tasks of the input pipeline and lends its threads to
// backends as a gang. A pool of n threads has n-1 workers; the n-th is whoever calls gang() or waits.
//
// Nobody spins while tasks want the cores: a gang's threads spin only while a gang is running and
// for some microseconds after it. Thread safe, but at most one gang runs at a time: a second caller,
// or a call from inside a gang or a task, gets a gang of one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tenon {

class ThreadPool {
 public:
  // Fewer where the system has no more threads to give; no result depends on how many there are.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // runs what was submitted, then joins
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  const std::string& shortage() const {
    return shortage_;
  }  // why there are fewer than were asked for; empty: there are not

  // Runs `task` on some thread of the pool. Tasks should be short (a record, an image): a gang waits
  // for the task that a worker is in. Tasks must not throw.
  void submit(std::function<void()> task);

  // Runs one waiting task on the calling thread; false when there is none. A thread that waits for
  // the result of tasks calls this in its loop, so that a pool of one thread makes progress too.
  bool help();

  // Runs fn(arg, index, count) on `count` <= want threads that truly run at once (they may spin on
  // each other); the caller is index 0. Returns count, which is min(want, threads()) unless another
  // gang is running.
  using GangFn = void (*)(void* arg, uint32_t index, uint32_t count);
  uint32_t gang(uint32_t want, GangFn fn, void* arg);

 private:
  void work(uint32_t index);
  bool run_one(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;

  // The running gang. Written by its caller, then published by the growth of generation_.
  std::mutex gang_mutex_;
  GangFn gang_fn_ = nullptr;
  void* gang_arg_ = nullptr;
  uint32_t gang_count_ = 0;
  alignas(64) std::atomic<uint64_t> generation_{0};
  alignas(64) std::atomic<uint32_t> pending_{0};
  alignas(64) std::atomic<int> parked_{0};

  std::vector<std::thread> workers_;
  std::string shortage_;
};

}  // namespace tenon
