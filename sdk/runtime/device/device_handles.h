// What the handles of a backend with memory of its own are, and its entries, file by file.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/device_executor.h"
#include "runtime/plan_description.h"
#include "tenon/plugin/device_backend.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin::device_entries {

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
  Program(Plan plan, PlanDescription described, Device& owner)
      : device(&owner), executor(std::move(plan), *owner.memory, *owner.arena), description(std::move(described)) {}
  Device* device;
  DeviceExecutor executor;
  PlanDescription description;
  uint32_t max_iterations = 1;
};

inline Device* as_device(tenon_device* d) { return reinterpret_cast<Device*>(d); }
inline DeviceQueue* as_queue(tenon_queue* q) { return reinterpret_cast<DeviceQueue*>(q); }
inline Program* as_program(tenon_program* p) { return reinterpret_cast<Program*>(p); }

// A device that was lost remembers it.
template <class F>
tenon_status on_device(Device& device, F f) {
  return guarded([&] {
    device.health.check();
    try {
      f();
    } catch (const Error& e) {
      if (e.code == TENON_DEVICE_LOST) device.health.lost(e);
      throw;
    }
  });
}

// device_compile.cc
tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride);
tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* options, tenon_program** out,
                     tenon_info* info);
void program_destroy(tenon_program* program);
tenon_status describe(const tenon_program* program, tenon_plan* out);

// device_submit.cc
tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out);
void queue_destroy(tenon_queue* queue);
tenon_status copy(tenon_queue* queue, const tenon_copy* what, uint64_t* ticket);
tenon_status run(tenon_queue* queue, const tenon_run* what, uint64_t* ticket, uint32_t* done);
tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout_ns);

}  // namespace tenon::plugin::device_entries
