// A process of its own in which tests run on the library with mutants chosen, until one tells it from what was written.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "control.h"

namespace tenon::conformance {

class Trial {
 public:
  // Starts it. The tests are given by their index, in the order in which they run. A test that takes many times the
  // processor time of the control is stopped, and so is one in which every thread has been asleep for seconds: both are by
  // this process's own clock of looks, so that neither a machine with other work nor one that was stopped ends a test.
  Trial(const std::string& library, const Tests& tests, const Control& control, std::vector<size_t> order,
        Mutants mutants);
  Trial(Trial&&) noexcept;
  Trial& operator=(Trial&&) = delete;
  ~Trial();

  const Mutants& mutants() const { return mutants_; }
  // For poll(): readable when there is something to look at.
  int events() const { return out_; }
  // Looks at it, some ten times a second or when there are events; whether it is over.
  bool look();

  // Once it is over: whether a test told, how many of the order passed, and what it said ("ID: ..").
  bool told() const { return told_; }
  size_t passed() const { return passed_; }
  // Whether it told that it cannot be tried here, which may be so for want of memory alone; the index of the test that told.
  bool unavailable() const { return unavailable_; }
  size_t teller() const { return order_.at(passed_); }
  const std::string& said() const { return said_; }

 private:
  void read_events();
  void end(int status);
  bool asleep_for_long();

  using Clock = std::chrono::steady_clock;
  const Tests* tests_;
  std::vector<size_t> order_;
  Mutants mutants_;
  pid_t pid_ = -1;
  int out_ = -1;
  bool told_ = false, unavailable_ = false, stopped_ = false;
  size_t passed_ = 0;  // of the order
  std::string said_;
  int looks_asleep_ = 0;
  Clock::time_point last_look_;
};

// Runs one to its end.
Trial tried(const std::string& library, const Tests& tests, const Control& control, std::vector<size_t> order,
            Mutants mutants);
// Waits until one of them has something to look at, or it is time to look at all.
void await_events(const std::vector<Trial>& trials);

}  // namespace tenon::conformance
