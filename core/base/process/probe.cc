#include "base/process/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include "base/file/descriptor.h"
#include "base/process/probe_keeper.h"
#include "base/strings.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostChildren = 64;  // at once
constexpr int kMostReads = 16;        // from one before the others are looked at, and its time limit

enum MessageKind : int32_t { kStage = 1, kAnswer = 2, kExit = 3, kNoChild = 4 };

// What the child says: this, then a text of so many bytes; after an answer that is ok they are what it hands back.
struct MessageHead {
  int32_t kind;
  int32_t code;
  uint64_t bytes;
};

// ---- in the child ----

int report_fd = -1;

void say(int32_t kind, int32_t code, std::string_view text) {
  const MessageHead head{kind, code, text.size()};
  if (write_fully(report_fd, &head, sizeof head)) (void)write_fully(report_fd, text.data(), text.size());
}

// Runs before the exit handlers of the parent, which are registered in the child too.
void stop_exit() {
  say(kExit, 0, "");
  ::_exit(1);
}

// Whether what is written to it reaches those who started the program, or another process.
bool leads_out(const struct stat& s, int fd, const std::vector<struct stat>& streams) {
  if (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode) || ::isatty(fd)) return true;
  return std::any_of(streams.begin(), streams.end(),
                     [&](const struct stat& other) { return s.st_dev == other.st_dev && s.st_ino == other.st_ino; });
}

// The standard streams and their kin: the program may have copies of them, and whoever reads one waits until the last is
// closed.
void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  std::vector<struct stat> streams;
  struct stat s {};
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(fd, &s) == 0) streams.push_back(s);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  const auto open = names_in(open_file("/proc/self/fd", O_RDONLY | O_DIRECTORY));
  for (const std::string& name : open.value_or(std::vector<std::string>())) {
    const int fd = std::atoi(name.c_str());
    if (fd > 2 && fd != report_fd && ::fstat(fd, &s) == 0 && leads_out(s, fd, streams)) ::dup3(null, fd, O_CLOEXEC);
  }
}

std::string cannot_fork(int error) { return cat("cannot be tried in a child process: ", strerrordesc_np(error)); }

[[noreturn]] void child(const ProbeWork& work, int fd, pid_t parent) {
  report_fd = fd;
  ::setpgid(0, 0);  // so that its own children can be killed with it, and Ctrl-C does not reach it
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  default_signals();
  silence();
  if (const int error = fork_kept(parent, fd); error != 0) {
    say(kNoChild, error, "");
    ::_exit(1);
  }
  std::atexit(stop_exit);
  Result<std::string> answer = Status(Code::kAbi, "threw an exception");
  try {
    answer = work([](const char* stage) { say(kStage, 0, stage); });
  } catch (...) {
  }
  say(kAnswer, static_cast<int32_t>(answer.status().code()), answer.ok() ? *answer : answer.status().message());
  ::_exit(0);
}

// ---- in the parent ----

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

int milliseconds_until(Clock::time_point deadline, int at_most) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, at_most));
}

int reap(pid_t pid) {
  int status = 0;
  // Where the program ignores SIGCHLD, what ended it is not known.
  return retry([&] { return ::waitpid(pid, &status, 0); }) < 0 ? -1 : status;
}

// Neither end is one of the standard streams, which may be closed here and are /dev/null in the child.
bool make_pipe(Descriptor& reads, Descriptor& writes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reads = above_standard_streams(ends[0]);
  writes = above_standard_streams(ends[1]);
  return reads && writes;
}

