// Queues of a host backend: work in order, tickets, waits for other queues, failures that stick.
//
// An inline queue does its work on the submitting thread. A worker queue has a thread of its own; it ends when
// the queue is destroyed, after the work that was submitted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tenon/abi/plugin.h"

namespace tenon::plugin {

// What became of a piece of work: a text that lives for ever, or nullptr for success.
struct Outcome {
  int32_t code = TENON_OK;
  const char* text = nullptr;
  bool ok() const { return code == TENON_OK; }
};

class HostQueue {
 public:
  using Work = std::function<Outcome()>;

  explicit HostQueue(bool worker);  // throws Error where there is no thread to be had
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  bool is_inline() const { return !thread_.joinable(); }

  // The first cause of this queue's failure or of one of the points' queues; of an inline queue also waits for the
  // points, so that work may begin.
  Outcome begin(const tenon_point* after, uint32_t n_after);
  // Inline: the work is done; its ticket. A failure sticks.
  uint64_t finish(Outcome outcome);
  // Worker: does `work` after all that was submitted before and after the points.
  uint64_t submit(const tenon_point* after, uint32_t n_after, Work work);
  // Until all that was submitted is done.
  void drain();

  enum class Wait { kDone, kTimeout, kNoSuchTicket };
  Wait wait(uint64_t ticket, uint64_t timeout_ns);
  Outcome failure();

 private:
  struct State;  // shared with the queues that wait for this one
  struct Item;
  static Outcome wait_for(const std::shared_ptr<State>& state, uint64_t ticket);
  static std::shared_ptr<State> state_of(const tenon_point& point);
  void loop();

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace tenon::plugin
