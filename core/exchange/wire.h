// Messages on their way between the processes of a job, and the signs that these are alive. For one thread, which owns the
// transport.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/status.h"

struct tenon_status;
struct tenon_transport;

namespace tenon {

// What a message is for; messages of one tag between two processes keep their order.
enum class MessageTag : uint32_t { kBeat = 1, kLeave = 2, kPart = 3, kResult = 4, kGather = 5, kBroadcast = 6 };

// How a process that ends before its time says why.
struct LeaveText {
  char error[1000];
};

class Wire {
 public:
  // Beats begin at once.
  explicit Wire(const tenon_transport& transport);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }
  const std::vector<std::string>& hosts() const { return hosts_; }
  bool is_on_one_host() const { return one_host_; }

  using Request = uint32_t;
  Result<Request> send(int to, MessageTag tag, const void* data, size_t bytes);
  Result<Request> receive(int from, MessageTag tag, void* data, size_t bytes);
  // Waits until they are complete. An error where a process has left, or gives no sign of life: then it is named.
  Status wait(Request request);
  Status wait(std::span<const Request> requests);
  // The same for what another process does without a message.
  Status wait_until(const std::function<bool()>& done);

  // The number of the process before this one, which is missed at once where it is on this machine.
  void watch(int64_t pid);
  // Moves messages on and looks after the others; to be called again within some tenths of a second.
  Status tend();

  // Says to all others that this process ends; "": in order.
  void leave(const std::string& error);
  // Until all others have left too, at most so long. Whether they have.
  bool meet_leaving(std::chrono::milliseconds most);
  // What process 0 said when it left; nothing so far.
  const std::optional<std::string>& first_left() const { return left_[0]; }

  [[noreturn]] void abort(int code) const;
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  Result<Request> begin(bool sends, int peer, MessageTag tag, const void* data, size_t bytes);
  Status poll();
  void listen();
  void hear();
  void beat();
  int first_to_leave() const;
  Status check_others() const;
  Status told(const tenon_status& status, const char* what) const;
  bool finish(Request request);
  std::string named(int rank) const;

  const std::unique_ptr<const tenon_transport> transport_;
  const int rank_, count_;
  std::vector<std::string> hosts_;
  bool one_host_ = true;
  std::vector<uint8_t> done_;                     // of each request
  std::vector<Request> free_;                     // requests that are complete and were waited for
  std::vector<std::optional<std::string>> left_;  // of each process, what it said
  std::vector<LeaveText> leaving_;
  std::vector<Request> leave_requests_;  // of each other process
  LeaveText own_leave_ = {};
  uint8_t heard_beat_ = 0, sent_beat_ = 0;
  std::optional<Request> hearing_, beating_;
  Clock::time_point last_heard_, last_beat_, last_tended_;
  Clock::time_point left_at_;  // when a process was heard to leave last
  bool leaving_now_ = false, waiting_ = false;
  pid_t watched_ = 0;
};

}  // namespace tenon
