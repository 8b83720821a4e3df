#include "runtime/executor.h"

#include <cstring>

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

}  // namespace

struct Executor::Shared {
  Executor* self;
  uint64_t first;
  uint32_t n;
  bool stop = false;
};

Executor::Executor(Plan plan, const tenon_host* host, ArenaPool& arenas)
    : plan_(std::move(plan)), host_(host), arenas_(arenas) {
  const auto bases = kBaseFirstInput + plan_.n_buffers + plan_.n_results;
  bases_.resize(static_cast<size_t>(bases));
  fed_.resize(plan_.feeds.size() + 1);
  bases_[kBaseConstants] = plan_.constants.data();
}

const char* Executor::check(const tenon_run& run) const {
  if (!plan_.scalars.empty() && !run.scalars) return "run: the program takes scalars and there are none";
  if ((plan_.n_buffers && !run.inputs) || (plan_.n_results && !run.results)) return "run: inputs or results are NULL";
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    const auto* b = reinterpret_cast<const HostBuffer*>(run.inputs[i]);
    if (!b && !(run.feed && plan_.is_feed[i])) return "run: an input buffer is NULL";
    if (b && b->bytes < plan_.input_bytes[i]) return "run: an input buffer is smaller than the program's input";
  }
  for (int32_t r = 0; r < plan_.n_results; ++r) {
    const auto* b = reinterpret_cast<const HostBuffer*>(run.results[r]);
    if (!b) return "run: a result buffer is NULL";
    const int32_t alias = plan_.result_alias[r];
    if (alias >= 0 && run.inputs[alias] != run.results[r]) return "run: an aliased result is not its input's buffer";
    const uint64_t rows = plan_.result_mode[r] == TENON_MODE_EACH ? run.iterations : 1;
    if (b->bytes < plan_.result_bytes[r] * rows) return "run: a result buffer is smaller than the program's result";
  }
  return nullptr;
}

void Executor::bind(const tenon_run& run) {
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    const auto* b = reinterpret_cast<const HostBuffer*>(run.inputs[i]);
    bases_[kBaseFirstInput + i] = b ? b->data : nullptr;
  }
  for (int32_t r = 0; r < plan_.n_results; ++r)
    bases_[kBaseFirstInput + plan_.n_buffers + r] = reinterpret_cast<const HostBuffer*>(run.results[r])->data;
}

void Executor::begin_iteration(uint64_t i) {
  const size_t n = plan_.scalars.size();
  for (size_t k = 0; k < n; ++k) {
    const ScalarSlot& slot = plan_.scalars[k];
    put_scalar(current_->scalars[i * n + k], slot.dtype, bases_[slot.place.base] + slot.place.offset);
  }
  for (int32_t r = 0; r < plan_.n_results; ++r)
    if (plan_.result_mode[r] == TENON_MODE_EACH)
      bases_[kBaseFirstInput + plan_.n_buffers + r] =
          reinterpret_cast<const HostBuffer*>(current_->results[r])->data + i * plan_.result_bytes[r];
}

bool Executor::end_iteration() {
  ++completed_;
  if (traced_) tracer_->emit(events_->events());
  return plan_.until < 0 || *bases_[kBaseFirstInput + plan_.n_buffers + plan_.until] == 0;
}

void Executor::gang_entry(void* arg, uint32_t index, uint32_t count) {
  auto& shared = *static_cast<Shared*>(arg);
  const FlushSubnormals flush;
  Executor& self = *shared.self;
  for (uint32_t i = 0; i < shared.n; ++i) {
    if (index == 0) self.begin_iteration(shared.first + i);
    self.steps_barrier_.arrive_and_wait(count);
    if (self.traced_)
      self.walk<true>(index, count);
    else
      self.walk<false>(index, count);
    self.steps_barrier_.arrive_and_wait(count);
    if (index == 0) shared.stop = !self.end_iteration();
    if (shared.n > 1 || count > 1) self.steps_barrier_.arrive_and_wait(count);
    if (shared.stop) return;
  }
}

template <bool traced>
void Executor::walk(uint32_t index, uint32_t count) {
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
    call.scratch = arena + step.scratch;
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

uint32_t Executor::run_iterations(uint64_t first, uint32_t n) {
  Shared shared{this, first, n};
  const uint32_t before = completed_;
  if (plan_.threads > 1 && host_ && host_->gang)
    host_->gang(host_->ctx, plan_.threads, gang_entry, &shared);
  else
    gang_entry(&shared, 0, 1);
  return shared.stop ? 0 : completed_ - before;
}

const char* Executor::bind_batch() {
  for (size_t f = 0; f < plan_.feeds.size(); ++f) {
    const auto* b = reinterpret_cast<const HostBuffer*>(fed_[f]);
    if (!b || b->bytes < plan_.input_bytes[plan_.feeds[f]]) return "run: a fed buffer is missing or too small";
    bases_[kBaseFirstInput + plan_.feeds[f]] = b->data;
  }
  return nullptr;
}

// With a feed, each iteration waits for its batch on the calling thread, and the other threads are
// free to prepare the next ones.
const char* Executor::run_fed(const tenon_run& run, PointWaiter wait) {
  const tenon_feed& feed = *run.feed;
  for (uint32_t i = 0; i < run.iterations; ++i) {
    tenon_point after{nullptr, 0};
    if (!feed.next(feed.ctx, i, fed_.data(), &after)) break;
    const char* error = bind_batch();
    if (!error && after.queue) error = wait(after);
    const bool go_on = !error && run_iterations(i, 1) > 0;
    feed.release(feed.ctx, i);
    if (error) return error;
    if (!go_on) break;
  }
  return nullptr;
}

const char* Executor::run(const tenon_run& run, PointWaiter wait, uint32_t* done) {
  std::lock_guard lock(mutex_);
  *done = 0;
  completed_ = 0;
  bind(run);
  const ArenaPool::Arena arena = arenas_.lease(plan_.arena_bytes);
  if (!arena.data) return "run: out of memory for the workspace";
  bases_[kBaseArena] = arena.data;
  current_ = &run;
  traced_ = events_ && tracer_->active();
  const char* error = nullptr;
  if (run.feed)
    error = run_fed(run, wait);
  else
    run_iterations(0, run.iterations);
  *done = completed_;
  arenas_.give_back(arena);
  return error;
}

}  // namespace tenon::plugin
