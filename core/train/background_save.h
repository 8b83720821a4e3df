// A checkpoint that is written while training goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <string>

#include "tenon/status.h"

namespace tenon {

struct SavedCheckpoint {
  int64_t step = 0;
  std::string path = {};
  bool finite = true;  // false where that is why it failed: the states were not to be used
};

// One at a time. The thread that starts it also collects it; whoever owns this waits for it at the end.
class BackgroundSave {
 public:
  ~BackgroundSave() {
    if (running()) future_.wait();
  }

  bool running() const { return future_.valid(); }
  bool done() const {
    return running() && future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  // `write` fills in the rest of what it is given; it must not throw. Where there is no thread to be had it runs here.
  // REQUIRED: not running().
  using Write = std::function<Status(SavedCheckpoint&)>;
  void start(int64_t step, Write write);

  // What became of it, once it has ended; none where there was none. *saved is filled in even where it failed.
  Result<bool> collect(SavedCheckpoint* saved);

 private:
  SavedCheckpoint saved_;  // the thread's while it runs
  std::future<Status> future_;
};

}  // namespace tenon
