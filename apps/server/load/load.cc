#include "server/load/load.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "server/load/response_reader.h"

namespace tenon::server {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
constexpr std::chrono::microseconds kWakeTime{100};
constexpr double kMostWait = 30;  // seconds for answers behind the last request

double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }
Time after(Time from, double seconds) {
  return from + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Status system_error(const std::string& what) { return Status(Code::kUnavailable, what + ": " + std::strerror(errno)); }

// A socket; closed with it.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Result<Socket> connected(const LoadOptions& options) {
  const bool six = options.host.find(':') != std::string::npos;
  Socket socket(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return system_error("cannot make a socket");
  sockaddr_in four{};
  sockaddr_in6 to{};
  four.sin_family = AF_INET, to.sin6_family = AF_INET6;
  four.sin_port = to.sin6_port = htons(static_cast<uint16_t>(options.port));
  const bool address = six ? ::inet_pton(AF_INET6, options.host.c_str(), &to.sin6_addr) == 1
                           : ::inet_pton(AF_INET, options.host.c_str(), &four.sin_addr) == 1;
  if (!address) return Status(Code::kInvalid, "'" + options.host + "' is no address");
  const auto* target = six ? reinterpret_cast<const sockaddr*>(&to) : reinterpret_cast<const sockaddr*>(&four);
  if (::connect(socket.fd(), target, six ? sizeof to : sizeof four) != 0)
    return system_error("cannot connect to " + options.host + ":" + std::to_string(options.port));
  const int on = 1;
  (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

struct Connection {
  Socket socket;
  ResponseReader reader;
  std::optional<Time> due;  // of the request that it waits for
};

class Load {
 public:
  explicit Load(const LoadOptions& options) : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  Status run() {
    if (epoll_.fd() < 0) return system_error("cannot wait for sockets");
    for (int i = 0; i < options_.connections; ++i) {
      connections_.push_back(std::make_unique<Connection>());
      TENON_TRY(connect(*connections_.back()));
    }
    start_ = Clock::now();
    counted_from_ = after(start_, options_.warm_seconds);
    end_ = after(counted_from_, options_.seconds);
    while (more()) TENON_TRY(turn());
    std::sort(result_.latencies.begin(), result_.latencies.end());
    result_.seconds = seconds_between(counted_from_, std::max(last_answer_, counted_from_));
    return {};
  }
  LoadResult take() { return std::move(result_); }

 private:
  bool is_open() const { return options_.rate > 0; }
  Time next_due() const { return after(start_, static_cast<double>(added_) / options_.rate); }

  Status connect(Connection& c) {
    TENON_ASSIGN(c.socket, connected(options_));
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = &c}};
    if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, c.socket.fd(), &event) != 0)
      return system_error("cannot wait for a socket");
    c.reader = {};
    c.due.reset();
    idle_.push_back(&c);
    return {};
  }

  bool more() const {
    const Time now = Clock::now();
    if (now < end_ || (is_open() && next_due() <= end_)) return true;
    return (idle_.size() < connections_.size() || !waiting_.empty()) && now < after(end_, kMostWait);
  }

  // What is due goes to connections that are free; then it waits for an answer, or for what is due next.
  Status turn() {
    Time now = Clock::now();
    add_due(now);
    while (!idle_.empty() && !waiting_.empty()) {
      Connection& c = *idle_.back();
      idle_.pop_back();
      c.due = waiting_.front();
      waiting_.pop_front();
      TENON_TRY(send(c));
    }
    epoll_event events[64];
    const timespec wait = wait_time(Clock::now());
    int found = ::epoll_pwait2(epoll_.fd(), events, 64, &wait, nullptr);
    if (found < 0 && errno == ENOSYS)  // a kernel before 5.11, or a container's rule
      found = ::epoll_wait(epoll_.fd(), events, 64, static_cast<int>(wait.tv_nsec / 1000000));
    if (found < 0 && errno != EINTR) return system_error("cannot wait for answers");
    for (int i = 0; i < found; ++i) TENON_TRY(receive(*static_cast<Connection*>(events[i].data.ptr)));
    return {};
  }

  void add_due(Time now) {
    if (!is_open()) {
      while (now < end_ && waiting_.size() < idle_.size()) add(now);
      return;
    }
    for (Time due; (due = next_due()) <= std::min(now, end_);) add(due);
  }
  void add(Time due) {
    waiting_.push_back(due);
    ++added_;
    result_.asked += due >= counted_from_;
  }

  // The last bit of it is done by looking again, as the system wakes no thread as exactly; no more of it, as the server may need the core.
  timespec wait_time(Time now) const {
    using std::chrono::nanoseconds;
    nanoseconds wait = std::chrono::milliseconds(100);
    if (is_open() && now < end_) wait = std::min<nanoseconds>(wait, next_due() - now - kWakeTime);
    wait = std::max(wait, nanoseconds(0));
    return {.tv_sec = 0, .tv_nsec = static_cast<long>(wait.count())};
  }

  // Blocks while the peer reads slowly, as requests are small beside the socket's buffers.
  Status send(Connection& c) {
    for (size_t at = 0; at < options_.request.size();) {
      const ssize_t n = ::send(c.socket.fd(), options_.request.data() + at, options_.request.size() - at, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return broke(c);
      at += static_cast<size_t>(n);
    }
    return {};
  }

  Status receive(Connection& c) {
    for (;;) {
      char bytes[65536];
      const ssize_t n = ::recv(c.socket.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
      if (n <= 0) return broke(c);
      if (!c.reader.take({bytes, static_cast<size_t>(n)})) return broke(c);
      if (!c.reader.complete()) continue;
      ended(c, c.reader.code());
      if (c.reader.closes()) return connect(c);
      c.reader = {};
      idle_.push_back(&c);
    }
  }

  void ended(Connection& c, int code) {
    if (!c.due) return;
    const Time now = Clock::now();
    if (*c.due >= counted_from_) {
      ++result_.codes[code];
      if (code == 200) result_.latencies.push_back(seconds_between(*c.due, now));
      last_answer_ = now;
    }
    c.due.reset();
  }

  Status broke(Connection& c) {
    const bool waited = c.due.has_value();
    ended(c, 0);
    if (!waited) idle_.erase(std::remove(idle_.begin(), idle_.end(), &c), idle_.end());
    return connect(c);
  }

  const LoadOptions& options_;
  Socket epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;
  std::deque<Time> waiting_;  // requests that are due
  int64_t added_ = 0;
  Time start_, counted_from_, end_, last_answer_;
  LoadResult result_;
};

}  // namespace

double LoadResult::percentile(double p) const {
  if (latencies.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p / 100 * static_cast<double>(latencies.size())));
  return latencies[std::min(rank == 0 ? 0 : rank - 1, latencies.size() - 1)];
}

double LoadResult::mean() const {
  if (latencies.empty()) return 0;
  return std::accumulate(latencies.begin(), latencies.end(), 0.0) / static_cast<double>(latencies.size());
}

Result<LoadResult> run_load(const LoadOptions& options) {
  Load load(options);
  TENON_TRY(load.run());
  return load.take();
}

}  // namespace tenon::server
