#include "validation/thread_state.h"

#include <fenv.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::plugin::validation {
namespace {

#if defined(__x86_64__)
constexpr unsigned kControl = 0xffc0;  // of MXCSR: masks, rounding, flush to zero, denormals are zero
unsigned modes() { return _mm_getcsr() & kControl; }
void set_modes(unsigned modes) { _mm_setcsr((_mm_getcsr() & ~kControl) | modes); }
#elif defined(__aarch64__)
unsigned modes() { return static_cast<unsigned>(__builtin_aarch64_get_fpcr()); }
void set_modes(unsigned modes) { __builtin_aarch64_set_fpcr(modes); }
#else
unsigned modes() { return 0; }
void set_modes(unsigned) {}
#endif

std::string current_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) ? path : "";
}

}  // namespace

ThreadState::ThreadState() : modes_(modes()), rounding_(::fegetround()) {
  std::memset(&mask_, 0, sizeof mask_);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
}

const char* ThreadState::restore() const {
  const char* changed = nullptr;
  if (::fegetround() != rounding_) changed = "the rounding mode", ::fesetround(rounding_);
  if (modes() != modes_) changed = "the floating-point modes", set_modes(modes_);
  sigset_t now;
  std::memset(&now, 0, sizeof now);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
  if (std::memcmp(&now, &mask_, sizeof now) != 0)
    changed = "the signal mask", ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  return changed;
}

ProcessState::ProcessState() : directory_(current_directory()) {
  for (int s = 1; s < kSignals; ++s) ::sigaction(s, nullptr, &handlers_[s]);
}

const char* ProcessState::difference() const {
  for (int s = 1; s < kSignals; ++s) {
    struct sigaction now;
    if (::sigaction(s, nullptr, &now) == 0 && now.sa_sigaction != handlers_[s].sa_sigaction) return "a signal handler";
  }
  return current_directory() == directory_ ? nullptr : "the current directory";
}

}  // namespace tenon::plugin::validation
