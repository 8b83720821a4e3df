// When the host was busy or waited while a device did its steps.
#pragma once

#include <chrono>
#include <cstdint>

#include "backend/device.h"

namespace tenon {

// Picoseconds of the clock that never goes back.
inline uint64_t steady_ps() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) * 1000;
}

// Told, on the thread that runs the device, when the host was busy or waited. Times are of steady_ps().
class HostWatch {
 public:
  virtual ~HostWatch() = default;
  // For the batch of the call's iteration i.
  virtual void waited(uint64_t i, uint64_t start_ps, uint64_t end_ps) = 0;
  virtual void called(uint64_t start_ps, uint64_t end_ps) = 0;
};

// The feed of one call of the device, with a watch on it. The call ends when this does.
class WatchedFeed : public Feed {
 public:
  WatchedFeed(Feed& feed, HostWatch& watch) : feed_(feed), watch_(watch), start_ps_(steady_ps()) {}
  ~WatchedFeed() override { watch_.called(start_ps_, steady_ps()); }

  bool next(uint64_t i, std::span<Buffer*> feeds) override {
    const uint64_t start = steady_ps();
    const bool more = feed_.next(i, feeds);
    watch_.waited(i, start, steady_ps());
    return more;
  }
  void release(uint64_t i) override { feed_.release(i); }

 private:
  Feed& feed_;
  HostWatch& watch_;
  uint64_t start_ps_;
};

}  // namespace tenon
