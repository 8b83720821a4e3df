// The entries of the ABI for a backend in ordinary memory (tenon/plugin/host_backend.h).
#include "tenon/plugin/host_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>

#include "runtime/backend_table.h"
#include "runtime/executor.h"
#include "runtime/host_queue.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/entry.h"
#include "tenon/plugin/op_attributes.h"
#include "tenon/plugin/replicas.h"

namespace tenon::plugin {
namespace {

constexpr tenon_status kOk{TENON_OK, 0, nullptr};

struct Backend {
  const HostBackend* config = nullptr;
  tenon_host host{};  // what this runtime knows of it
  KernelTable table;
};

struct Device {
  const Backend* backend = nullptr;
  uint32_t units = 1;
  Memory memory;
  ArenaPool arenas{memory};
  Tracer tracer;
};

using Queue = HostQueue;

struct Buffer : HostBuffer {};

struct Program {
  Program(Plan plan, Device& owner) : device(&owner), executor(std::move(plan), &owner.backend->host, owner.arenas) {}
  Device* device;
  Executor executor;
  uint32_t max_iterations = 1;
  std::vector<tenon_allocation> allocations;
  Cost cost;  // of an iteration
};

Device* as_device(tenon_device* d) { return reinterpret_cast<Device*>(d); }
Queue* as_queue(tenon_queue* q) { return reinterpret_cast<Queue*>(q); }
Buffer* as_buffer(tenon_buffer* b) { return reinterpret_cast<Buffer*>(b); }
Program* as_program(tenon_program* p) { return reinterpret_cast<Program*>(p); }

// Nothing is thrown across the ABI.
template <class F>
tenon_status answered(F f) {
  try {
    return f();
  } catch (const Error& e) {
    return error(e.code, e.what());
  } catch (const std::bad_alloc&) {
    return error(TENON_OUT_OF_MEMORY, "out of host memory");
  } catch (const NoKernel& e) {
    return error(TENON_UNSUPPORTED, e.what());
  } catch (const std::exception& e) {
    return error(TENON_INTERNAL, e.what());
  } catch (...) {
    return error(TENON_INTERNAL, "an exception of unknown type");
  }
}

bool unknown_flags(uint64_t flags, uint64_t known) { return (flags & 0xffffffffull & ~known) != 0; }

// A struct of the host, as far as the host knows it: the rest is zero.
template <class T>
class Known {
 public:
  explicit Known(const T* given) : whole_(given) {
    if (given->struct_size >= sizeof(T)) return;
    std::memset(&room_, 0, sizeof room_);
    std::memcpy(&room_, given, given->struct_size);
    whole_ = &room_;
  }
  Known(const Known&) = delete;
  Known& operator=(const Known&) = delete;
  const T& operator*() const { return *whole_; }
  const T* operator->() const { return whole_; }

