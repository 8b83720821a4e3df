// The entries of the ABI for a device with memory of its own (tenon/plugin/device_backend.h).
#include "tenon/plugin/device_backend.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/backend_table.h"
#include "runtime/device_executor.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/inline_program.h"
#include "tenon/plugin/replicas.h"

namespace tenon::plugin {
namespace {

struct Backend {
  const DeviceBackend* config = nullptr;
  tenon_host host{};
  KernelTable table;
};

struct Device {
  const Backend* backend = nullptr;
  std::unique_ptr<DeviceDriver> driver;
  DeviceHealth health;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<DeviceArena> arena;
  Tracer tracer;
};

struct Program {
  Program(Plan plan, Device& owner) : device(&owner), executor(std::move(plan), *owner.memory, *owner.arena) {}
  Device* device;
  DeviceExecutor executor;
  uint32_t max_iterations = 1;
  std::vector<tenon_allocation> allocations;
  Cost cost;
};

Device* as_device(tenon_device* d) { return reinterpret_cast<Device*>(d); }
DeviceQueue* as_queue(tenon_queue* q) { return reinterpret_cast<DeviceQueue*>(q); }
Program* as_program(tenon_program* p) { return reinterpret_cast<Program*>(p); }

// A device that was lost remembers it.
template <class F>
tenon_status on_device(Device& device, F f) {
  return guarded([&] {
    device.health.check();
    try {
      f();
    } catch (const NoKernel& e) {
      throw Error(TENON_UNSUPPORTED, e.what());
    } catch (const Error& e) {
      if (e.code == TENON_DEVICE_LOST) device.health.lost(e);
      throw;
    }
  });
}

// ---- units and devices ----

tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return guarded([&] {
    const auto& backend = *static_cast<Backend*>(self);
    const uint32_t room = *count;
    std::vector<tenon_unit> found = backend.config->enumerate(spec ? spec : "");
    *count = static_cast<uint32_t>(found.size());
    for (uint32_t i = 0; units && i < std::min(*count, room); ++i) {
      tenon_unit& unit = found[i];
      unit.flags = 0;
      unit.domain = i;  // each is a device of its own
      unit.feed_depth = DeviceExecutor::kFeedDepth;
      unit.queues = 2;
      unit.wrap_alignment = 0;  // the host's own memory would have to be copied
      std::memcpy(reinterpret_cast<uint8_t*>(units) + i * stride, &unit, std::min<uint64_t>(stride, sizeof unit));
    }
  });
}

tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return guarded([&] {
    const auto& backend = *static_cast<const Backend*>(self);
    const tenon_open open = known(given);
    check_flags(open.flags, 0, "device_open");
    const std::string spec = open.spec ? open.spec : "";
    const size_t n = backend.config->enumerate(spec).size();
    if (open.n_units > 1) throw Error(TENON_INVALID, "device_open: one unit is a device here, several are not");
    const uint32_t unit = open.n_units ? open.units[0] : 0;
    if (unit >= n) throw Error(TENON_INVALID, "device_open: there is no unit " + std::to_string(unit));
    auto device = std::make_unique<Device>();
    device->backend = &backend;
    device->driver = backend.config->open(spec, unit, backend.host);
    device->memory = std::make_unique<DeviceMemory>(*device->driver);
    device->arena = std::make_unique<DeviceArena>(*device->memory);
    *out = reinterpret_cast<tenon_device*>(device.release());
  });
}

void device_close(tenon_device* device) {
  const std::unique_ptr<Device> owned(as_device(device));
  if (owned) owned->arena.reset();
}

// ---- compiling ----

Verdict answer(const NodeView& node, const Device& device) {
  const Entry* entry = device.backend->table.find(node.op(), node.version());
  if (entry && entry->own) return {TENON_DECOMPOSE, "no kernel for this op"};
  Verdict verdict = answer_of(node, device.backend->table);
  if (verdict.answer != TENON_TAKE) return verdict;
  if (std::string reason = device.driver->refusal(node); !reason.empty()) return refuse(std::move(reason));
  return verdict;
}

