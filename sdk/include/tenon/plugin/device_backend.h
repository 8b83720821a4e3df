// A whole backend for a device with memory of its own, made of a kernel table and the hooks of device_driver.h.
//
// Supplies every entry of the ABI: buffers and their copies, queues and tickets, supports, compile (by the planner)
// and run, which enqueues each step's kernels on a stream and returns. Batches that lie in HOST buffers are copied on
// a stream of their own while the previous iteration computes. A kernel's `run` enqueues its work:
//
//   kernel.run = [..](const Call& call) { launch(my_stream(call.stream), call.in_address(0), call.out_address(0)); };
//
// It is called on one thread at a time (Kernel::threads is of no use here); what it decided when it was made stays.
// Results with mode UNTIL make the host look after each iteration. C++17.
#pragma once

#include <memory>
#include <vector>

#include "tenon/plugin/device_driver.h"
#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

struct DeviceBackend {
  const char* name;
  const char* version;
  void (*fill)(KernelTable&) = nullptr;  // called once, at init
  // What a spec names, the best first: the units' kind, memory_bytes, max_buffer_bytes, name and version; the runtime
  // fills in the rest. Throws UNAVAILABLE with the reason. The spec is "" where none was given.
  std::vector<tenon_unit> (*enumerate)(const std::string& spec) = nullptr;
  // Opens the unit of that index in what the spec names.
  std::unique_ptr<DeviceDriver> (*open)(const std::string& spec, uint32_t unit, const tenon_host& host) = nullptr;
  // As HostBackend::rewrite.
  Rewritten (*rewrite)(const GraphView& graph, const Env& env) = nullptr;
};

// As init_host_backend (tenon/plugin/host_backend.h).
tenon_status init_device_backend(const DeviceBackend& backend, const tenon_host* host, tenon_backend* out);

}  // namespace tenon::plugin