 private:
  const T* whole_;
  T room_;  // undefined where the host knows all
};

// How many units a spec names: none or "0" is the first, "units=N" are N. 0: no such spec.
uint32_t units_of(const Backend& backend, const char* spec) {
  if (!spec || !*spec || std::strcmp(spec, "0") == 0) return 1;
  if (std::strncmp(spec, "units=", 6) != 0 || spec[6] < '1' || spec[6] > '9') return 0;
  char* end = nullptr;
  const unsigned long n = std::strtoul(spec + 6, &end, 10);
  return *end == '\0' && n <= backend.config->max_units ? static_cast<uint32_t>(n) : 0;
}

tenon_status no_such_spec(const Backend& backend) {
  char text[160];
  const uint32_t most = backend.config->max_units;
  if (most > 1)
    std::snprintf(text, sizeof text, "no such spec: expected none, 0, or units=N with N from 1 to %u", most);
  else
    std::snprintf(text, sizeof text, "no such spec: expected none, or 0, the only unit");
  return error(TENON_UNAVAILABLE, text);
}

tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  const auto& backend = *static_cast<Backend*>(self);
  const uint32_t room = *count, n = units_of(backend, spec);
  if (n == 0) return no_such_spec(backend);
  *count = n;
  if (!units) return kOk;
  tenon_unit unit{};
  unit.flags = TENON_UNIT_HOST_FEED | (backend.config->worker_queues ? 0 : TENON_UNIT_INLINE);
  unit.kind = backend.config->kind;
  unit.feed_depth = 1;
  unit.queues = backend.config->worker_queues ? 2 : 1;
  unit.wrap_alignment = 64;
  unit.memory_bytes = Memory::installed();  // which all units share
  unit.max_buffer_bytes = unit.memory_bytes;
  std::snprintf(unit.name, sizeof unit.name, "%s", backend.config->unit_name);
  std::snprintf(unit.version, sizeof unit.version, "%s", backend.config->version);
  for (uint32_t i = 0; i < std::min(n, room); ++i) {
    unit.coord[0] = static_cast<int32_t>(i);
    std::memcpy(reinterpret_cast<uint8_t*>(units) + i * stride, &unit, std::min<uint64_t>(stride, sizeof unit));
  }
  return kOk;
}

// Units are alike, so a device is as many of them as are named; no list names the first.
tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return answered([&] {
    const auto& backend = *static_cast<const Backend*>(self);
    const Known<tenon_open> open(given);
    if (unknown_flags(open->flags, 0)) return error(TENON_UNSUPPORTED, "device_open: unknown flags");
    const uint32_t n = units_of(backend, open->spec);
    if (n == 0) return no_such_spec(backend);
    for (uint32_t i = 0; i < open->n_units; ++i)
      if (open->units[i] >= n || std::count(open->units, open->units + i, open->units[i]))
        return error(TENON_INVALID, n == 1 ? "device_open: there is one unit, 0"
                                           : "device_open: a unit is named twice, or is none of the spec's");
    auto device = std::make_unique<Device>();
    device->backend = &backend;
    device->units = std::max(open->n_units, 1u);
    if (!backend.config->worker_queues) device->memory.touch_with(backend.host);
    *out = reinterpret_cast<tenon_device*>(device.release());
    return kOk;
  });
}

void device_close(tenon_device* device) { delete as_device(device); }

// Whether the graph and the options ask for what no version that this runtime knows defines.
const char* unknown_request(const tenon_graph& graph, const tenon_options& options) {
  if (unknown_flags(options.flags, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE))
    return "unknown flags in the options";
  if (unknown_flags(graph.flags, 0)) return "unknown flags in the graph";
  return nullptr;
}

// What the host may ask for. What the collectives are made of is asked for where they are unrolled.
Verdict answer(const NodeView& node, const Device& device) {
  const KernelTable& table = device.backend->table;
  const Entry* entry = table.find(node.op(), node.version());
  if (entry && entry->own) return {TENON_DECOMPOSE, "no kernel for this op"};
  if (device.units == 1) return answer_of(node, table);
  if (!unrolls(node)) return {TENON_DECOMPOSE, "drawn, or averaged, over the units"};
  const std::string_view op = node.op();
  if (op == "all_reduce" || op == "reduce_scatter" || op == "all_gather" || op == "replica_id") return take();
  return answer_of(node, table);
}

tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  return answered([&] {
    if (const char* text = unknown_request(*graph, *Known<tenon_options>(options)))
      return error(TENON_UNSUPPORTED, text);
    static thread_local std::vector<std::string> reasons;  // lives until this thread's next call
    reasons.assign(n, {});
    const GraphView view(*graph);
    for (uint32_t i = 0; i < n; ++i) {
      const NodeView node = view.node(nodes[i]);
      Verdict verdict = answer(node, *as_device(device));
      reasons[i] = std::move(verdict.reason);
      tenon_verdict v{verdict.answer, 1, 0, reasons[i].empty() ? nullptr : reasons[i].c_str()};
      std::memcpy(reinterpret_cast<uint8_t*>(out) + i * stride, &v, std::min<uint64_t>(stride, sizeof v));
    }
    return kOk;
  });
}

void fill_info(const Program& program, tenon_info* info) {
  if (!info) return;
  const Plan& plan = program.executor.plan();
  tenon_info full{};
  full.struct_size = std::min<uint64_t>(info->struct_size, sizeof full);
  full.flags = info->flags;
  full.argument_bytes = plan.argument_bytes;
  full.result_bytes = plan.results_bytes;
  full.workspace_bytes = plan.arena_bytes;
  full.code_bytes = plan.constants.size();
  full.peak_bytes = plan.argument_bytes + plan.results_bytes + plan.arena_bytes + plan.constants.size();
  full.capacity_bytes = Memory::installed();
  full.flops = program.cost.flops;
  full.bytes_moved = program.cost.bytes;
  full.allocations = program.allocations.data();
  full.allocation_stride = sizeof(tenon_allocation);
  full.n_allocations = static_cast<uint32_t>(program.allocations.size());
  std::memcpy(info, &full, full.struct_size);
}

