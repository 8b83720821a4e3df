#include "backend/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/text.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

enum RecordKind : int32_t { kStage = 1, kAnswer = 2, kExit = 3 };

// What the child says, small enough that a pipe takes it whole.
struct Record {
  int32_t kind;
  int32_t code;
  char text[1016];
};
static_assert(sizeof(Record) <= PIPE_BUF);

// ---- in the child ----

int report_fd = -1;

void say(int32_t kind, int32_t code, const char* text) {
  Record record{};
  record.kind = kind;
  record.code = code;
  std::strncpy(record.text, text, sizeof record.text - 1);
  while (::write(report_fd, &record, sizeof record) < 0 && errno == EINTR) {
  }
}

// Runs before the exit handlers of the parent, which are registered in the child too.
void stop_exit() {
  say(kExit, 0, "");
  ::_exit(1);
}

void default_signals() {
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd)
    if (null >= 0) ::dup2(null, fd);
}

[[noreturn]] void child(const std::function<Status(const ProbeStage&)>& work, int fd, pid_t parent) {
  report_fd = fd;
  ::setpgid(0, 0);  // so that its own children can be killed with it, and Ctrl-C does not reach it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  default_signals();
  silence();
  std::atexit(stop_exit);
  Status status;
  try {
    status = work([](const char* stage) { say(kStage, 0, stage); });
  } catch (...) {
    status = Status(Code::kAbi, "threw an exception");
  }
  say(kAnswer, static_cast<int32_t>(status.code()), status.message().c_str());
  ::_exit(0);
}

// ---- in the parent ----

struct Heard {
  std::string stage;
  Record last{};
  bool late = false;
};

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

int milliseconds_until(Clock::time_point deadline, int at_most) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, at_most));
}

// Waits for something to read, or the end of the child, until the deadline. Looks after the child
// itself now and then: a process that it left behind may hold the pipe open.
bool readable(int fd, pid_t pid, Clock::time_point deadline) {
  for (;;) {
    const int left = milliseconds_until(deadline, 20);
    if (left == 0) return false;
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, left) > 0 || has_ended(pid)) return true;
  }
}

// A child that does not answer may have closed its end of the pipe and go on.
bool ends_before(pid_t pid, Clock::time_point deadline) {
  while (!has_ended(pid)) {
    const int left = milliseconds_until(deadline, 1);
    if (left == 0) return false;
    ::poll(nullptr, 0, left);
  }
  return true;
}

Heard listen(int fd, pid_t pid, std::chrono::milliseconds limit) {
  Heard heard;
  const auto deadline = Clock::now() + limit;
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  while (heard.last.kind != kAnswer && heard.last.kind != kExit) {
    if (!readable(fd, pid, deadline)) break;
    Record record;
    const ssize_t n = ::read(fd, &record, sizeof record);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof record)) break;
    record.text[sizeof record.text - 1] = 0;
    if (record.kind == kStage) heard.stage = record.text;
    heard.last = record;
  }
  if (heard.last.kind != kAnswer && heard.last.kind != kExit) heard.late = !ends_before(pid, deadline);
  return heard;
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;  // the program ignores SIGCHLD: what ended it is not known
  return status;
}

Status verdict(const Heard& heard, int exit_status, std::chrono::milliseconds limit) {
  const std::string where = heard.stage.empty() ? std::string() : cat(" in ", heard.stage);
  if (heard.last.kind == kAnswer)
    return heard.last.code == 0 ? Status() : Status(static_cast<Code>(heard.last.code), heard.last.text);
  if (heard.last.kind == kExit) return Status(Code::kAbi, cat("called exit", where));
  if (heard.late)
    return Status(Code::kTimeout,
                  cat("did not answer within ", static_cast<double>(limit.count()) / 1000, " s", where));
  if (exit_status >= 0 && WIFSIGNALED(exit_status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(exit_status));
    return Status(Code::kAbi, cat("crashed with SIG", name ? name : "?", where));
  }
  return Status(Code::kAbi, cat("ended the process", where));
}

}  // namespace

Status probe(const std::function<Status(const ProbeStage&)>& work, std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Status(Code::kUnavailable, cat("cannot be tried in a child process: ", strerrordesc_np(errno)));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) child(work, ends[1], parent);
  const int error = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return Status(Code::kUnavailable, cat("cannot be tried in a child process: ", strerrordesc_np(error)));
  }
  ::setpgid(pid, pid);  // here too: the child may be killed before it comes to its own call
  const Heard heard = listen(ends[0], pid, limit);
  ::kill(pid, SIGKILL);
  ::kill(-pid, SIGKILL);  // what it started; the number cannot be taken by others before it is reaped
  ::close(ends[0]);
  return verdict(heard, reap(pid), limit);
}

}  // namespace tenon
