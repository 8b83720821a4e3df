// Preloaded into a program: it cannot handle signals. The negative control of row 9.
#include <csignal>

extern "C" {

__attribute__((visibility("default"))) int sigaction(int, const struct sigaction*, struct sigaction* old) noexcept {
  if (old) *old = {};
  return 0;
}
__attribute__((visibility("default"))) sighandler_t signal(int, sighandler_t) noexcept { return SIG_DFL; }
}