tenon_status supports(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, const uint32_t* nodes,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  return on_device(*as_device(handle), [&] {
    const tenon_options options = known(given);
    check_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE, "supports");
    check_flags(graph->flags, 0, "supports: the graph");
    answer_nodes(*graph, nodes, n, out, stride, [&](const NodeView& node) { return answer(node, *as_device(handle)); });
  });
}

void fill_info(const Program& program, tenon_info* info) {
  if (!info) return;
  const Plan& plan = program.executor.plan();
  tenon_info full{};
  full.flags = info->flags;
  full.argument_bytes = plan.argument_bytes;
  full.result_bytes = plan.results_bytes;
  full.workspace_bytes = plan.arena_bytes;
  full.code_bytes = plan.constants.size();
  full.peak_bytes = plan.argument_bytes + plan.results_bytes + plan.arena_bytes + plan.constants.size();
  full.capacity_bytes = program.device->driver->memory_bytes();
  full.flops = program.cost.flops;
  full.bytes_moved = program.cost.bytes;
  full.allocations = program.allocations.data();
  full.allocation_stride = sizeof(tenon_allocation);
  full.n_allocations = static_cast<uint32_t>(program.allocations.size());
  give(full, info);
}

void check_nodes(const GraphView& view, const Device& device) {
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const NodeView node = view.node(i);
    const Verdict verdict = answer(node, device);
    if (verdict.answer != TENON_TAKE)
      throw NoKernel(std::string(node.op()) + " '" + std::string(node.name()) + "': " + verdict.reason);
  }
}

Env make_env(const Device& device, const tenon_options& options) {
  Env env;
  env.host = &device.backend->host;
  env.deterministic = (options.flags & TENON_OPTION_DETERMINISTIC) != 0;
  env.precision = options.precision;
  env.device = device.driver.get();
  return env;
}

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return on_device(*as_device(handle), [&] {
    const tenon_options options = known(given);
    check_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE, "compile");
    check_flags(graph->flags, 0, "compile: the graph");
    Device& device = *as_device(handle);
    GraphView view(*graph);
    check_nodes(view, device);
    const Env env = make_env(device, options);
    const Cost cost = cost_of(view);
    Rewritten rewritten;
    if (device.backend->config->rewrite) rewritten = device.backend->config->rewrite(view, env);
    std::vector<UnrolledGraph::Origin> origins;
    for (uint32_t i = 0; rewritten.graph.empty() && i < view.n_nodes(); ++i) origins.push_back({i, 0});
    for (const uint32_t origin : rewritten.origins) origins.push_back({origin, 0});
    if (!rewritten.graph.empty()) view = GraphView(*rewritten.graph.graph());

    auto program = std::make_unique<Program>(make_plan(view, device.backend->table, env), device);
    const Plan& plan = program->executor.plan();
    program->max_iterations = std::max(options.max_iterations, 1u);
    program->cost = cost;
    for (const Allocation& a : plan.allocations)
      program->allocations.push_back({origins[a.node].node, 0, a.bytes, a.bytes, a.offset, a.first, a.last});
    if (options.flags & TENON_OPTION_TRACE) {
      auto* traced = reinterpret_cast<tenon_program*>(program.get());
      program->executor.trace(device.tracer,
                              std::make_unique<StepEvents>(view, plan, traced, GraphView(*graph), origins));
    }
    fill_info(*program, info);
    try {
      if (options.memory_limit && plan.arena_bytes > options.memory_limit)
        throw Error(TENON_OUT_OF_MEMORY, "compile: the step needs a workspace of " + std::to_string(plan.arena_bytes) +
                                             " bytes; more than the limit");
      device.arena->reserve(plan.arena_bytes);
    } catch (const Error&) {
      if (info && TENON_HAS(info, tenon_info, n_allocations)) info->allocations = nullptr, info->n_allocations = 0;
      throw;
    }
    *out = reinterpret_cast<tenon_program*>(program.release());
  });
}

void program_destroy(tenon_program* program) { delete as_program(program); }

// ---- buffers ----

