// Queues of a backend in ordinary memory, and what is submitted to them.
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/host/host_handles.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin::host_entries {

tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out) {
  return guarded([&] {
    check_flags(flags, 0, "queue_create");
    auto queue = std::make_unique<HostQueue>(as_device(device)->backend->config->worker_queues);
    *out = reinterpret_cast<tenon_queue*>(queue.release());
  });
}

void queue_destroy(tenon_queue* queue) { delete as_queue(queue); }

namespace {

// What sticks to a queue is the answer to whoever submits to it or waits for it.
void check_outcome(const Outcome& outcome) {
  if (!outcome.ok()) throw Error(static_cast<tenon_code>(outcome.code), outcome.text);
}

bool in_range(const HostBuffer& buffer, uint64_t offset, uint64_t bytes) {
  return offset <= buffer.bytes && bytes <= buffer.bytes - offset;
}

void check_copy(const tenon_copy& c) {
  if (!c.dst == !c.dst_host || !c.src == !c.src_host)
    throw Error(TENON_INVALID, "copy: needs one source and one destination");
  if (c.dst && !in_range(*as_buffer(c.dst), c.dst_offset, c.bytes))
    throw Error(TENON_INVALID, "copy: past the end of the destination");
  if (c.src && !in_range(*as_buffer(c.src), c.src_offset, c.bytes))
    throw Error(TENON_INVALID, "copy: past the end of the source");
}

void do_copy(const tenon_copy& c) {
  uint8_t* dst = (c.dst ? as_buffer(c.dst)->data : static_cast<uint8_t*>(c.dst_host)) + c.dst_offset;
  const uint8_t* src = (c.src ? as_buffer(c.src)->data : static_cast<const uint8_t*>(c.src_host)) + c.src_offset;
  std::memmove(dst, src, c.bytes);
}

// What a worker needs of a run after the call that submitted it has returned.
struct OwnedRun {
  explicit OwnedRun(const tenon_run& run) : args(run) {
    const Plan& plan = as_program(run.program)->executor.plan();
    inputs.assign(run.inputs, run.inputs + plan.n_buffers);
    results.assign(run.results, run.results + plan.n_results);
    scalars.assign(run.scalars, run.scalars + plan.scalars.size() * run.iterations);
  }
  tenon_run bound() {
    args.inputs = inputs.data();
    args.results = results.data();
    args.scalars = scalars.data();
    return args;
  }
  tenon_run args;
  std::vector<tenon_buffer*> inputs, results;
  std::vector<tenon_scalar> scalars;
};

const char* wait_for_point(const tenon_point& point) {
  HostQueue& queue = *as_queue(point.queue);
  queue.wait(point.ticket, UINT64_MAX);
  return queue.failure().text;
}

Outcome execute(const tenon_run& run, uint32_t* done) {
  const char* text = as_program(run.program)->executor.run(run, wait_for_point, done);
  if (!text) return {};
  return {std::strstr(text, "out of memory") ? TENON_OUT_OF_MEMORY : TENON_INVALID, text};
}

// On the caller's thread: what an inline queue does always, and a worker queue where batches are pulled.
void run_here(HostQueue& queue, const tenon_run& run, uint64_t* ticket, uint32_t* done) {
  uint32_t completed = 0;
  const Outcome outcome = execute(run, &completed);
  if (done) *done = completed;
  if (completed == 0) check_outcome(outcome);
  *ticket = queue.finish(outcome);
}

void run_fed(HostQueue& queue, const tenon_run& run, uint64_t* ticket, uint32_t* done) {
  queue.drain();
  for (uint32_t i = 0; i < run.n_after; ++i)
    if (run.after[i].queue) wait_for_point(run.after[i]);
  check_outcome(queue.begin(run.after, run.n_after));
  run_here(queue, run, ticket, done);
}

void check_run(const tenon_run& run) {
  if (!run.program || run.iterations == 0) throw Error(TENON_INVALID, "run: needs a program and one iteration or more");
  const Program& program = *as_program(run.program);
  if (run.iterations > program.max_iterations)
    throw Error(TENON_INVALID, "run: more iterations than the program was compiled for");
  if (const char* text = program.executor.check(run)) throw Error(TENON_INVALID, text);
}

}  // namespace

tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  return guarded([&] {
    HostQueue& queue = *as_queue(handle);
    const tenon_copy c = known(given);
    check_flags(c.flags, 0, "copy");
    check_outcome(queue.begin(c.after, c.n_after));
    check_copy(c);
    if (queue.is_inline()) {
      do_copy(c);
      *ticket = queue.finish({});
    } else {
      *ticket = queue.submit(c.after, c.n_after, [c] { return do_copy(c), Outcome{}; });
    }
  });
}

tenon_status run(tenon_queue* handle, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  return guarded([&] {
    HostQueue& queue = *as_queue(handle);
    const tenon_run run = known(given);
    if (done) *done = 0;
    check_flags(run.flags, 0, "run");
    if (run.feed) check_flags(run.feed->flags, 0, "run: the feed");
    check_outcome(queue.begin(run.after, run.n_after));
    check_run(run);
    if (queue.is_inline()) return run_here(queue, run, ticket, done);
    if (run.feed) return run_fed(queue, run, ticket, done);
    auto owned = std::make_shared<OwnedRun>(run);
    *ticket = queue.submit(run.after, run.n_after, [owned] {
      uint32_t completed = 0;
      return execute(owned->bound(), &completed);
    });
    if (done) *done = run.iterations;
  });
}

tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  return guarded([&] {
    HostQueue& queue = *as_queue(handle);
    const HostQueue::Wait result = queue.wait(ticket, timeout_ns);
    if (result == HostQueue::Wait::kNoSuchTicket) throw Error(TENON_INVALID, "wait: the queue has no such ticket yet");
    if (result == HostQueue::Wait::kTimeout) throw Error(TENON_TIMEOUT, "wait: the work is not done within the time");
    check_outcome(queue.failure());
  });
}

}  // namespace tenon::plugin::host_entries
