#include "base/process/probe_keeper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <vector>

#include "base/file/descriptor.h"

namespace tenon {
namespace {

constexpr std::chrono::seconds kLongestSweep{5};  // what multiplies faster than it is killed must not hold up the host

std::vector<pid_t> own_children() {
  std::vector<pid_t> out;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t pid; list >> pid;) out.push_back(pid);
  return out;
}

// Orphans of what is killed become children of this process, which then kills them too.
void kill_descendants() {
  const auto deadline = std::chrono::steady_clock::now() + kLongestSweep;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::vector<pid_t> children = own_children();
    for (const pid_t pid : children) ::kill(pid, SIGKILL);
    for (const pid_t pid : children) (void)retry([&] { return ::waitpid(pid, nullptr, 0); });
    if (!children.empty()) continue;
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    ::usleep(1000);  // a kernel that lists no children: they are waited for
  }
}

// False when it is to be ended.
bool await(pid_t child, const sigset_t& signals, int* status) {
  for (;;) {
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal == SIGTERM) return false;
    if (signal == SIGCHLD && retry([&] { return ::waitpid(child, status, WNOHANG); }) != 0) return true;
  }
}

[[noreturn]] void end_as(int status) {
  if (WIFSIGNALED(status)) {
    default_signals();
    ::kill(::getpid(), WTERMSIG(status));
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace

void default_signals() {
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int fork_kept(pid_t host, int report) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != host) ::_exit(1);
  const pid_t keeper = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) ::_exit(1);
    default_signals();
    return 0;
  }
  ::close(report);
  int status = 0;
  if (!await(child, signals, &status)) status = W_EXITCODE(1, 0);
  kill_descendants();
  end_as(status);
}

}  // namespace tenon
