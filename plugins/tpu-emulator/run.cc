// Memory, queues and runs: those of the backend below, one copy for all cores. A device's SPLIT buffers are whole there.
#include <chrono>

#include "handles.h"

namespace tpu {
namespace {

using namespace tenon::plugin;

tenon_buffer* below(tenon_buffer* buffer) { return buffer ? as(buffer)->handle : nullptr; }

void translate(const tenon_point* points, uint32_t n, std::vector<tenon_point>& out) {
  out.assign(points, points + n);
  for (tenon_point& p : out) p.queue = p.queue ? as(p.queue)->handle : nullptr;
}

// The infeed: batches of the core's on their way to the backend below.
struct Infeed {
  const tenon_feed* outer;
  uint32_t n;

  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    const Infeed& self = *static_cast<Infeed*>(ctx);
    const int32_t more = self.outer->next(self.outer->ctx, i, feeds, after);
    if (!more) return more;
    for (uint32_t k = 0; k < self.n; ++k) feeds[k] = below(feeds[k]);
    if (after->queue) after->queue = as(after->queue)->handle;
    return more;
  }
  static void release(void* ctx, uint64_t i) {
    const Infeed& self = *static_cast<Infeed*>(ctx);
    self.outer->release(self.outer->ctx, i);
  }
};

// The predicted times of `iterations` steps on every core, one after the other.
void emit_trace(Program& program, uint32_t iterations) {
  Device& device = *program.device;
  const std::lock_guard lock(device.trace_mutex);
  if (!device.sink.emit) return;
  const auto step_ps = static_cast<uint64_t>(program.forecast.step_s * 1e12);
  std::vector<tenon_event> events;
  for (uint32_t i = 0; i < iterations; ++i)
    for (uint32_t unit = 0; unit < device.units; ++unit)
      for (size_t k = 0; k < program.kernels.size(); ++k) {
        const tenon_forecast_kernel& kernel = program.kernels[k];
        events.push_back({reinterpret_cast<tenon_program*>(&program), program.names[k].c_str(), kernel.node, unit, 0, 0,
                          device.trace_ps + i * step_ps + kernel.start_ps, kernel.duration_ps, kernel.flops,
                          kernel.bytes});
      }
  device.trace_ps += iterations * step_ps;
  if (!events.empty())
    device.sink.emit(device.sink.ctx, events.data(), static_cast<uint32_t>(events.size()), sizeof(tenon_event));
}

}  // namespace

tenon_status buffer_alloc(tenon_device* handle, const tenon_desc* given, tenon_buffer** out, void** host) {
  return entry([&] {
    Device& device = *as(handle);
    tenon_desc desc = known(given);
    desc.struct_size = sizeof desc;
    const uint64_t parts = desc.placement == TENON_SPLIT ? device.units : 1;
    if (const uint64_t bytes = dense_bytes(desc) / parts; bytes > device.machine.usable_bytes())
      throw Error(TENON_OUT_OF_MEMORY, "buffer_alloc: " + std::to_string(bytes) + " bytes, but a core of a " +
                                           device.machine.name + " has " +
                                           std::to_string(device.machine.usable_bytes()));
    if (desc.placement == TENON_SPLIT) {
      if (device.units > 1 && (desc.rank == 0 || desc.dims[0] % device.units))
        throw Error(TENON_INVALID, "buffer_alloc: axis 0 of a SPLIT buffer has " +
                                       std::to_string(desc.rank ? desc.dims[0] : 0) + " rows, expected a multiple of " +
                                       std::to_string(device.units));
      desc.placement = TENON_REPLICATED;
    }
    auto buffer = std::make_unique<Buffer>();
    buffer->inner = device.inner;
    check(device.inner->buffer_alloc(device.handle, &desc, &buffer->handle, host));
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
  });
}

void buffer_free(tenon_buffer* handle) {
  Buffer* buffer = as(handle);
  if (!buffer) return;
  buffer->inner->buffer_free(buffer->handle);
  delete buffer;
}

