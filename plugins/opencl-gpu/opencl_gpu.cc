// opencl-gpu.so: any OpenCL 1.2 device.
#include "device/devices.h"
#include "device/driver.h"
#include "device/table.h"
#include "fuse/fuse_chains.h"
#include "fuse/joint_products.h"
#include "fuse/joint_updates.h"
#include "products/pooled.h"
#include "tenon/plugin/device_backend.h"
#include "tenon/plugin/host_backend.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::Env;
using tenon::plugin::GraphView;
using tenon::plugin::NodeView;
using tenon::plugin::Rewritten;

std::unique_ptr<tenon::plugin::DeviceDriver> open_device(const std::string& spec, uint32_t unit,
                                                         const tenon_host& host) {
  return std::make_unique<Driver>(devices_of(spec, &host).at(unit), host);
}

Rewritten rewrite(const GraphView& given, const Env& env) {
  std::vector<tenon::plugin::Pattern> patterns =
      tenon::plugin::pool_patterns(kOwn, [&](const NodeView& conv) { return pooled_suits(conv, env); });
  patterns.emplace_back(join_updates);
  patterns.emplace_back(join_products);
  Rewritten fused = tenon::plugin::rewrite(given, patterns);
  Rewritten chained = fuse_chains_for(tenon::plugin::graph_after(fused, given), env);
  return tenon::plugin::joined(std::move(fused), std::move(chained));
}

}  // namespace
}  // namespace opencl_gpu

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  static const tenon::plugin::DeviceBackend backend{
      "opencl-gpu",       "1.0", opencl_gpu::fill_table, opencl_gpu::enumerate_devices, opencl_gpu::open_device,
      opencl_gpu::rewrite};
  return tenon::plugin::init_device_backend(backend, host, out);
}