tenon_status buffer_alloc(tenon_device* handle, const tenon_desc* given, tenon_buffer** out, void** host) {
  return on_device(*as_device(handle), [&] {
    const tenon_desc desc = known(given);
    check_flags(desc.flags, TENON_DESC_HOST, "buffer_alloc");
    if (desc.host_memory) throw Error(TENON_UNSUPPORTED, "buffer_alloc: memory of the host is not wrapped here");
    DeviceMemory& memory = *as_device(handle)->memory;
    auto buffer = std::make_unique<DeviceBuffer>();
    buffer->owner = &memory;
    buffer->bytes = dense_bytes(desc);
    buffer->memory = memory.allocate(buffer->bytes, "buffer_alloc");
    if (desc.flags & TENON_DESC_HOST) {
      buffer->host = static_cast<uint8_t*>(memory.driver().allocate_host(buffer->bytes));
      if (!buffer->host) {
        memory.release(buffer->memory, buffer->bytes);
        throw Error(TENON_OUT_OF_MEMORY,
                    "buffer_alloc: out of the host's memory for " + std::to_string(buffer->bytes) + " bytes");
      }
    }
    if (host) *host = buffer->host;
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
  });
}

void buffer_free(tenon_buffer* handle) {
  const std::unique_ptr<DeviceBuffer> buffer(device_buffer(handle));
  if (!buffer) return;
  if (buffer->host) buffer->owner->driver().release_host(buffer->host, buffer->bytes);
  buffer->owner->release(buffer->memory, buffer->bytes);
}

// ---- queues ----

struct OwnedQueue : DeviceQueue {
  explicit OwnedQueue(Device& owner) : DeviceQueue(*owner.driver, owner.health), device(owner) {}
  Device& device;
};

tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out) {
  return on_device(*as_device(device), [&] {
    check_flags(flags, 0, "queue_create");
    *out = reinterpret_cast<tenon_queue*>(static_cast<DeviceQueue*>(new OwnedQueue(*as_device(device))));
  });
}

void queue_destroy(tenon_queue* queue) { delete static_cast<OwnedQueue*>(as_queue(queue)); }

void check_range(const tenon_buffer* buffer, uint64_t offset, uint64_t bytes, const char* what) {
  if (!buffer) return;
  const uint64_t all = reinterpret_cast<const DeviceBuffer*>(buffer)->bytes;
  if (offset > all || bytes > all - offset)
    throw Error(TENON_INVALID, std::string("copy: past the end of the ") + what);
}

// Copies between memories of the host go by the device's of the HOST buffer that is one of them, so that they too come in
// their turn; between two pointers there is none, and the copy waits for its turn here.
void enqueue_copy(DeviceQueue& queue, const tenon_copy& c) {
  DeviceStream& stream = queue.work();
  const DeviceBuffer *dst = device_buffer(c.dst), *src = device_buffer(c.src);
  uint8_t* to_host = dst ? dst->host : static_cast<uint8_t*>(c.dst_host);
  const uint8_t* from_host = src ? src->host : static_cast<const uint8_t*>(c.src_host);
  if (to_host) to_host += c.dst_offset;
  if (from_host) from_host += c.src_offset;
  if (to_host && from_host && !dst && !src) {
    stream.submit()->reached(UINT64_MAX);
    std::memmove(to_host, from_host, c.bytes);
  } else if (to_host && from_host) {
    const DeviceAddress stage =
        dst ? DeviceAddress{dst->memory, c.dst_offset} : DeviceAddress{src->memory, c.src_offset};
    stream.write(stage, from_host, c.bytes);
    stream.read(to_host, stage, c.bytes);
  } else if (from_host) {
    stream.write({dst->memory, c.dst_offset}, from_host, c.bytes);
  } else if (to_host) {
    stream.read(to_host, {src->memory, c.src_offset}, c.bytes);
  } else {
    stream.copy({dst->memory, c.dst_offset}, {src->memory, c.src_offset}, c.bytes);
  }
}

