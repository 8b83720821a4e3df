// What a backend leaves as it found it.
#pragma once

#include <signal.h>

#include <string>

namespace tenon::plugin::validation {

// The calling thread's rounding and denormal modes and its signal mask. Cheap enough for every call.
class ThreadState {
 public:
  ThreadState();
  // Names what has changed since, and puts it back; nullptr: nothing.
  const char* restore() const;

 private:
  unsigned modes_;
  int rounding_;
  sigset_t mask_;
};

// The process's signal handlers and directory, for calls that are rare.
class ProcessState {
 public:
  ProcessState();
  // Names what has changed since; nullptr: nothing. Another thread may have changed it: it stays.
  const char* difference() const;

 private:
  static constexpr int kSignals = 32;
  struct sigaction handlers_[kSignals];
  std::string directory_;
};

}  // namespace tenon::plugin::validation
