#include "backend/process_state.h"

#include <sys/stat.h>

#include <clocale>

namespace tenon {

ProcessState::ProcessState() : umask_(::umask(077)), terminate_(std::get_terminate()) {
  ::umask(umask_);
  if (const char* locale = std::setlocale(LC_ALL, nullptr)) locale_ = locale;
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
  if (const char* locale = std::setlocale(LC_ALL, nullptr); locale && locale_ != locale)
    std::setlocale(LC_ALL, locale_.c_str());
  ::umask(umask_);
  std::set_terminate(terminate_);
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  ::fesetenv(&floating_);
}

}  // namespace tenon
