// A backend in ordinary memory (tenon/plugin/host_backend.h): its table, its units, devices and buffers.
#include "tenon/plugin/host_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/backend_table.h"
#include "runtime/host/host_handles.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin {
namespace host_entries {
namespace {

// How many units a spec names: none or "0" is the first, "units=N" are N.
uint32_t units_of(const Backend& backend, const char* spec) {
  if (!spec || !*spec || std::strcmp(spec, "0") == 0) return 1;
  const uint32_t most = backend.config->max_units;
  if (std::strncmp(spec, "units=", 6) == 0 && spec[6] >= '1' && spec[6] <= '9') {
    char* end = nullptr;
    const unsigned long n = std::strtoul(spec + 6, &end, 10);
    if (*end == '\0' && n <= most) return static_cast<uint32_t>(n);
  }
  throw Error(TENON_UNAVAILABLE,
              most > 1 ? "no such spec: expected none, 0, or units=N with N from 1 to " + std::to_string(most)
                       : "no such spec: expected none, or 0, the only unit");
}

tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return guarded([&] {
    const auto& backend = *static_cast<Backend*>(self);
    const uint32_t room = *count, n = units_of(backend, spec);
    *count = n;
    if (!units) return;
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
  });
}

// Units are alike, so a device is as many of them as are named; no list names the first.
tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return guarded([&] {
    const auto& backend = *static_cast<const Backend*>(self);
    const tenon_open open = known(given);
    check_flags(open.flags, 0, "device_open");
    const uint32_t n = units_of(backend, open.spec);
    for (uint32_t i = 0; i < open.n_units; ++i)
      if (open.units[i] >= n || std::count(open.units, open.units + i, open.units[i]))
        throw Error(TENON_INVALID, n == 1 ? "device_open: there is one unit, 0"
                                          : "device_open: a unit is named twice, or is none of the spec's");
    auto device = std::make_unique<Device>();
    device->backend = &backend;
    device->units = std::max(open.n_units, 1u);
    if (!backend.config->worker_queues) device->memory.touch_with(backend.host);
    *out = reinterpret_cast<tenon_device*>(device.release());
  });
}

void device_close(tenon_device* device) { delete as_device(device); }

tenon_status buffer_alloc(tenon_device* handle, const tenon_desc* given, tenon_buffer** out, void** host) {
  return guarded([&] {
    const tenon_desc desc = known(given);
    check_flags(desc.flags, TENON_DESC_HOST, "buffer_alloc");
    Device& device = *as_device(handle);
    auto buffer = std::make_unique<HostBuffer>();
    buffer->bytes = dense_bytes(desc);
    buffer->memory = &device.memory;
    buffer->wrapped = desc.host_memory != nullptr;
    if (buffer->wrapped && reinterpret_cast<uintptr_t>(desc.host_memory) % 64)
      throw Error(TENON_INVALID, "buffer_alloc: host_memory is not 64-byte aligned");
    buffer->data = buffer->wrapped ? static_cast<uint8_t*>(desc.host_memory) : device.memory.allocate(buffer->bytes);
    if (!buffer->data)
      throw Error(TENON_OUT_OF_MEMORY, "buffer_alloc: out of memory for " + std::to_string(buffer->bytes) + " bytes");
    if (host) *host = desc.flags & TENON_DESC_HOST ? buffer->data : nullptr;
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
  });
}

void buffer_free(tenon_buffer* handle) {
  const std::unique_ptr<HostBuffer> buffer(as_buffer(handle));
  if (buffer && !buffer->wrapped) buffer->memory->release(buffer->data, buffer->bytes);
}

tenon_status stats(tenon_device* handle, tenon_stats* out) {
  const Memory& memory = as_device(handle)->memory;
  tenon_stats full{};
  full.bytes_in_use = memory.in_use();
  full.bytes_peak = memory.peak();
  full.bytes_free = Memory::installed() - std::min(Memory::installed(), memory.in_use());
  full.bytes_largest_free = full.bytes_free;
  give(full, out);
  return {TENON_OK, 0, nullptr};
}

tenon_status trace(tenon_device* handle, const tenon_sink* sink) {
  return guarded([&] {
    if (sink) check_flags(sink->flags, 0, "trace");
    as_device(handle)->tracer.set(sink);
  });
}

tenon_backend entries() {
  tenon_backend table{};
  table.enumerate = enumerate;
  table.device_open = device_open;
  table.device_close = device_close;
  table.supports = supports;
  table.compile = compile;
  table.program_destroy = program_destroy;
  table.buffer_alloc = buffer_alloc;
  table.buffer_free = buffer_free;
  table.queue_create = queue_create;
  table.queue_destroy = queue_destroy;
  table.copy = copy;
  table.run = run;
  table.wait = wait;
  table.stats = stats;
  table.trace = trace;
  table.describe = describe;
  return table;
}

}  // namespace
}  // namespace host_entries

tenon_status init_host_backend(const HostBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] { give(make_table<host_entries::Backend>(config, host, host_entries::entries()), out); });
}

}  // namespace tenon::plugin
