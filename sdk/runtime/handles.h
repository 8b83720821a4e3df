// What the handles of every backend on this runtime are. The entries (entries.cc, submit.cc, compile.cc) know no other;
// backends differ in their drivers and in how their programs are executed, in nothing else.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/memory.h"
#include "runtime/plan_description.h"
#include "runtime/queue.h"
#include "tenon/plugin/entry.h"
#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/inline_backend.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

enum class Execution {
  kInline,  // on the thread that submits, with the host's gang; tickets are complete
  kWorker,  // on a thread of the queue's own
  kStream,  // on the device, which the thread that submits feeds by streams
};

// One for each host that has loaded the library; lives for ever.
struct Backend {
  tenon_host host{};  // what this runtime knows of it
  KernelTable table;
  // The units of a spec, and the device of those of them that are listed. They throw UNAVAILABLE and INVALID.
  std::function<std::vector<tenon_unit>(const std::string& spec)> enumerate;
  std::function<std::unique_ptr<Device>(const std::string& spec, const std::vector<uint32_t>& units)> open;
  Rewritten (*rewrite)(const GraphView& graph, const Env& env) = nullptr;
  bool unites_units = false;                    // HostBackend::unites_units
  const InlineBackend* whole_graphs = nullptr;  // takes them in the place of table and rewrite
};

struct Device {
  Device(const Backend& of, Execution how, std::unique_ptr<DeviceDriver> by, uint32_t n = 1)
      : backend(of), execution(how), driver(std::move(by)), units(n) {}
  // Whether buffers are the host's own memory.
  bool on_host() const { return execution != Execution::kStream; }

  const Backend& backend;
  const Execution execution;
  const std::unique_ptr<DeviceDriver> driver;
  const uint32_t units;
  const DeviceFacts facts = driver->facts();
  DeviceHealth health;
  Memory memory{*driver};
  ArenaPool workspaces{memory};
  std::mutex enqueuing;  // kStream: of who has a workspace and enqueues work on it
  Tracer tracer;
};

struct Buffer {
  ~Buffer() {
    if (host) owner.driver().release_host(host, host_bytes());
    owner.release(memory, bytes);
  }
  // The size of its memory of the host, a whole number of 64.
  uint64_t host_bytes() const { return (bytes + 63) / 64 * 64; }
  Memory& owner;
  uint64_t bytes;
  void* memory = nullptr;   // on the device
  uint8_t* host = nullptr;  // HOST, kStream: what the host sees; its contents count when work is submitted
  // kStream, of a batch: the end of the last iteration that reads `memory`.
  std::shared_ptr<DeviceMark> last_read{};
};

struct Program {
  std::unique_ptr<Executor> executor;
  uint32_t max_iterations = 1;
  PlanDescription description;
};

inline Device& as_device(tenon_device* d) { return *reinterpret_cast<Device*>(d); }
inline Buffer* as_buffer(tenon_buffer* b) { return reinterpret_cast<Buffer*>(b); }
inline Program* as_program(tenon_program* p) { return reinterpret_cast<Program*>(p); }

// f() as an entry; a device that was lost remembers it.
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

// What tenon_backend_init gives, with this backend as self. `name` and `version` live for ever. Throws INVALID for a
// table with a kernel that nothing would ever ask for: an op that is neither Tenon's nor, by a dot or the backend's name
// in front, the backend's own.
tenon_backend make_table(std::unique_ptr<Backend> backend, const tenon_host* host, const char* name,
                         const char* version, void (*fill)(KernelTable&));

namespace entries {

// compile.cc
tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride);
tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* options, tenon_program** out,
                     tenon_info* info);
void program_destroy(tenon_program* program);
tenon_status describe(const tenon_program* program, tenon_plan* out);

// submit.cc
tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out);
void queue_destroy(tenon_queue* queue);
tenon_status copy(tenon_queue* queue, const tenon_copy* what, uint64_t* ticket);
tenon_status run(tenon_queue* queue, const tenon_run* what, uint64_t* ticket, uint32_t* done);
tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout_ns);
tenon_status error_info(tenon_queue* queue, tenon_error* out);

}  // namespace entries
}  // namespace tenon::plugin