Env make_env(const Device& device, const tenon_options& options) {
  Env env;
  env.host = &device.backend->host;
  const bool gang = env.host->gang && !device.backend->config->worker_queues;
  env.threads = gang ? std::max(env.host->threads, 1u) : 1;
  env.deterministic = (options.flags & TENON_OPTION_DETERMINISTIC) != 0;
  env.precision = options.precision;
  return env;
}

// What is planned for a graph: with several units, and where the backend has nodes of its own, not the graph itself.
struct Prepared {
  Prepared(const tenon_graph& graph, const Device& device, const Env& for_kernels) : env(for_kernels), view(graph) {
    for (uint32_t i = 0; i < view.n_nodes(); ++i) {
      const NodeView node = view.node(i);
      const Entry* entry = device.backend->table.find(node.op(), node.version());
      if (entry && entry->own) throw NoKernel(std::string(node.op()) + ": no kernel for this op");
    }
    if (device.units > 1) {
      const auto takes = [&](const NodeView& node) {
        return answer_of(node, device.backend->table).answer == TENON_TAKE;
      };
      unrolled = unroll_replicas(view, device.units, {true, takes});
      origins = unrolled.origins;
      view = GraphView(*unrolled.graph.graph());
    } else {
      for (uint32_t i = 0; i < view.n_nodes(); ++i) origins.push_back({i, 0});
    }
    cost = cost_of(view);
    if (device.backend->config->rewrite) rewritten = device.backend->config->rewrite(view, env);
    if (rewritten.graph.empty()) return;
    std::vector<UnrolledGraph::Origin> through;
    for (uint32_t origin : rewritten.origins) through.push_back(origins[origin]);
    origins = std::move(through);
    view = GraphView(*rewritten.graph.graph());
  }

  Env env;
  UnrolledGraph unrolled;
  Rewritten rewritten;
  GraphView view;
  std::vector<UnrolledGraph::Origin> origins;  // of the view's nodes, in the given graph
  Cost cost;                                   // of the given graph, on all units
};

tenon_status compile(tenon_device* handle, const tenon_graph* graph, const tenon_options* given, tenon_program** out,
                     tenon_info* info) {
  return answered([&] {
    const Known<tenon_options> options(given);
    if (const char* text = unknown_request(*graph, *options)) return error(TENON_UNSUPPORTED, text);
    Device& device = *as_device(handle);
    const Prepared prepared(*graph, device, make_env(device, *options));
    const GraphView& view = prepared.view;
    auto program = std::make_unique<Program>(make_plan(view, device.backend->table, prepared.env), device);
    const Plan& plan = program->executor.plan();
    program->max_iterations = std::max(options->max_iterations, 1u);
    for (const Allocation& a : plan.allocations)
      program->allocations.push_back({prepared.origins[a.node].node, 0, a.bytes, a.bytes, a.offset, a.first, a.last});
    program->cost = prepared.cost;
    if (options->flags & TENON_OPTION_TRACE) {
      auto* traced = reinterpret_cast<tenon_program*>(program.get());
      program->executor.trace(device.tracer,
                              std::make_unique<StepEvents>(view, plan, traced, GraphView(*graph), prepared.origins));
    }
    fill_info(*program, info);
    const bool over = options->memory_limit && plan.arena_bytes > options->memory_limit;
    if (over || !device.arenas.reserve(plan.arena_bytes)) {
      char text[160];
      std::snprintf(text, sizeof text, "compile: the step needs a workspace of %llu bytes; %s",
                    static_cast<unsigned long long>(plan.arena_bytes), over ? "more than the limit" : "out of memory");
      if (info && TENON_HAS(info, tenon_info, n_allocations)) info->allocations = nullptr, info->n_allocations = 0;
      return error(TENON_OUT_OF_MEMORY, text);
    }
    *out = reinterpret_cast<tenon_program*>(program.release());
    return kOk;
  });
}

void program_destroy(tenon_program* program) { delete as_program(program); }

bool desc_bytes(const tenon_desc& desc, uint64_t* bytes) {
  *bytes = static_cast<uint64_t>(dtype_bytes(desc.dtype));
  if (desc.rank > TENON_MAX_RANK) return false;
  for (uint32_t i = 0; i < desc.rank; ++i) {
    if (desc.dims[i] < 1 || __builtin_mul_overflow(*bytes, static_cast<uint64_t>(desc.dims[i]), bytes)) return false;
  }
  return *bytes < (uint64_t{1} << 62);
}

