#include "process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tenon::runner {
namespace {

volatile std::sig_atomic_t signalled = 0;  // the signal's number

std::FILE* output = nullptr;

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void on_interrupt(int number) {
  if (signalled == 0) signalled = number;
  if (number != SIGINT && number != SIGTERM) return;
  set_handler(SIGINT, SIG_DFL);
  set_handler(SIGTERM, SIG_DFL);
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
  output = ::fdopen(own, "w");
  return output != nullptr;
}

std::FILE* standard_output() { return output ? output : stdout; }

void let_writes_fail() {
  set_handler(SIGPIPE, on_failed_write);
  set_handler(SIGXFSZ, on_failed_write);
}

void watch_interrupts() {
  // Also where a script's shell ignores it in the background: who sends it there means it.
  set_handler(SIGINT, on_interrupt);
  set_handler(SIGTERM, on_interrupt);
  for (const int number : {SIGHUP, SIGXCPU, SIGUSR1, SIGUSR2})
    if (!is_ignored(number)) set_handler(number, on_interrupt);
}

bool interrupted() { return signalled != 0; }

int exit_code_of(const Status& error) {
  return signalled != 0 && error.code() == Code::kInterrupted ? 128 + signalled : 1;
}

}  // namespace tenon::runner
