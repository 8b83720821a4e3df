// The table of every backend: its units, devices and buffers, and what init gives.
#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/handles.h"
#include "tenon/op/table.h"

namespace tenon::plugin {
namespace entries {
namespace {

tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return guarded([&] {
    const std::vector<tenon_unit> found = static_cast<const Backend*>(self)->enumerate(spec ? spec : "");
    const size_t room = units ? *count : 0;
    *count = static_cast<uint32_t>(found.size());
    for (size_t i = 0; i < std::min(found.size(), room); ++i)
      std::memcpy(reinterpret_cast<uint8_t*>(units) + i * stride, &found[i],
                  std::min<uint64_t>(stride, sizeof found[i]));
  });
}

// No list names the first.
std::vector<uint32_t> named_units(const tenon_open& open, size_t n) {
  std::vector<uint32_t> units;
  for (uint32_t i = 0; i < open.n_units; ++i) {
    const uint32_t unit = open.units[i];
    const bool again = std::count(units.begin(), units.end(), unit) != 0;
    if (unit >= n || again)
      throw Error(TENON_INVALID, "device_open: unit " + std::to_string(unit) +
                                     (again ? " is named twice" : ", expected one below " + std::to_string(n)));
    units.push_back(unit);
  }
  return units.empty() ? std::vector<uint32_t>{0} : units;
}

tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return guarded([&] {
    const auto& backend = *static_cast<const Backend*>(self);
    const tenon_open open = known(given);
    check_flags(open.flags, 0, "device_open");
    const std::string spec = open.spec ? open.spec : "";
    const std::vector<uint32_t> units = named_units(open, backend.enumerate(spec).size());
    *out = reinterpret_cast<tenon_device*>(backend.open(spec, units).release());
  });
}

void device_close(tenon_device* device) { delete reinterpret_cast<Device*>(device); }

tenon_status buffer_alloc(tenon_device* handle, const tenon_desc* given, tenon_buffer** out, void** host) {
  Device& device = as_device(handle);
  return on_device(device, [&] {
    const tenon_desc desc = known(given);
    check_flags(desc.flags, TENON_DESC_HOST, "buffer_alloc");
    auto buffer = std::unique_ptr<Buffer>(new Buffer{device.memory, dense_bytes(desc)});
    buffer->memory = device.memory.allocate(buffer->bytes, "buffer_alloc");
    const bool shown = desc.flags & TENON_DESC_HOST;
    if (shown && !device.on_host()) {
      buffer->host = static_cast<uint8_t*>(device.driver->allocate_host(buffer->host_bytes()));
      if (!buffer->host)
        throw Error(TENON_OUT_OF_MEMORY,
                    "buffer_alloc: out of the host's memory for " + std::to_string(buffer->bytes) + " bytes");
    }
    if (host) *host = !shown ? nullptr : device.on_host() ? buffer->memory : buffer->host;
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
  });
}

void buffer_free(tenon_buffer* buffer) { delete as_buffer(buffer); }

tenon_status stats(tenon_device* handle, tenon_stats* out) {
  return guarded([&] {
    check_flags(out->flags, 0, "stats");
    give(as_device(handle).memory.stats(), out);
  });
}

tenon_status trace(tenon_device* handle, const tenon_sink* sink) {
  return guarded([&] {
    if (sink) check_flags(sink->flags, 0, "trace");
    as_device(handle).tracer.set(sink);
  });
}

tenon_status facts(tenon_device* handle, tenon_facts* out) {
  return guarded([&] {
    check_flags(out->flags, 0, "facts");
    const DeviceFacts& known = as_device(handle).facts;
    const auto told = [](const std::string& fact) { return fact.empty() ? nullptr : fact.c_str(); };
    tenon_facts full{};
    full.kind = told(known.kind);
    full.vendor = told(known.vendor);
    full.driver = told(known.driver);
    full.topology = told(known.topology);
    full.trace_clock = TENON_CLOCK_MONOTONIC;  // a step's time is told by waiting for it
    give(full, out);
  });
}

void check_ops(const char* backend, const KernelTable& table) {
  std::string found;  // the first by name
  for (const std::string& op : table.ops()) {
    const bool own = op.find('.') != std::string::npos || op.rfind(backend, 0) == 0;
    if (!own && !op::find(op) && (found.empty() || op < found)) found = op;
  }
  if (!found.empty())
    throw Error(TENON_INVALID, "tenon_backend_init: the table has op '" + found + "', which is none of Tenon's");
}

// A table has no end: what it points to lives for ever, where a leak checker sees it.
Backend* keep_for_ever(std::unique_ptr<Backend> backend) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Backend>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(backend));
  return kept.back().get();
}

}  // namespace
}  // namespace entries

tenon_backend make_table(std::unique_ptr<Backend> backend, const tenon_host* host, const char* name,
                         const char* version, void (*fill)(KernelTable&)) {
  if (host) backend->host = known(host);
  check_flags(backend->host.flags, 0, "tenon_backend_init");
  if (fill) fill(backend->table);
  entries::check_ops(name, backend->table);
  tenon_backend table{};
  table.abi_major = TENON_ABI_MAJOR;
  table.abi_minor = TENON_ABI_MINOR;
  table.name = name;
  table.version = version;
  table.enumerate = entries::enumerate;
  table.device_open = entries::device_open;
  table.device_close = entries::device_close;
  table.supports = entries::supports;
  table.compile = entries::compile;
  table.program_destroy = entries::program_destroy;
  table.buffer_alloc = entries::buffer_alloc;
  table.buffer_free = entries::buffer_free;
  table.queue_create = entries::queue_create;
  table.queue_destroy = entries::queue_destroy;
  table.copy = entries::copy;
  table.run = entries::run;
  table.wait = entries::wait;
  table.stats = entries::stats;
  table.error_info = entries::error_info;
  table.facts = entries::facts;
  if (!backend->whole_graphs) table.trace = entries::trace, table.describe = entries::describe;
  table.self = entries::keep_for_ever(std::move(backend));
  return table;
}

}  // namespace tenon::plugin