tenon_status buffer_alloc(tenon_device* handle, const tenon_desc* given, tenon_buffer** out, void** host) {
  return answered([&] {
    const Known<tenon_desc> desc(given);
    uint64_t bytes = 0;
    if (unknown_flags(desc->flags, TENON_DESC_HOST)) return error(TENON_UNSUPPORTED, "buffer_alloc: unknown flags");
    if (dtype_bytes(desc->dtype) == 0 || desc->placement < TENON_REPLICATED || desc->placement > TENON_SPLIT)
      return error(TENON_UNSUPPORTED, "buffer_alloc: unknown dtype or placement");
    if (!desc_bytes(*desc, &bytes)) return error(TENON_INVALID, "buffer_alloc: the rank or a dimension is invalid");
    Device& device = *as_device(handle);
    auto buffer = std::make_unique<Buffer>();
    buffer->bytes = bytes;
    buffer->memory = &device.memory;
    buffer->wrapped = desc->host_memory != nullptr;
    if (buffer->wrapped && reinterpret_cast<uintptr_t>(desc->host_memory) % 64)
      return error(TENON_INVALID, "buffer_alloc: host_memory is not 64-byte aligned");
    buffer->data = buffer->wrapped ? static_cast<uint8_t*>(desc->host_memory) : device.memory.allocate(bytes);
    if (!buffer->data) {
      char text[96];
      std::snprintf(text, sizeof text, "buffer_alloc: out of memory for %llu bytes",
                    static_cast<unsigned long long>(bytes));
      return error(TENON_OUT_OF_MEMORY, text);
    }
    if (host) *host = desc->flags & TENON_DESC_HOST ? buffer->data : nullptr;
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
    return kOk;
  });
}

void buffer_free(tenon_buffer* handle) {
  Buffer* buffer = as_buffer(handle);
  if (!buffer) return;
  if (!buffer->wrapped) buffer->memory->release(buffer->data, buffer->bytes);
  delete buffer;
}

tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out) {
  return answered([&] {
    if (unknown_flags(flags, 0)) return error(TENON_UNSUPPORTED, "queue_create: unknown flags");
    auto queue = std::make_unique<Queue>(as_device(device)->backend->config->worker_queues);
    *out = reinterpret_cast<tenon_queue*>(queue.release());
    return kOk;
  });
}

void queue_destroy(tenon_queue* queue) { delete as_queue(queue); }

bool in_range(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  return offset <= buffer.bytes && bytes <= buffer.bytes - offset;
}

// What sticks to a queue, as the answer to whoever submits to it or waits for it.
tenon_status failed(const Outcome& outcome) { return error(outcome.code, outcome.text); }

Outcome invalid(const char* text) { return {TENON_INVALID, text}; }

const char* check_copy(const tenon_copy& c) {
  if (!c.dst == !c.dst_host || !c.src == !c.src_host) return "copy: needs one source and one destination";
  if (c.dst && !in_range(*as_buffer(c.dst), c.dst_offset, c.bytes)) return "copy: past the end of the destination";
  if (c.src && !in_range(*as_buffer(c.src), c.src_offset, c.bytes)) return "copy: past the end of the source";
  return nullptr;
}

void do_copy(const tenon_copy& c) {
  uint8_t* dst = (c.dst ? as_buffer(c.dst)->data : static_cast<uint8_t*>(c.dst_host)) + c.dst_offset;
  const uint8_t* src = (c.src ? as_buffer(c.src)->data : static_cast<const uint8_t*>(c.src_host)) + c.src_offset;
  std::memmove(dst, src, c.bytes);
}

tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  return answered([&] {
    Queue& queue = *as_queue(handle);
    const Known<tenon_copy> c(given);
    if (unknown_flags(c->flags, 0)) return error(TENON_UNSUPPORTED, "copy: unknown flags");
    if (const Outcome first = queue.begin(c->after, c->n_after); !first.ok()) return failed(first);
    if (const char* text = check_copy(*c)) return error(TENON_INVALID, text);
    if (queue.is_inline()) {
      do_copy(*c);
      *ticket = queue.finish({});
    } else {
      *ticket = queue.submit(c->after, c->n_after, [copy = *c] { return do_copy(copy), Outcome{}; });
    }
    return kOk;
  });
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
  Queue& queue = *as_queue(point.queue);
  queue.wait(point.ticket, UINT64_MAX);
  return queue.failure().text;
}

