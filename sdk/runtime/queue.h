// Queues: tickets over the marks of a stream, and failures that stick.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "tenon/plugin/device_driver.h"

namespace tenon::plugin {

struct Device;

// A device that was lost answers everything with what it was lost by. Thread safe.
class DeviceHealth {
 public:
  void lost(const Error& e);
  // Throws DEVICE_LOST if it is.
  void check() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> lost_;
  std::atomic<bool> is_lost_{false};
};

// One thread at a time submits; any thread may wait, and wait for it.
class Queue {
 public:
  explicit Queue(Device& of);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Before something is enqueued: throws the first cause of this queue's failure, or of one that is waited for; work
  // that follows comes after the points.
  void begin(const tenon_point* after, uint32_t n_after);
  // After it: its ticket. Waits where too much is under way. `program`: what was run, if anything.
  uint64_t finish(tenon_program* program = nullptr);
  // As finish, of work that failed on the way.
  uint64_t finish(const Error& failure, tenon_program* program = nullptr);
  // Whether the ticket's work is done within the time. Throws what it, or something before it, failed with.
  bool wait(uint64_t ticket, uint64_t timeout_ns);
  // What is reached when the ticket's work is done; nullptr: it is known to be.
  std::shared_ptr<DeviceMark> mark_of(uint64_t ticket);
  // What sticks to it, as error_info tells it. The text lives as long as the queue.
  void tell_failure(tenon_error* out);
  // Until nothing is under way.
  void drain();

  DeviceStream& work() { return *work_; }
  DeviceStream& transfers() {
    return *transfers_;
  }  // batches, ahead of the work that reads them; in no ordinary memory

  Device& device;

 private:
  struct Pending {
    uint64_t ticket;
    std::shared_ptr<DeviceMark> mark;
    tenon_program* program;
  };
  struct Failure {
    Error error;
    uint64_t ticket;
    tenon_program* program;
  };
  void check();  // throws what the queue, or the device, failed with
  // These two under the mutex.
  void throw_first_failure() const;
  std::shared_ptr<DeviceMark> pending_mark(uint64_t ticket) const;
  void fail(const Error& e, uint64_t ticket, tenon_program* program);  // it sticks, unless another did
  void fail_pending(const Error& e);                                   // as the first that is under way fails
  // mark.reached(), and what it throws sticks.
  bool reached(DeviceMark& mark, uint64_t timeout_ns);
  void forget_finished();

  std::unique_ptr<DeviceStream> work_, transfers_;
  std::mutex mutex_;  // of what follows
  std::deque<Pending> pending_;
  uint64_t tickets_ = 0;
  std::optional<Failure> failure_;
};

inline Queue* as_queue(tenon_queue* q) { return reinterpret_cast<Queue*>(q); }

}  // namespace tenon::plugin
