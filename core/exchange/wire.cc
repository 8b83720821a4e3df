#include "exchange/wire.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/strings.h"
#include "exchange/transport_library.h"

namespace tenon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenBeats{500};
constexpr milliseconds kSilence{7000};  // after which a process counts as lost: with what follows, 10 s
constexpr milliseconds kAfterError{300}, kAfterEnd{2000};  // for the last messages of a process that has left
constexpr milliseconds kOwnSleep{2000};  // a process that was stopped itself for so long knows nothing of the others

// How long a wait looks again at once: what is under way in this machine's memory comes soon, and nothing from another machine is worth
// the core of whoever computes.
constexpr microseconds kLookWithin{100}, kLookBetween{20};
constexpr microseconds kLeastSleep{20}, kMostSleep{200};

// Sleeps in proportion to how long nothing came.
void sleep_after(std::chrono::steady_clock::duration waited) {
  const auto some = std::chrono::duration_cast<microseconds>(waited) / 8;
  std::this_thread::sleep_for(std::clamp(some, kLeastSleep, kMostSleep));
}

}  // namespace

Wire::Wire(const tenon_transport& transport)
    : transport_(std::make_unique<const tenon_transport>(transport)),
      rank_(static_cast<int>(transport.rank)),
      count_(static_cast<int>(transport.count)),
      left_(transport.count),
      leaving_(transport.count),
      last_heard_(Clock::now()),
      last_beat_(last_heard_),
      last_tended_(last_heard_) {
  for (uint32_t r = 0; r < transport.count; ++r) {
    const char* const host = transport_->host(transport_->self, r);
    hosts_.emplace_back(host ? host : "?");
    one_host_ = one_host_ && hosts_.back() == hosts_.front();
  }
  listen();
}

Wire::~Wire() = default;

// What others say of their own accord is received at any time.
void Wire::listen() {
  for (int r = 0; r < count(); ++r) {
    if (r == rank()) continue;
    const Result<Request> request =
        receive(r, MessageTag::kLeave, &leaving_[static_cast<size_t>(r)], sizeof(LeaveText));
    if (request.ok()) leave_requests_.push_back(*request);
  }
}

std::string Wire::named(int rank) const { return cat("process ", rank, " on ", hosts_[static_cast<size_t>(rank)]); }

Status Wire::told(const tenon_status& status, const char* what) const {
  return Status(static_cast<Code>(status.code),
                cat(transport_->name, ": ", what, ": ", status.message ? status.message : "failed"));
}

// ---- messages ----

Result<Wire::Request> Wire::begin(bool sends, int peer, MessageTag tag, const void* data, size_t bytes) {
  if (free_.empty()) {
    free_.push_back(static_cast<Request>(done_.size()));
    done_.push_back(0);
  }
  const Request request = free_.back();
  free_.pop_back();
  done_[request] = 0;
  const auto to = static_cast<uint32_t>(peer), number = static_cast<uint32_t>(tag);
  const tenon_status status =
      sends ? transport_->send(transport_->self, to, number, data, bytes, request)
            : transport_->receive(transport_->self, to, number, const_cast<void*>(data), bytes, request);
  if (status.code != TENON_OK) return told(status, sends ? "send" : "receive");
  return request;
}

Result<Wire::Request> Wire::send(int to, MessageTag tag, const void* data, size_t bytes) {
  return begin(true, to, tag, data, bytes);
}
Result<Wire::Request> Wire::receive(int from, MessageTag tag, void* data, size_t bytes) {
  return begin(false, from, tag, data, bytes);
}

Status Wire::poll() {
  std::array<uint64_t, 64> tokens;
  uint32_t n = 0;
  do {
    const tenon_status status = transport_->poll(transport_->self, tokens.data(), tokens.size(), &n);
    if (status.code != TENON_OK) return told(status, "poll");
    for (uint32_t i = 0; i < n; ++i) done_[tokens[i]] = 1;
  } while (n == tokens.size());
  return {};
}

// Gives a complete request back.
bool Wire::finish(Request request) {
  if (!done_[request]) return false;
  done_[request] = 0;
  free_.push_back(request);
  return true;
}

Status Wire::wait(Request request) { return wait(std::span(&request, 1)); }

Status Wire::wait(std::span<const Request> requests) {
  for (const Request request : requests) {
    TENON_TRY(wait_until([&] { return done_[request] != 0; }));
    finish(request);
  }
  return {};
}

