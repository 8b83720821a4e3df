// Backends in ordinary memory: made of a kernel table (tenon/plugin/host_backend.h), or of whole graphs
// (tenon/plugin/inline_backend.h).
#include "tenon/plugin/host_backend.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/handles.h"
#include "runtime/host/host_driver.h"

namespace tenon::plugin {
namespace {

// How many units a spec names: none or "0" is the first, "units=N" are N.
uint32_t units_of(const std::string& spec, uint32_t most) {
  if (spec.empty() || spec == "0") return 1;
  if (spec.compare(0, 6, "units=") == 0 && spec[6] >= '1' && spec[6] <= '9') {
    char* end = nullptr;
    const unsigned long n = std::strtoul(spec.c_str() + 6, &end, 10);
    if (*end == '\0' && n <= most) return static_cast<uint32_t>(n);
  }
  throw Error(TENON_UNAVAILABLE,
              most > 1 ? "no such spec: expected none, 0, or units=N with N from 1 to " + std::to_string(most)
                       : "no such spec: expected none, or 0, the only unit");
}

// Units are alike and share the memory.
std::vector<tenon_unit> host_units(const HostBackend& config, const std::string& spec) {
  tenon_unit unit{};
  unit.flags = config.worker_queues ? 0 : TENON_UNIT_INLINE;
  unit.kind = config.kind;
  unit.feed_depth = 1;
  unit.memory_bytes = unit.max_buffer_bytes = HostDriver::installed();
  std::snprintf(unit.name, sizeof unit.name, "%s", config.unit_name);
  std::snprintf(unit.version, sizeof unit.version, "%s", config.version);
  return std::vector<tenon_unit>(units_of(spec, config.max_units), unit);
}

// A kind that has no name that everybody knows is not told.
DeviceFacts facts_of(const HostBackend& config, size_t units) {
  const char* kind = config.kind == TENON_CPU ? "CPU" : config.kind == TENON_GPU ? "GPU" : "";
  const char* vendor = config.vendor ? config.vendor() : nullptr;
  return {kind, vendor ? vendor : "", std::string(config.name) + " " + config.version, std::to_string(units)};
}

std::unique_ptr<Device> open_host(const Backend& backend, const HostBackend& config, size_t units) {
  const bool workers = config.worker_queues;
  return std::make_unique<Device>(
      backend, workers ? Execution::kWorker : Execution::kInline,
      std::make_unique<HostDriver>(workers ? nullptr : &backend.host, workers, facts_of(config, units)),
      static_cast<uint32_t>(units));
}

HostBackend host_backend_of(const InlineBackend& config) { return {config.name, config.version, config.unit_name}; }

}  // namespace

tenon_status init_host_backend(const HostBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] {
    auto backend = std::make_unique<Backend>();
    backend->rewrite = config.rewrite;
    backend->unites_units = config.unites_units;
    backend->enumerate = [&config](const std::string& spec) { return host_units(config, spec); };
    backend->open = [&config, self = backend.get()](const std::string&, const std::vector<uint32_t>& units) {
      return open_host(*self, config, units.size());
    };
    give(make_table(std::move(backend), host, config.name, config.version, config.fill), out);
  });
}

tenon_status init_inline_backend(const InlineBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] {
    auto backend = std::make_unique<Backend>();
    backend->whole_graphs = &config;
    backend->enumerate = [&config](const std::string& spec) {
      std::vector<tenon_unit> units = host_units(host_backend_of(config), spec);
      if (config.check_available) config.check_available();
      return units;
    };
    backend->open = [&config, self = backend.get()](const std::string&, const std::vector<uint32_t>& units) {
      return open_host(*self, host_backend_of(config), units.size());
    };
    give(make_table(std::move(backend), host, config.name, config.version, nullptr), out);
  });
}

}  // namespace tenon::plugin
