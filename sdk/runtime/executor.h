// Runs a plan: iterations, feeds, scalars, the gang.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan/planner.h"
#include "runtime/trace.h"

namespace tenon::plugin {

// Memory of the device as the executor sees it.
struct HostBuffer {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  bool wrapped = false;  // borrowed from the caller
  Memory* memory = nullptr;
};

class Executor {
 public:
  Executor(Plan plan, const tenon_host* host, ArenaPool& arenas);

  const Plan& plan() const { return plan_; }
  // Runs tell `tracer` when each step ran, while it is active. Before the first run.
  void trace(const Tracer& tracer, std::unique_ptr<StepEvents> events) {
    tracer_ = &tracer;
    events_ = std::move(events);
  }

  // Waits for a point that a feed gave; what it returns as run does.
  using PointWaiter = const char* (*)(const tenon_point& point);

  // What is wrong with the arguments, before anything is done; a text that lives for ever, or nullptr.
  const char* check(const tenon_run& run) const;
  // Runs as tenon_run says. REQUIRED: check() found nothing. Returns an error text that lives for ever, or
  // nullptr; *done iterations came before the error. Runs of one executor are serialised.
  const char* run(const tenon_run& run, PointWaiter wait, uint32_t* done);

 private:
  struct Shared;  // what the threads of one gang share
  static void gang_entry(void* arg, uint32_t index, uint32_t count);
  template <bool traced>
  void walk(uint32_t index, uint32_t count);
  void begin_iteration(uint64_t i);
  bool end_iteration();
  void bind(const tenon_run& run);
  const char* run_fed(const tenon_run& run, PointWaiter wait);
  const char* bind_batch();
  uint32_t run_iterations(uint64_t first, uint32_t n);

  Plan plan_;
  const tenon_host* host_;
  ArenaPool& arenas_;
  std::mutex mutex_;
  std::vector<uint8_t*> bases_;
  std::vector<tenon_buffer*> fed_;
  Barrier steps_barrier_, kernel_barrier_;
  const tenon_run* current_ = nullptr;
  uint32_t completed_ = 0;
  const Tracer* tracer_ = nullptr;
  std::unique_ptr<StepEvents> events_;
  bool traced_ = false;  // the present run
};

}  // namespace tenon::plugin