Outcome execute(const tenon_run& run, uint32_t* done) {
  const char* text = as_program(run.program)->executor.run(run, wait_for_point, done);
  if (!text) return {};
  return {std::strstr(text, "out of memory") ? TENON_OUT_OF_MEMORY : TENON_INVALID, text};
}

// On the caller's thread: what an inline queue does always, and a worker queue where batches are pulled.
tenon_status run_here(Queue& queue, const tenon_run& run, uint64_t* ticket, uint32_t* done) {
  uint32_t completed = 0;
  const Outcome outcome = execute(run, &completed);
  if (done) *done = completed;
  if (!outcome.ok() && completed == 0) return failed(outcome);
  *ticket = queue.finish(outcome);
  return kOk;
}

tenon_status run_fed(Queue& queue, const tenon_run& run, uint64_t* ticket, uint32_t* done) {
  queue.drain();
  for (uint32_t i = 0; i < run.n_after; ++i)
    if (run.after[i].queue) wait_for_point(run.after[i]);
  if (const Outcome first = queue.begin(run.after, run.n_after); !first.ok()) return failed(first);
  return run_here(queue, run, ticket, done);
}

tenon_status run(tenon_queue* handle, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  return answered([&] {
    Queue& queue = *as_queue(handle);
    const Known<tenon_run> run(given);
    if (done) *done = 0;
    if (unknown_flags(run->flags, 0)) return error(TENON_UNSUPPORTED, "run: unknown flags");
    if (run->feed && unknown_flags(run->feed->flags, 0))
      return error(TENON_UNSUPPORTED, "run: unknown flags in the feed");
    if (const Outcome first = queue.begin(run->after, run->n_after); !first.ok()) return failed(first);
    if (!run->program || run->iterations == 0) return failed(invalid("run: needs a program and one iteration or more"));
    const Program& program = *as_program(run->program);
    if (run->iterations > program.max_iterations)
      return failed(invalid("run: more iterations than the program was compiled for"));
    if (const char* text = program.executor.check(*run)) return error(TENON_INVALID, text);
    if (queue.is_inline()) return run_here(queue, *run, ticket, done);
    if (run->feed) return run_fed(queue, *run, ticket, done);
    auto owned = std::make_shared<OwnedRun>(*run);
    *ticket = queue.submit(run->after, run->n_after, [owned] {
      uint32_t completed = 0;
      return execute(owned->bound(), &completed);
    });
    if (done) *done = run->iterations;
    return kOk;
  });
}

tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  Queue& queue = *as_queue(handle);
  const Queue::Wait result = queue.wait(ticket, timeout_ns);
  if (result == Queue::Wait::kNoSuchTicket) return error(TENON_INVALID, "wait: the queue has no such ticket yet");
  if (result == Queue::Wait::kTimeout) return error(TENON_TIMEOUT, "wait: the work is not done within the time");
  if (const Outcome first = queue.failure(); !first.ok()) return failed(first);
  return kOk;
}

tenon_status stats(tenon_device* handle, tenon_stats* out) {
  const Memory& memory = as_device(handle)->memory;
  tenon_stats full{};
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  full.bytes_in_use = memory.in_use();
  full.bytes_peak = memory.peak();
  full.bytes_free = Memory::installed() - memory.in_use();
  full.bytes_largest_free = full.bytes_free;
  std::memcpy(out, &full, full.struct_size);
  return kOk;
}

tenon_status trace(tenon_device* handle, const tenon_sink* sink) {
  if (sink && unknown_flags(sink->flags, 0)) return error(TENON_UNSUPPORTED, "trace: unknown flags");
  as_device(handle)->tracer.set(sink);
  return kOk;
}

}  // namespace

tenon_status init_host_backend(const HostBackend& config, const tenon_host* host, tenon_backend* out) {
  return answered([&] {
    auto backend = std::make_unique<Backend>();
    backend->config = &config;
    if (host) backend->host = *Known<tenon_host>(host);
    if (unknown_flags(backend->host.flags, 0))
      return error(TENON_UNSUPPORTED, "tenon_backend_init: unknown flags of the host");
    config.fill(backend->table);
    check_ops(config.name, backend->table);
    tenon_backend full{};
    full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
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
    std::memcpy(out, &full, full.struct_size);
    return kOk;
  });
}

}  // namespace tenon::plugin
