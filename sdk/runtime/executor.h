// Runs a plan: checks the arguments of a run and binds them; GangExecutor and StreamExecutor do the work.
#pragma once

#include <memory>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/queue.h"
#include "runtime/trace.h"

namespace tenon::plugin {

class Executor {
 public:
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Plan& plan() const { return plan_; }
  // Runs tell `tracer` when each step ran, while it is active. Before the first run.
  void trace(const Tracer& tracer, std::unique_ptr<StepEvents> events) {
    tracer_ = &tracer;
    events_ = std::move(events);
  }

  // Throws INVALID where the arguments are wrong, before anything is done.
  void check(const tenon_run& run) const;
  // Runs as tenon_run says, or has that done behind what the queue has begun. REQUIRED: check() found nothing. Throws
  // what went wrong on the way, after *done iterations. Runs of one executor are serialised.
  virtual void run(const tenon_run& run, Queue& queue, uint32_t* done) = 0;

 protected:
  // The offset is added to the base where bases are pointers, and else kept beside it.
  Executor(Plan plan, bool bases_are_pointers);
  void set_base(int32_t base, void* memory, uint64_t offset);
  void bind_arena();  // arenas_, which a Workspace has filled
  bool is_fed(const tenon_run& run, int32_t i) const { return run.feed && plan_.is_feed[i]; }
  // Inputs and results, but what a feed gives.
  void bind(const tenon_run& run);
  // A batch. Throws INVALID, before anything is bound.
  void check_batch(tenon_buffer* const* fed) const;
  void bind_batch(tenon_buffer* const* fed);
  // This iteration's rows and scalars: set(slot, scalar).
  template <class Set>
  void begin_iteration(const tenon_run& run, uint64_t i, Set set);
  bool traced() const { return events_ && tracer_->active(); }

  Plan plan_;
  std::vector<uint8_t*> bases_;
  std::vector<uint64_t> base_offsets_;
  std::vector<ArenaPool::Arena> arenas_;  // of this run
  const Tracer* tracer_ = nullptr;
  std::unique_ptr<StepEvents> events_;

 private:
  int32_t result_base(int32_t r) const { return kBaseFirstInput + plan_.n_buffers + r; }
  void bind_row(const tenon_run& run, int32_t r, uint64_t offset);

  const bool bases_are_pointers_;
};

template <class Set>
void Executor::begin_iteration(const tenon_run& run, uint64_t i, Set set) {
  const size_t n = plan_.scalars.size();
  for (size_t k = 0; k < n; ++k) set(plan_.scalars[k], run.scalars[i * n + k]);
  for (int32_t r = 0; r < plan_.n_results; ++r)
    if (plan_.result_mode[r] == TENON_MODE_EACH) bind_row(run, r, i * plan_.result_bytes[r]);
}

}  // namespace tenon::plugin
