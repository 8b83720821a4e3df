#include "backend/process_state.h"

namespace tenon {

ProcessState::ProcessState() {
  ::fegetenv(&floating_);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
  for (int s = 1; s < static_cast<int>(handlers_.size()); ++s) ::sigaction(s, nullptr, &handlers_[s]);
}

ProcessState::~ProcessState() {
  for (int s = 1; s < static_cast<int>(handlers_.size()); ++s) {
    struct sigaction now;
    if (::sigaction(s, nullptr, &now) == 0 && now.sa_sigaction != handlers_[s].sa_sigaction)
      ::sigaction(s, &handlers_[s], nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  ::fesetenv(&floating_);
}

}  // namespace tenon
