#include "base/process/exit_order.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace tenon {
namespace {

constexpr int kEndedByOthers = 70;  // EX_SOFTWARE

std::atomic<bool> guarded{false}, allowed{false};

void on_exit_of_others() {
  if (allowed) return;
  constexpr std::string_view line = "tenon: a backend called exit(): it ended this program, whose work was not done\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(kEndedByOthers);
}

}  // namespace

void renew_exit_guard() {
  if (!guarded) return;
  (void)std::atexit(on_exit_of_others);
  (void)std::at_quick_exit(on_exit_of_others);
}

void guard_exit() {
  guarded = true;
  renew_exit_guard();
}

void allow_exit() { allowed = true; }

}  // namespace tenon