// One child and what was heard of it.
class Probe {
 public:
  Probe(std::chrono::milliseconds limit, bool alone) : limit_(limit), deadline_(Clock::now() + limit), alone_(alone) {}
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // `others` are what is open of other children.
  void start(const ProbeWork& work, const std::vector<std::unique_ptr<Probe>>& others) {
    Descriptor its_end;
    if (!make_pipe(stream_, its_end)) return refuse(errno);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      for (const auto& other : others)
        if (other) other->stream_.close();
      child(work, its_end.release(), parent);
    }
    if (pid_ < 0) return refuse(errno);
    ::setpgid(pid_, pid_);  // here too: the child may be killed before it comes to its own call
    ::fcntl(stream_.get(), F_SETFL, O_NONBLOCK);
  }

  // There was no process to be had, as the others may have them.
  bool crowded() const { return crowded_; }
  bool finished() const { return answer_.has_value(); }
  Result<std::string>& answer() { return *answer_; }
  // Where there may be something to read; -1 when it will say nothing more.
  int fd() const { return deaf_ ? -1 : stream_.get(); }
  Clock::time_point deadline() const { return deadline_; }

  // Takes what there is; finishes when it has answered, ended or run out of time.
  void look() {
    if (finished()) return;
    const bool ended = has_ended(pid_);  // before reading: all that it said can then be read
    read_all();
    if (finished()) return;
    if (ended) return end(false);
    if (Clock::now() >= deadline_) end(true);
  }

 private:
  void read_all() {
    char chunk[1 << 16];
    for (int turn = 0; turn < kMostReads && !deaf_ && !finished(); ++turn) {
      const ssize_t n = retry([&] { return ::read(stream_.get(), chunk, sizeof chunk); });
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return void(deaf_ = true);  // it has closed its end, and may go on
      heard_.append(chunk, static_cast<size_t>(n));
      take_messages();
    }
  }

  void take_messages() {
    MessageHead head;
    size_t at = 0;
    while (!finished() && heard_.size() - at >= sizeof head) {
      std::memcpy(&head, heard_.data() + at, sizeof head);
      if (head.bytes > kMaxProbeAnswer) return void(deaf_ = true);
      if (heard_.size() - at - sizeof head < head.bytes) break;
      take(head, heard_.substr(at + sizeof head, head.bytes));
      at += sizeof head + head.bytes;
    }
    heard_.erase(0, at);
  }

  void take(const MessageHead& head, std::string text) {
    if (head.kind == kStage) stage_ = text.c_str();
    if (head.kind == kNoChild) refuse(head.code);
    if (head.kind == kExit) finish(Status(Code::kAbi, cat("called exit", where())));
    if (head.kind != kAnswer) return;
    const bool known = head.code >= 0 && head.code <= static_cast<int>(Code::kInternal);
    const Code code = known ? static_cast<Code>(head.code) : Code::kAbi;
    if (code == Code::kOk)
      finish(std::move(text));
    else
      finish(Status(code, std::move(text)));
  }

  std::string where() const { return stage_.empty() ? std::string() : cat(" in ", stage_); }

  // It has ended, or is late.
  void end(bool late) {
    const int status = kill_and_reap();
    if (late)
      return finish(Status(Code::kTimeout,
                           cat("did not answer within ", static_cast<double>(limit_.count()) / 1000, " s", where())));
    if (status >= 0 && WIFSIGNALED(status)) {
      const char* name = ::sigabbrev_np(WTERMSIG(status));
      return finish(Status(Code::kAbi, cat("crashed with SIG", name ? name : "?", where())));
    }
    finish(Status(Code::kAbi, cat("ended the process", where())));
  }

  // And what it started, which its keeper sees to; the number cannot be taken by others before it is reaped.
  int kill_and_reap() {
    if (pid_ <= 0) return -1;
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT);
    siginfo_t info{};
    (void)retry([&] { return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT); });
    ::kill(-pid_, SIGKILL);
    return reap(std::exchange(pid_, -1));
  }

  void refuse(int error) {
    crowded_ = error == EAGAIN && !alone_;
    finish(Status(Code::kUnavailable, cannot_fork(error)));
  }

  void finish(Result<std::string> answer) {
    (void)kill_and_reap();
    answer_ = std::move(answer);
  }

  std::chrono::milliseconds limit_;
  Clock::time_point deadline_;
  bool alone_;
  pid_t pid_ = -1;
  Descriptor stream_;
  bool deaf_ = false, crowded_ = false;
  std::string heard_, stage_;
  std::optional<Result<std::string>> answer_;
};

// Until one of them has something to say or is late. A child that holds its end of the pipe open, or has closed it, is looked
// after now and then.
void wait_for_any(const std::vector<std::unique_ptr<Probe>>& probes) {
  std::vector<pollfd> streams;
  int patience = 20;
  for (const auto& probe : probes) {
    if (probe->fd() >= 0)
      streams.push_back({probe->fd(), POLLIN, 0});
    else
      patience = 1;
    patience = milliseconds_until(probe->deadline(), patience);
  }
  ::poll(streams.data(), streams.size(), patience);
}

}  // namespace

std::vector<Result<std::string>> probe_all(const std::vector<ProbeWork>& works, std::chrono::milliseconds limit) {
  std::vector<Result<std::string>> answers(works.size(), Status(Code::kInternal, "was not tried"));
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<size_t> waiting(works.size()), whose;
  std::iota(waiting.rbegin(), waiting.rend(), size_t{0});  // the next one last
  size_t most = std::min(works.size(), kMostChildren);
  while (!waiting.empty() || !probes.empty()) {
    while (!waiting.empty() && probes.size() < most) {
      auto probe = std::make_unique<Probe>(limit, most == 1);
      probe->start(works[waiting.back()], probes);
      probes.push_back(std::move(probe));
      whose.push_back(waiting.back());
      waiting.pop_back();
    }
    if (std::none_of(probes.begin(), probes.end(), [](const auto& p) { return p->finished(); })) wait_for_any(probes);
    for (size_t i = probes.size(); i-- > 0;) {
      probes[i]->look();
      if (!probes[i]->finished()) continue;
      if (probes[i]->crowded()) {
        most = 1;  // one after another from now on
        waiting.push_back(whose[i]);
      } else {
        answers[whose[i]] = std::move(probes[i]->answer());
      }
      probes.erase(probes.begin() + static_cast<std::ptrdiff_t>(i));
      whose.erase(whose.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return answers;
}

}  // namespace tenon
