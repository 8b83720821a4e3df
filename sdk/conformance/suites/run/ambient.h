// What belongs to the process or the calling thread and a backend must leave as it found it.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

namespace tenon::conformance {

class Ambient {
 public:
  Ambient();  // as it is now
  // Throws a failure that says what is not as it was, and after which entry.
  void check(const char* entry) const;

 private:
  static unsigned floating_modes();
  static std::string folder();
  static std::string locale();
  static std::vector<std::string> environment();

  unsigned modes_;
  int rounding_;
  sigset_t mask_;
  struct sigaction handlers_[65];
  std::string folder_, locale_, umask_;
  std::vector<std::string> environment_;
};

// While it lives this thread rounds upward and flushes subnormals to zero, as no other does.
class OddFloatingModes {
 public:
  OddFloatingModes();
  ~OddFloatingModes();

 private:
  int rounding_;
  unsigned saved_ = 0;
};

}  // namespace tenon::conformance
