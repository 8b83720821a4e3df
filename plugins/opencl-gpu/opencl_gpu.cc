// opencl-gpu.so: any OpenCL 1.2 device.
#include "devices.h"
#include "driver.h"
#include "fuse_chains.h"
#include "table.h"
#include "tenon/plugin/device_backend.h"
#include "tenon/plugin/host_backend.h"

namespace opencl_gpu {
namespace {

std::unique_ptr<tenon::plugin::DeviceDriver> open_device(const std::string& spec, uint32_t unit,
                                                         const tenon_host& host) {
  return std::make_unique<Driver>(devices_of(spec).at(unit), host);
}

}  // namespace
}  // namespace opencl_gpu

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  static const tenon::plugin::DeviceBackend backend{"opencl-gpu",
                                                    "1.0",
                                                    opencl_gpu::fill_table,
                                                    opencl_gpu::enumerate_devices,
                                                    opencl_gpu::open_device,
                                                    opencl_gpu::fuse_chains_for};
  return tenon::plugin::init_device_backend(backend, host, out);
}
