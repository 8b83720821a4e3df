// Ending in order at Ctrl-C, and at the signals of a batch system.
#pragma once

#include <csignal>
#include <vector>

namespace tenon {

// While one lives, these signals are noted instead of ending the process; after the first SIGINT or SIGTERM a second
// one ends it. Those that are ignored, or that the program handles itself, are left alone. With its end what it took
// has its default action again. An Estimator has one while it trains (RunConfig::handle_signals); in the time of
// another one only the signals are added that it does not watch. Made and ended by one thread at a time; the functions
// are for any.
class InterruptWatch {
 public:
  explicit InterruptWatch(const std::vector<int>& signals = {SIGINT, SIGTERM});
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Whether one lives and a signal came.
  static bool interrupted();
  // What another process of the job was told.
  static void hear(int signal);
  // The number of the first signal that came, for exit codes (128 + number); 0: none. It stays until another watch
  // begins.
  static int signal();

 private:
  std::vector<int> taken_;
};

}  // namespace tenon
