// What a plugin must leave as it found it.
#pragma once

#include <fenv.h>
#include <signal.h>
#include <sys/types.h>

#include <array>
#include <exception>
#include <string>

namespace tenon {

// Remembers this thread's floating-point modes (libraries built with -ffast-math change them as they
// are loaded), its signal mask and the process's signal handlers, locale, umask and what std::terminate
// calls, and puts them back when it ends.
class ProcessState {
 public:
  ProcessState();
  ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

 private:
  fenv_t floating_;
  sigset_t mask_;
  std::array<struct sigaction, 32> handlers_;
  std::string locale_;
  mode_t umask_;
  std::terminate_handler terminate_;
};

}  // namespace tenon
