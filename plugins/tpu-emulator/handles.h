// What the emulator's handles are: each stands on a handle of the backend below, which does the arithmetic.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "forecast/step_forecast.h"
#include "machine/machine.h"
#include "machine/spec.h"
#include "system_log.h"
#include "tenon/abi/forecast.h"
#include "tenon/plugin/entry.h"

namespace tpu {

// One for each host that has loaded the library; lives for ever.
struct Backend {
  tenon_host host;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<tenon_backend>> inner;  // by name, once opened

  // Throws the host's refusal.
  const tenon_backend& open_inner(const std::string& name);
};

struct Device {
  Device(Backend* of, const tenon_backend* below, Spec with, Machine as, uint32_t n)
      : backend(of), inner(below), machine(std::move(as)), spec(std::move(with)), units(n), log(of->host) {}
  Backend* backend;
  const tenon_backend* inner;
  tenon_device* handle = nullptr;
  Machine machine;
  Spec spec;
  uint32_t units;
  SystemLog log;
  std::atomic<uint64_t> programs{0};  // that were compiled
  std::mutex trace_mutex;
  tenon_sink sink{};             // emit NULL: nobody listens
  uint64_t trace_ps = 0;         // where the next traced call begins
  std::string topology, driver;  // for its facts
};

// What tenon_plan points to.
struct PlanRows {
  std::set<std::string> texts;
  std::vector<tenon_plan_step> steps;
  std::vector<tenon_plan_buffer> buffers;
  std::vector<tenon_plan_value> values;
  std::vector<uint32_t> nodes;
};

struct Program {
  Device* device;
  tenon_program* handle = nullptr;  // NULL: compiled for its forecast alone
  Forecast forecast;
  uint32_t n_feeds = 0, n_buffers = 0, n_results = 0;
  uint64_t number = 0;  // from 1, among the device's
  bool traced = false;
  uint64_t result_bytes = 0;  // padded
  std::string advice, bottleneck;
  std::vector<tenon_allocation> allocations;
  std::vector<tenon_forecast_kernel> kernels;
  std::vector<tenon_forecast_argument> arguments;
  std::vector<tenon_forecast_padding> paddings;
  std::vector<std::string> names;  // of kernels, for traces
  PlanRows plan;
};

struct Buffer {
  const tenon_backend* inner;
  tenon_buffer* handle;
};

struct Queue {
  Device* device;
  tenon_queue* handle;
  tenon_program *last = nullptr, *last_below = nullptr;  // that was run
  // Handles of the backend below for the run in progress. They keep their capacity.
  std::vector<tenon_buffer*> inputs, results;
  std::vector<tenon_point> after;
};

inline Backend* as(void* self) { return static_cast<Backend*>(self); }
inline Device* as(tenon_device* p) { return reinterpret_cast<Device*>(p); }
inline Program* as(tenon_program* p) { return reinterpret_cast<Program*>(p); }
inline const Program* as(const tenon_program* p) { return reinterpret_cast<const Program*>(p); }
inline Buffer* as(tenon_buffer* p) { return reinterpret_cast<Buffer*>(p); }
inline Queue* as(tenon_queue* p) { return reinterpret_cast<Queue*>(p); }

// An entry of the backend below failed: its text, which lives as long as this thread's errors do.
inline void check(const tenon_status& status) {
  if (status.code != TENON_OK)
    throw tenon::plugin::Error(static_cast<tenon_code>(status.code), status.message ? status.message : "failed",
                               status.native);
}

// f() as an entry, whose texts may be long: a TPU's messages have many lines.
template <class F>
tenon_status entry(F f) noexcept {
  static thread_local char message[8192];
  try {
    f();
    return {TENON_OK, 0, nullptr};
  } catch (const tenon::plugin::Error& e) {
    std::snprintf(message, sizeof message, "%s", e.what());
    return {e.code, e.native, message};
  } catch (const std::bad_alloc&) {
    return {TENON_OUT_OF_MEMORY, 0, "out of host memory"};
  } catch (const std::exception& e) {
    std::snprintf(message, sizeof message, "%s", e.what());
    return {TENON_INTERNAL, 0, message};
  } catch (...) {
    return {TENON_INTERNAL, 0, "an exception of unknown type"};
  }
}

// compile.cc
tenon_status supports(tenon_device*, const tenon_graph*, const tenon_options*, const uint32_t* nodes, uint32_t n,
                      tenon_verdict* out, uint64_t stride);
tenon_status compile(tenon_device*, const tenon_graph*, const tenon_options*, tenon_program** out, tenon_info*);
void program_destroy(tenon_program*);

// run.cc
tenon_status buffer_alloc(tenon_device*, const tenon_desc*, tenon_buffer** out, void** host);
void buffer_free(tenon_buffer*);
tenon_status queue_create(tenon_device*, uint64_t flags, tenon_queue** out);
void queue_destroy(tenon_queue*);
tenon_status copy(tenon_queue*, const tenon_copy*, uint64_t* ticket);
tenon_status run(tenon_queue*, const tenon_run*, uint64_t* ticket, uint32_t* done);
tenon_status wait(tenon_queue*, uint64_t ticket, uint64_t timeout_ns);
tenon_status trace(tenon_device*, const tenon_sink*);
tenon_status error_info(tenon_queue*, tenon_error* out);

// forecast/describe.cc
void list_plan(PlanRows& to, const tenon::plugin::GraphView& graph, const Forecast& forecast);
tenon_status describe(const tenon_program*, tenon_plan* out);

// forecast_extension.cc
const void* extension(void* self, const char* name, uint32_t version);

}  // namespace tpu
