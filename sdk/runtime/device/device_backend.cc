// Backends for devices with memory of their own (tenon/plugin/device_backend.h).
#include "tenon/plugin/device_backend.h"

#include <string>

#include "runtime/device/stream_executor.h"
#include "runtime/handles.h"

namespace tenon::plugin {
namespace {

std::vector<tenon_unit> device_units(const DeviceBackend& config, const std::string& spec) {
  std::vector<tenon_unit> units = config.enumerate(spec);
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].flags = 0;
    units[i].domain = static_cast<uint32_t>(i);  // each is a device of its own
    units[i].feed_depth = StreamExecutor::kFeedDepth;
  }
  return units;
}

}  // namespace

tenon_status init_device_backend(const DeviceBackend& config, const tenon_host* host, tenon_backend* out) {
  return guarded([&] {
    auto backend = std::make_unique<Backend>();
    backend->rewrite = config.rewrite;
    backend->enumerate = [&config](const std::string& spec) { return device_units(config, spec); };
    backend->open = [&config, self = backend.get()](const std::string& spec, const std::vector<uint32_t>& units) {
      if (units.size() > 1) throw Error(TENON_INVALID, "device_open: one unit is a device here, several are not");
      return std::make_unique<Device>(*self, Execution::kStream, config.open(spec, units[0], self->host));
    };
    give(make_table(std::move(backend), host, config.name, config.version, config.fill), out);
  });
}

}  // namespace tenon::plugin
