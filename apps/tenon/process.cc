#include "process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "command.h"
#include "tenon/interrupts.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

std::FILE* output = nullptr;
std::string own_arguments;

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

// Unlike an ignored signal, it is not handed on to programs that a backend starts.
void on_failed_write(int) {}

}  // namespace

bool keep_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one. The wrong way round: what is closed cannot be read or written.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
  }
  return true;
}

bool take_standard_output() {
  if ((::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) return true;  // it was closed: writes fail as they are
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (own < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return false;
  output = is_first_process() ? ::fdopen(own, "w") : std::fopen("/dev/null", "we");  // what is said is said once
  return output != nullptr;
}

std::FILE* standard_output() { return output ? output : stdout; }

void set_arguments(const std::string& arguments) { own_arguments = arguments; }

void meet_processes() {
  check(join_processes());
  check(expect_same_in_processes("the arguments", own_arguments));
}

void let_writes_fail() {
  set_handler(SIGPIPE, on_failed_write);
  set_handler(SIGXFSZ, on_failed_write);
}

void watch_interrupts() {
  // Also where a script's shell ignores these two in the background: who sends one there means it.
  for (const int number : {SIGINT, SIGTERM}) set_handler(number, SIG_DFL);
  static const InterruptWatch watch({SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2});
}

bool interrupted() { return InterruptWatch::interrupted(); }

int exit_code_of(const Status& error) {
  const int signal = InterruptWatch::signal();
  return signal != 0 && error.code() == Code::kInterrupted ? 128 + signal : 1;
}

}  // namespace tenon::runner
