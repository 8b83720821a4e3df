#include "conformance/host/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "conformance/host/system_call.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kMaxText = 1u << 16;
constexpr size_t kMaxPrinted = 1u << 13;
constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

struct Header {
  uint32_t kind, index;
  int32_t outcome;
  uint32_t text_bytes;
  double seconds;
};

volatile sig_atomic_t stop_signal = 0;
struct sigaction before_stops[3];

void note_stop(int signal) { stop_signal = signal; }

void make_pipe(int fd[2]) {
  if (pipe2(fd, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
}

// What is there to read, up to the end of the pipe.
template <class Take>
void drain(int fd, Take take) {
  char block[4096];
  for (;;) {
    const ssize_t n = retry([&] { return read(fd, block, sizeof block); });
    if (n <= 0) return;
    take(block, static_cast<size_t>(n));
  }
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> out;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t pid; list >> pid;) out.push_back(pid);
  return out;
}

// What the backend started in a session of its own becomes a child of this process when its parent ends.
void kill_orphans(const std::vector<pid_t>& spared) {
  constexpr int kSweeps = 1000;  // what multiplies faster than it is killed must not hold up the suite
  for (int i = 0; i < kSweeps; ++i) {
    bool found = false;
    for (const pid_t pid : own_children()) {
      if (std::find(spared.begin(), spared.end(), pid) != spared.end()) continue;
      found = true;
      kill(pid, SIGKILL);
      retry([&] { return waitpid(pid, nullptr, 0); });
    }
    if (!found) return;
  }
}

void become_child(pid_t parent, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int signal : kStops) ::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
}

}  // namespace

void Line::send(const Message& message) const {
  std::string text = message.text.substr(0, kMaxText);
  const Header header{message.kind, message.index, message.outcome, static_cast<uint32_t>(text.size()),
                      message.seconds};
  text.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
  if (!write_all(to_parent_, text)) _exit(1);  // nobody listens
}

void Line::await_go() const {
  char byte;
  if (retry([&] { return read(from_parent_, &byte, 1); }) != 1) _exit(1);  // the parent is gone
}

Child::Child(const std::function<void(const Line&)>& body) : not_its_(own_children()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int messages[2], output[2], go[2];  // go is a socket: writing to one that is gone raises no signal
  make_pipe(messages);
  make_pipe(output);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    become_child(parent, output[1]);
    close(messages[0]);
    close(output[0]);
    close(output[1]);
    close(go[1]);
    body(Line(messages[1], go[0]));
    std::exit(0);
  }
  setpgid(pid_, pid_);
  close(messages[1]);
  close(output[1]);
  close(go[0]);
  go_ = go[1];
  messages_ = messages[0];
  output_ = output[0];
  fcntl(messages_, F_SETFL, O_NONBLOCK);
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  kill(-pid_, SIGKILL);
  if (!ended_) reap(true);
  kill_orphans(not_its_);
  close(messages_);
  close(output_);
  close(go_);
}

// A child that is gone is noticed elsewhere.
void Child::go() {
  (void)retry([&] { return ::send(go_, "", 1, MSG_NOSIGNAL); });
}

void Child::read_messages() {
  drain(messages_, [this](const char* block, size_t n) { received_.append(block, n); });
}

void Child::read_printed() {
  drain(output_, [this](const char* block, size_t n) {
    printed_.append(block, std::min(n, kMaxPrinted - std::min(printed_.size(), kMaxPrinted)));
  });
}

bool Child::parse(Message* message) {
  Header header;
  if (received_.size() < sizeof header) return false;
  std::memcpy(&header, received_.data(), sizeof header);
  if (header.text_bytes > kMaxText || received_.size() < sizeof header + header.text_bytes) return false;
  *message = {static_cast<Message::Kind>(header.kind), header.index, header.outcome, header.seconds,
              received_.substr(sizeof header, header.text_bytes)};
  received_.erase(0, sizeof header + header.text_bytes);
  return true;
}

bool Child::reap(bool wait) {
  return ended_ = retry([&] { return waitpid(pid_, &status_, wait ? 0 : WNOHANG); }) == pid_;
}

Child::Event Child::next(Message* message, Clock::time_point deadline) {
  constexpr int kLookMs = 100;  // a process that the backend started may keep the pipes open
  for (;;) {
    const bool gone = ended_ || reap(false);
    read_messages();
    read_printed();
    if (parse(message)) return Event::kMessage;
    if (gone) return Event::kEnded;
    if (stop_signal || Clock::now() >= deadline) return Event::kTimeout;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count() + 1;
    pollfd fds[2] = {{messages_, POLLIN, 0}, {output_, POLLIN, 0}};
    poll(fds, 2, static_cast<int>(std::clamp<int64_t>(left, 1, kLookMs)));
    // Closed pipes poll as ready: the end of the process is what is left to wait for.
    if (fds[0].revents == POLLHUP && fds[1].revents == POLLHUP) usleep(1000);
  }
}

std::string Child::fate() const {
  if (WIFSIGNALED(status_)) {
    const char* name = sigabbrev_np(WTERMSIG(status_));
    return "died of signal " + std::to_string(WTERMSIG(status_)) + (name ? " (SIG" + std::string(name) + ")" : "");
  }
  return WEXITSTATUS(status_) == 0 ? "" : "exited with " + std::to_string(WEXITSTATUS(status_));
}

std::string Child::take_printed() {
  std::string printed;
  printed.swap(printed_);
  return printed;
}

StopSignals::StopSignals() {
  struct sigaction action {};
  action.sa_handler = note_stop;
  for (size_t i = 0; i < std::size(kStops); ++i) sigaction(kStops[i], &action, &before_stops[i]);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(kStops); ++i) sigaction(kStops[i], &before_stops[i], nullptr);
}

int StopSignals::received() { return stop_signal; }

}  // namespace tenon::conformance