tenon_status queue_create(tenon_device* handle, uint64_t flags, tenon_queue** out) {
  return entry([&] {
    Device& device = *as(handle);
    auto queue = std::make_unique<Queue>();
    queue->device = &device;
    check(device.inner->queue_create(device.handle, flags, &queue->handle));
    *out = reinterpret_cast<tenon_queue*>(queue.release());
  });
}

void queue_destroy(tenon_queue* handle) {
  Queue* queue = as(handle);
  if (!queue) return;
  queue->device->inner->queue_destroy(queue->handle);
  delete queue;
}

tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  return entry([&] {
    Queue& queue = *as(handle);
    tenon_copy c = known(given);
    c.struct_size = sizeof c;
    translate(c.after, c.n_after, queue.after);
    c.after = queue.after.data();
    c.dst = below(c.dst);
    c.src = below(c.src);
    check(queue.device->inner->copy(queue.handle, &c, ticket));
  });
}

tenon_status run(tenon_queue* handle, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  return entry([&] {
    Queue& queue = *as(handle);
    Device& device = *queue.device;
    tenon_run run = known(given);
    run.struct_size = sizeof run;
    if (done) *done = 0;
    if (!run.program) throw Error(TENON_INVALID, "run: needs a program");
    Program& program = *as(run.program);
    if (!program.handle) throw Error(TENON_INVALID, "run: the program was compiled for its forecast alone");
    const auto lower = [](tenon_buffer* const* from, uint32_t n, std::vector<tenon_buffer*>& to) {
      to.assign(n, nullptr);
      for (uint32_t i = 0; from && i < n; ++i) to[i] = below(from[i]);
    };
    lower(run.inputs, program.n_buffers, queue.inputs);
    lower(run.results, program.n_results, queue.results);
    translate(run.after, run.n_after, queue.after);
    run.program = program.handle;
    run.inputs = queue.inputs.data();
    run.results = queue.results.data();
    run.after = queue.after.data();
    Infeed infeed{run.feed, program.n_feeds};
    tenon_feed feed{sizeof feed, run.feed ? known(run.feed).flags : 0, &infeed, Infeed::next, Infeed::release};
    if (run.feed) {
      run.feed = &feed;
      device.log.begin_call(run.iterations);
    }
    queue.last = given->program;
    queue.last_below = program.handle;
    const auto begun = std::chrono::steady_clock::now();
    uint32_t completed = 0;
    check(device.inner->run(queue.handle, &run, ticket, &completed));
    if (done) *done = completed;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    if (run.feed) device.log.end_call(program.number, completed, program.forecast.step_s, taken.count());
    if (program.traced) emit_trace(program, completed);
  });
}

tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  Queue& queue = *as(handle);
  return queue.device->inner->wait(queue.handle, ticket, timeout_ns);
}

// Nodes of the backend below are those of the graph that was written out for it.
tenon_status error_info(tenon_queue* handle, tenon_error* out) {
  return entry([&] {
    const Queue& queue = *as(handle);
    if (!queue.device->inner->error_info) throw Error(TENON_UNSUPPORTED, "error_info: the backend below does not tell");
    tenon_error full{};
    full.struct_size = sizeof full;
    full.flags = out->flags;
    check(queue.device->inner->error_info(queue.handle, &full));
    full.program = full.program && full.program == queue.last_below ? queue.last : nullptr;
    full.node = TENON_NONE;
    give(full, out);
  });
}

tenon_status trace(tenon_device* handle, const tenon_sink* given) {
  return entry([&] {
    Device& device = *as(handle);
    const std::lock_guard lock(device.trace_mutex);
    if (given) check_flags(given->flags, 0, "trace");
    if (given && device.sink.emit) throw Error(TENON_INVALID, "trace: the device has a sink already");
    device.sink = given ? known(given) : tenon_sink{};
    device.trace_ps = 0;
  });
}

}  // namespace tpu
