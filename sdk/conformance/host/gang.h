// Threads that run one function truly at once: the host's gang.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::conformance {

class Gang {
 public:
  explicit Gang(uint32_t threads);
  ~Gang();
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;

  using Fn = void (*)(void* arg, uint32_t index, uint32_t count);
  // fn on count <= min(want, limit) threads at once, the caller being index 0; returns count once all are back.
  // Any thread may call; whoever finds fewer idle threads gets fewer. Every fourth call gets half, because a
  // backend must cope with any count.
  uint32_t run(uint32_t want, Fn fn, void* arg);
  // At most so many from now on; 0: all.
  void set_limit(uint32_t limit);

 private:
  struct Round;
  struct Worker {
    std::thread thread;
    std::condition_variable wake;
    Round* round = nullptr;  // what to take part in; null when idle
    uint32_t index = 0;
  };
  void work(Worker& self);
  uint32_t share_of(uint32_t want);  // mutex_ held

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::unique_ptr<Worker>> workers_;
  uint64_t calls_ = 0;
  uint32_t limit_ = 0;
  bool stopping_ = false;
};

}  // namespace tenon::conformance
