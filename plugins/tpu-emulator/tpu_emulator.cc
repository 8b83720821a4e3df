// tpu-emulator.so: a TPU that is not there. It refuses what a TPU refuses, computes with a TPU's numbers on another
// backend, one copy for all cores, and says what a step would take. Data flow: spec -> rules -> forecast -> rounding ->
// replicas -> the backend below.
#include <chrono>

#include "handles.h"
#include "tenon/plugin/host_backend.h"

namespace tpu {
namespace {

using namespace tenon::plugin;

constexpr char kName[] = "tpu-emulator", kVersion[] = "1.0";

tenon_unit unit_of(const Machine& machine, int core, const tenon_unit& inner) {
  tenon_unit unit{};
  unit.flags = TENON_UNIT_EMULATED | (inner.flags & TENON_UNIT_INLINE);
  unit.kind = TENON_ACCELERATOR;
  const int per_host = machine.cores / machine.hosts;
  unit.host = static_cast<uint32_t>(core / per_host);
  unit.feed_depth = inner.feed_depth;
  unit.memory_bytes = machine.reported_memory_bytes;
  unit.max_buffer_bytes = machine.usable_bytes();
  std::snprintf(unit.name, sizeof unit.name, "TPU:%d of a %s, emulated", core, machine.name.c_str());
  std::snprintf(unit.version, sizeof unit.version, "%s", kVersion);
  return unit;
}

tenon_unit first_unit(const tenon_backend& inner) {
  tenon_unit unit{};
  uint32_t count = 1;
  check(inner.enumerate(inner.self, nullptr, &unit, sizeof unit, &count));
  if (count == 0) throw Error(TENON_UNAVAILABLE, std::string("backend ") + inner.name + " has no units");
  return unit;
}

tenon_status enumerate(void* self, const char* text, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return entry([&] {
    const Spec spec = parse_spec(text);
    const Machine machine = load_machine(spec.machine);
    const uint32_t room = *count;
    *count = static_cast<uint32_t>(machine.cores);
    if (!units || room == 0) return;
    const tenon_unit inner = first_unit(as(self)->open_inner(spec.backend));
    for (uint32_t i = 0; i < std::min(room, *count); ++i) {
      const tenon_unit unit = unit_of(machine, static_cast<int>(i), inner);
      std::memcpy(reinterpret_cast<char*>(units) + i * stride, &unit, std::min<uint64_t>(stride, sizeof unit));
    }
  });
}

// The part of a machine that was opened.
Machine opened_part(Machine machine, uint32_t units) {
  const int per_host = machine.cores / machine.hosts;
  machine.cores = static_cast<int>(units);
  machine.hosts = (machine.cores + per_host - 1) / per_host;
  return machine;
}

void check_units(const tenon_open& open, const Machine& machine) {
  std::vector<bool> taken(static_cast<size_t>(machine.cores), false);
  for (uint32_t i = 0; i < open.n_units && open.units; ++i) {
    const std::string which = "device_open: unit " + std::to_string(open.units[i]);
    if (open.units[i] >= taken.size())
      throw Error(TENON_INVALID, which + ", but " + machine.name + " has " + std::to_string(machine.cores));
    if (taken[open.units[i]]) throw Error(TENON_INVALID, which + " is named twice");
    taken[open.units[i]] = true;
  }
}

// Chips of a slice in rows and columns: "2x2x1" of four.
std::string topology_of(const Machine& machine) {
  const int chips = std::max(machine.cores / machine.cores_per_chip, 1);
  int rows = 1;
  for (int i = 1; i * i <= chips; ++i)
    if (chips % i == 0) rows = i;
  return std::to_string(rows) + "x" + std::to_string(chips / rows) + "x1";
}

tenon_status device_open(void* self, const tenon_open* given, tenon_device** out) {
  return entry([&] {
    const auto begun = std::chrono::steady_clock::now();
    const tenon_open open = known(given);
    check_flags(open.flags, 0, "device_open");
    const Spec spec = parse_spec(open.spec);
    const Machine machine = load_machine(spec.machine);
    check_units(open, machine);
    Backend& backend = *as(self);
    const tenon_backend& inner = backend.open_inner(spec.backend);
    const uint32_t units = open.n_units ? open.n_units : static_cast<uint32_t>(machine.cores);
    auto device = std::make_unique<Device>(&backend, &inner, spec, opened_part(machine, units), units);
    device->topology = topology_of(device->machine);
    device->driver = std::string(kName) + " " + kVersion + " over " + spec.backend;
    const uint32_t first = 0;
    tenon_open below{};
    below.struct_size = sizeof below;
    below.units = &first;
    below.n_units = 1;
    check(inner.device_open(inner.self, &below, &device->handle));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    device->log.found(device->machine, taken.count());
    *out = reinterpret_cast<tenon_device*>(device.release());
  });
}

void device_close(tenon_device* handle) {
  Device* device = as(handle);
  if (!device) return;
  device->log.shut_down();
  device->inner->device_close(device->handle);
  delete device;
}

tenon_status facts(tenon_device* handle, tenon_facts* out) {
  return entry([&] {
    check_flags(out->flags, 0, "facts");
    tenon_facts full{};
    full.kind = "TPU";
    full.vendor = "Google";
    full.driver = as(handle)->driver.c_str();
    full.topology = as(handle)->topology.c_str();
    full.trace_clock = TENON_CLOCK_PREDICTED;
    give(full, out);
  });
}

// What the backend below counts; free is no more than the emulated units have.
tenon_status stats(tenon_device* handle, tenon_stats* out) {
  const Device& device = *as(handle);
  if (!device.inner->stats) return {TENON_UNSUPPORTED, 0, "stats: the backend below does not count its memory"};
  tenon_stats full{};
  full.struct_size = sizeof full;
  full.flags = out->flags;
  const tenon_status status = device.inner->stats(device.handle, &full);
  if (status.code != TENON_OK) return status;
  const uint64_t memory = device.machine.reported_memory_bytes * device.units;
  full.bytes_free = std::min(full.bytes_free, memory - std::min(memory, full.bytes_in_use));
  full.bytes_largest_free = std::min(full.bytes_largest_free, full.bytes_free);
  give(full, out);
  return status;
}

}  // namespace

const tenon_backend& Backend::open_inner(const std::string& name) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = inner.find(name); found != inner.end()) return *found->second;
  }
  if (!host.open_backend) throw Error(TENON_UNAVAILABLE, "the host opens no backends, and '" + name + "' is needed");
  auto table = std::make_unique<tenon_backend>();
  table->struct_size = sizeof *table;
  check(host.open_backend(host.ctx, name.c_str(), table.get()));  // not under the lock: it calls the host
  const std::lock_guard lock(mutex);
  return *inner.try_emplace(name, std::move(table)).first->second;
}

}  // namespace tpu

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  return tpu::entry([&] {
    auto backend = std::make_unique<tpu::Backend>();
    backend->host = host ? tenon::plugin::known(host) : tenon_host{};
    tenon::plugin::check_flags(backend->host.flags, 0, "tenon_backend_init");
    tenon_backend table{};
    table.abi_major = TENON_ABI_MAJOR;
    table.abi_minor = TENON_ABI_MINOR;
    static auto& kept = *new std::vector<std::unique_ptr<tpu::Backend>>;  // for ever: a table has no end
    kept.push_back(std::move(backend));
    table.self = kept.back().get();
    table.name = tpu::kName;
    table.version = tpu::kVersion;
    table.enumerate = tpu::enumerate;
    table.device_open = tpu::device_open;
    table.device_close = tpu::device_close;
    table.supports = tpu::supports;
    table.compile = tpu::compile;
    table.program_destroy = tpu::program_destroy;
    table.buffer_alloc = tpu::buffer_alloc;
    table.buffer_free = tpu::buffer_free;
    table.queue_create = tpu::queue_create;
    table.queue_destroy = tpu::queue_destroy;
    table.copy = tpu::copy;
    table.run = tpu::run;
    table.wait = tpu::wait;
    table.stats = tpu::stats;
    table.trace = tpu::trace;
    table.extension = tpu::extension;
    table.describe = tpu::describe;
    table.error_info = tpu::error_info;
    table.facts = tpu::facts;
    tenon::plugin::give(table, out);
  });
}
