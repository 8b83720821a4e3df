// What the handles of a backend in ordinary memory are, and its entries, file by file.
#pragma once

#include <vector>

#include "runtime/executor.h"
#include "runtime/host/host_queue.h"
#include "runtime/plan_description.h"
#include "tenon/plugin/cost.h"
#include "tenon/plugin/host_backend.h"

namespace tenon::plugin::host_entries {

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

struct Program {
  Program(Plan plan, PlanDescription described, Device& owner)
      : device(&owner),
        executor(std::move(plan), &owner.backend->host, owner.arenas),
        description(std::move(described)) {}
  Device* device;
  Executor executor;
  PlanDescription description;
  uint32_t max_iterations = 1;
};

inline Device* as_device(tenon_device* d) { return reinterpret_cast<Device*>(d); }
inline HostQueue* as_queue(tenon_queue* q) { return reinterpret_cast<HostQueue*>(q); }
inline HostBuffer* as_buffer(tenon_buffer* b) { return reinterpret_cast<HostBuffer*>(b); }
inline Program* as_program(tenon_program* p) { return reinterpret_cast<Program*>(p); }

// host_compile.cc
tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride);
tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* options, tenon_program** out,
                     tenon_info* info);
void program_destroy(tenon_program* program);
tenon_status describe(const tenon_program* program, tenon_plan* out);

// host_submit.cc
tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out);
void queue_destroy(tenon_queue* queue);
tenon_status copy(tenon_queue* queue, const tenon_copy* what, uint64_t* ticket);
tenon_status run(tenon_queue* queue, const tenon_run* what, uint64_t* ticket, uint32_t* done);
tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout_ns);

}  // namespace tenon::plugin::host_entries
