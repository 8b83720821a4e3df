#include "runtime/host/gang_executor.h"

#include "runtime/handles.h"
#include "runtime/host/host_stream.h"
#include "tenon/plugin/element.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::plugin {
namespace {

// Subnormals flush to zero inside a step (they cost a hundred times as much); the caller's mode is
// put back.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

// What a worker needs of a run after the call that submitted it has returned.
struct OwnedRun {
  OwnedRun(const tenon_run& run, const Plan& plan)
      : args(run),
        inputs(run.inputs, run.inputs + plan.n_buffers),
        results(run.results, run.results + plan.n_results),
        scalars(run.scalars, run.scalars + plan.scalars.size() * run.iterations) {
    args.inputs = inputs.data();
    args.results = results.data();
    args.scalars = scalars.data();
  }
  tenon_run args;
  std::vector<tenon_buffer*> inputs, results;
  std::vector<tenon_scalar> scalars;
};

// A batch that was taken, and is given back at the end of its iteration.
class Batch {
 public:
  Batch(const tenon_feed& feed, uint64_t i) : feed_(feed), i_(i) {}
  ~Batch() { feed_.release(feed_.ctx, i_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

 private:
  const tenon_feed& feed_;
  uint64_t i_;
};

}  // namespace

struct GangExecutor::Shared {
  GangExecutor* self;
  uint64_t first;
  uint32_t n;
  bool stop = false;
};

GangExecutor::GangExecutor(Plan plan, const tenon_host& host, ArenaPool& pool)
    : Executor(std::move(plan), true), host_(host), pool_(pool) {
  fed_.resize(plan_.feeds.size() + 1);
  set_base(kBaseConstants, plan_.constants.data(), 0);
}

void GangExecutor::begin(uint64_t i) {
  begin_iteration(*current_, i, [&](const ScalarSlot& slot, tenon_scalar scalar) {
    put_scalar(scalar, slot.dtype, bases_[slot.place.base] + slot.place.offset);
  });
}

bool GangExecutor::end() {
  ++*completed_;
  if (traced_) tracer_->emit(events_->events());
  return plan_.until < 0 || *bases_[kBaseFirstInput + plan_.n_buffers + plan_.until] == 0;
}

void GangExecutor::gang_entry(void* arg, uint32_t index, uint32_t count) {
  auto& shared = *static_cast<Shared*>(arg);
  const FlushSubnormals flush;
  GangExecutor& self = *shared.self;
  for (uint32_t i = 0; i < shared.n; ++i) {
    if (index == 0) self.begin(shared.first + i);
    self.steps_barrier_.arrive_and_wait(count);
    if (self.traced_)
      self.walk<true>(index, count);
    else
      self.walk<false>(index, count);
    self.steps_barrier_.arrive_and_wait(count);
    if (index == 0) shared.stop = !self.end();
    if (shared.n > 1 || count > 1) self.steps_barrier_.arrive_and_wait(count);
    if (shared.stop) return;
  }
}

template <bool traced>
void GangExecutor::walk(uint32_t index, uint32_t count) {
  uint8_t* arena = bases_[kBaseArena];
  Call call;
  call.index = index;
  call.thread_scratch = arena + plan_.thread_scratch + index * plan_.thread_scratch_bytes;
  call.bases_ = bases_.data();
  call.barrier_ = &kernel_barrier_;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.barrier) steps_barrier_.arrive_and_wait(count);
    const bool serial = step.kernel.threads <= 1;
    if (serial && index != 0) continue;
    call.count = serial ? 1 : count;
    call.scratch = arena + step.scratch.offset;
    call.operands_ = step.operands.data();
    call.results_ = step.results.data();
    if constexpr (traced) {
      const uint64_t start = now_ps();
      step.kernel.run(call);
      events_->set(i, index, start, now_ps());
    } else {
      step.kernel.run(call);
    }
  }
}

// Whether the run goes on.
bool GangExecutor::run_iterations(uint64_t first, uint32_t n) {
  Shared shared{this, first, n};
  if (plan_.threads > 1 && host_.gang)
    host_.gang(host_.ctx, plan_.threads, gang_entry, &shared);
  else
    gang_entry(&shared, 0, 1);
  return !shared.stop;
}

// With a feed, each iteration waits for its batch on the calling thread, and the other threads are
// free to prepare the next ones.
void GangExecutor::run_fed(const tenon_run& run) {
  const tenon_feed& feed = *run.feed;
  for (uint32_t i = 0; i < run.iterations; ++i) {
    tenon_point after{nullptr, 0};
    std::fill(fed_.begin(), fed_.end(), nullptr);
    if (!feed.next(feed.ctx, i, fed_.data(), &after)) return;
    const Batch batch(feed, i);
    check_batch(fed_.data());
    bind_batch(fed_.data());
    if (after.queue) as_queue(after.queue)->wait(after.ticket, UINT64_MAX);
    if (!run_iterations(i, 1)) return;
  }
}

void GangExecutor::run_now(const tenon_run& run, uint32_t* done) {
  const std::lock_guard lock(mutex_);
  const Workspace workspace(pool_, plan_.arena_parts, nullptr, arenas_);
  bind_arena();
  bind(run);
  current_ = &run;
  completed_ = done;
  traced_ = traced();
  try {
    if (run.feed)
      run_fed(run);
    else
      run_iterations(0, run.iterations);
  } catch (Error& e) {
    e.iteration = *done;
    throw;
  }
}

void GangExecutor::run(const tenon_run& run, Queue& queue, uint32_t* done) {
  auto& stream = static_cast<HostStream&>(queue.work());
  if (stream.is_inline()) return run_now(run, done);
  // Batches are pulled on this thread, and a result that may end the run tells `done` behind it alone.
  if (run.feed || plan_.until >= 0) {
    stream.submit()->reached(UINT64_MAX);
    return run_now(run, done);
  }
  stream.enqueue([this, owned = std::make_shared<OwnedRun>(run, plan_)] {
    uint32_t completed = 0;
    run_now(owned->args, &completed);
  });
  *done = run.iterations;
}

}  // namespace tenon::plugin
