// A device with memory of its own (tenon/plugin/device_backend.h): its table, its units, devices and buffers.
#include "tenon/plugin/device_backend.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/backend_table.h"
#include "runtime/device/device_handles.h"

namespace tenon::plugin {
namespace device_entries {
namespace {

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

tenon_status stats(tenon_device* handle, tenon_stats* out) {
  return guarded([&] { give(as_device(handle)->memory->stats(), out); });
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
}  // namespace device_entries

tenon_status init_device_backend(const DeviceBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] { give(make_table<device_entries::Backend>(config, host, device_entries::entries()), out); });
}

}  // namespace tenon::plugin
