// How long at least one of several threads was at work. Thread-safe.
#pragma once

#include <chrono>
#include <mutex>

namespace tenon {

class BusyClock {
  using Clock = std::chrono::steady_clock;

 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (running_++ == 0) since_ = Clock::now();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) seconds_ += since();
  }
  // Runs while it lives, where it is one to be counted.
  class Span {
   public:
    Span(BusyClock& clock, bool counts) : clock_(counts ? &clock : nullptr) {
      if (clock_) clock_->begin();
    }
    ~Span() {
      if (clock_) clock_->end();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    BusyClock* clock_;
  };
  double seconds() {
    const std::lock_guard lock(mutex_);
    return seconds_ + (running_ > 0 ? since() : 0);
  }

 private:
  double since() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

  std::mutex mutex_;
  int running_ = 0;
  Clock::time_point since_;
  double seconds_ = 0;
};

}  // namespace tenon