// The ticket of what `work` enqueues. What it throws on the way sticks to the queue and shows when the ticket is waited for;
// only where it refuses before the first iteration, and nothing is under way any more, is it an error of the call.
template <class F>
uint64_t stick(DeviceQueue& queue, F work, const uint32_t* completed) {
  try {
    work();
    return queue.finish();
  } catch (const Error& e) {
    if (completed && *completed == 0 && e.code == TENON_INVALID) {
      DeviceExecutor::drain(queue);
      throw;
    }
    return queue.finish(e);
  } catch (const std::exception& e) {
    return queue.finish(Error(TENON_INTERNAL, e.what()));
  }
}

tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  auto& queue = static_cast<OwnedQueue&>(*as_queue(handle));
  return on_device(queue.device, [&] {
    const tenon_copy c = known(given);
    check_flags(c.flags, 0, "copy");
    if (!c.dst == !c.dst_host || !c.src == !c.src_host)
      throw Error(TENON_INVALID, "copy: needs one source and one destination");
    check_range(c.dst, c.dst_offset, c.bytes, "destination");
    check_range(c.src, c.src_offset, c.bytes, "source");
    for (const tenon_buffer* b : {c.dst, c.src})
      if (b && reinterpret_cast<const DeviceBuffer*>(b)->owner != queue.device.memory.get())
        throw Error(TENON_UNSUPPORTED, "copy: between devices, go by the host's memory");
    queue.begin(c.after, c.n_after);
    *ticket = stick(
        queue,
        [&] {
          if (c.bytes) enqueue_copy(queue, c);
        },
        nullptr);
  });
}

tenon_status run(tenon_queue* handle, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  auto& queue = static_cast<OwnedQueue&>(*as_queue(handle));
  return on_device(queue.device, [&] {
    const tenon_run run = known(given);
    if (done) *done = 0;
    check_flags(run.flags, 0, "run");
    if (run.feed) check_flags(run.feed->flags, 0, "run: the feed");
    queue.begin(run.after, run.n_after);
    if (!run.program || run.iterations == 0)
      throw Error(TENON_INVALID, "run: needs a program and one iteration or more");
    Program& program = *as_program(run.program);
    if (run.iterations > program.max_iterations)
      throw Error(TENON_INVALID, "run: more iterations than the program was compiled for");
    program.executor.check(run);
    uint32_t completed = 0;
    *ticket = stick(
        queue, [&] { program.executor.run(run, queue, &completed); }, &completed);
    if (done) *done = completed;
  });
}

tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  return guarded([&] {
    if (!as_queue(handle)->wait(ticket, timeout_ns))
      throw Error(TENON_TIMEOUT, "wait: the work is not done within the time");
  });
}

tenon_status stats(tenon_device* handle, tenon_stats* out) {
  return guarded([&] { give(as_device(handle)->memory->stats(), out); });
}

tenon_status trace(tenon_device* handle, const tenon_sink* sink) {
  return guarded([&] {
    if (sink) check_flags(sink->flags, 0, "trace");
    as_device(handle)->tracer.set(sink);
  });
}

}  // namespace

tenon_status init_device_backend(const DeviceBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] {
    auto backend = std::make_unique<Backend>();
    backend->config = &config;
    if (host) backend->host = known(host);
    check_flags(backend->host.flags, 0, "tenon_backend_init");
    config.fill(backend->table);
    check_ops(config.name, backend->table);
    tenon_backend full{};
    full.abi_major = TENON_ABI_MAJOR;
    full.abi_minor = TENON_ABI_MINOR;
    full.self = keep_for_ever(std::move(backend));
    full.name = config.name;
    full.version = config.version;
    full.enumerate = enumerate;
    full.device_open = device_open;
    full.device_close = device_close;
    full.supports = supports;
    full.compile = compile;
    full.program_destroy = program_destroy;
    full.buffer_alloc = buffer_alloc;
    full.buffer_free = buffer_free;
    full.queue_create = queue_create;
    full.queue_destroy = queue_destroy;
    full.copy = copy;
    full.run = run;
    full.wait = wait;
    full.stats = stats;
    full.trace = trace;
    give(full, out);
  });
}

}  // namespace tenon::plugin