Status Wire::wait_until(const std::function<bool()>& done) {
  if (done()) return {};
  const auto begun = Clock::now();
  const auto look = one_host_ ? kLookWithin : kLookBetween;
  while (!done()) {
    waiting_ = true;
    const Status tended = tend();
    waiting_ = false;
    TENON_TRY(tended);
    if (const auto waited = last_tended_ - begun; !done() && waited > look) sleep_after(waited);
  }
  return {};
}

// ---- signs of life ----

Status Wire::tend() {
  TENON_TRY(poll());
  const auto now = Clock::now();
  if (now - last_tended_ > kOwnSleep) last_heard_ = now;
  last_tended_ = now;
  hear();
  beat();
  return check_others();
}

// Each process hears the one before it; a lost one is missed by the one behind it.
void Wire::hear() {
  const int before = (rank() + count() - 1) % count();
  if (hearing_ && finish(*hearing_)) {
    hearing_.reset();
    last_heard_ = last_tended_;
  }
  if (!hearing_)
    if (const Result<Request> request = receive(before, MessageTag::kBeat, &heard_beat_, 1); request.ok())
      hearing_ = *request;
  for (size_t i = 0; i < leave_requests_.size(); ++i) {
    const size_t r = i < static_cast<size_t>(rank()) ? i : i + 1;
    if (left_[r] || !finish(leave_requests_[i])) continue;
    LeaveText& text = leaving_[r];
    text.error[sizeof text.error - 1] = '\0';
    left_[r] = text.error;
    left_at_ = last_tended_;
  }
}

void Wire::beat() {
  if (last_tended_ - last_beat_ < kBetweenBeats) return;
  if (beating_ && !finish(*beating_)) return;
  last_beat_ = last_tended_;
  const Result<Request> request = send((rank() + 1) % count(), MessageTag::kBeat, &sent_beat_, 1);
  beating_ = request.ok() ? std::optional(*request) : std::nullopt;
}

// One of those that left, with an error whose words the others only repeat; -1: none has.
int Wire::first_to_leave() const {
  int out = -1;
  size_t least = SIZE_MAX;
  for (int r = 0; r < count(); ++r) {
    const std::optional<std::string>& left = left_[static_cast<size_t>(r)];
    const size_t words = !left ? SIZE_MAX : left->empty() ? SIZE_MAX - 1 : left->size();
    if (words < least) least = words, out = r;
  }
  return out;
}

Status Wire::check_others() const {
  if (const int r = first_to_leave(); r >= 0 && !leaving_now_ && waiting_) {
    const std::string& text = *left_[static_cast<size_t>(r)];
    // What it sent before may still be under way, and all that is waited for.
    if (last_tended_ - left_at_ >= (text.empty() ? kAfterEnd : kAfterError))
      return Status(Code::kUnavailable,
                    cat(named(r), text.empty() ? std::string(" ended while others went on") : cat(": ", text)));
  }
  const int before = (rank() + count() - 1) % count();
  if (watched_ > 0 && !left_[static_cast<size_t>(before)] && ::kill(watched_, 0) != 0 && errno == ESRCH)
    return Status(Code::kDeviceLost, cat(named(before), " is gone"));
  if (last_tended_ - last_heard_ < kSilence || left_[static_cast<size_t>(before)]) return {};
  return Status(Code::kDeviceLost, cat(named(before), " has given no sign of life for ",
                                       std::chrono::duration_cast<std::chrono::seconds>(kSilence).count(), " s"));
}

void Wire::watch(int64_t pid) {
  const int before = (rank() + count() - 1) % count();
  const bool here = hosts_[static_cast<size_t>(before)] == hosts_[static_cast<size_t>(rank())];
  watched_ = here && ::kill(static_cast<pid_t>(pid), 0) == 0 ? static_cast<pid_t>(pid) : 0;
}

// ---- the end ----

void Wire::leave(const std::string& error) {
  if (std::exchange(leaving_now_, true)) return;
  std::strncpy(own_leave_.error, error.c_str(), sizeof own_leave_.error - 1);
  for (int r = 0; r < count(); ++r)
    if (r != rank()) (void)send(r, MessageTag::kLeave, &own_leave_, sizeof own_leave_).ok();
}

bool Wire::meet_leaving(milliseconds most) {
  const auto end = Clock::now() + most;
  const auto has_left = [](const auto& left) { return left.has_value(); };
  while (Clock::now() < end && tend().ok()) {
    if (std::count_if(left_.begin(), left_.end(), has_left) + 1 == count()) return true;
    std::this_thread::sleep_for(microseconds(200));
  }
  return false;
}

void Wire::abort(int code) const {
  transport_->abort(transport_->self, code);
  std::_Exit(code);
}

void Wire::close() { transport_->close(transport_->self); }

}  // namespace tenon
