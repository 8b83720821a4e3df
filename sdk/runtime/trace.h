// Events for a host that traces the device: when each step of a program ran on each thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/prepared_graph.h"

namespace tenon::plugin {

// The host's sink, while there is one. Thread safe.
class Tracer {
 public:
  // nullptr ends: after it has returned nothing is emitted.
  void set(const tenon_sink* sink);
  bool active() const { return active_.load(std::memory_order_acquire); }
  void emit(const std::vector<tenon_event>& events) const;

 private:
  mutable std::mutex mutex_;
  const tenon_sink* sink_ = nullptr;
  std::atomic<bool> active_{false};
};

// One event for each step and each thread that has a part in it, in the order of the steps, made when a program is
// compiled: while it runs the times alone are written. A node's cost is in its first thread's event; of a backend's own
// node the arithmetic is that of all nodes that it does.
class StepEvents {
 public:
  StepEvents(const PreparedGraph& graph, const Plan& plan, tenon_program* program);
  // Thread `lane` worked on step `step` from start to end.
  void set(size_t step, uint32_t lane, uint64_t start_ps, uint64_t end_ps) {
    tenon_event& event = events_[first_[step] + lane];
    event.start_ps = start_ps;
    event.duration_ps = end_ps - start_ps;
  }
  const std::vector<tenon_event>& events() const { return events_; }

 private:
  std::vector<std::string> names_;
  std::vector<size_t> first_;  // of each step
  std::vector<tenon_event> events_;
};

// The time of a clock that never goes back.
uint64_t now_ps();

}  // namespace tenon::plugin
