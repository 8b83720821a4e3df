#include <cstring>

#include "handles.h"

namespace tpu {
namespace {

tenon_status step(const tenon_program* handle, tenon_forecast_step* out) {
  return entry([&] {
    tenon::plugin::check_flags(out->flags, 0, "the forecast's step");
    const Program& program = *as(handle);
    const Forecast& f = program.forecast;
    const Device& device = *program.device;
    const auto ns = [](double seconds) { return static_cast<uint64_t>(seconds * 1e9); };
    tenon_forecast_step step{};
    step.machine = device.machine.name.c_str();
    step.software = device.machine.software.c_str();
    step.bottleneck = f.bottleneck.c_str();
    step.advice = program.advice.c_str();
    step.validated = device.machine.validated;
    step.units = static_cast<uint32_t>(device.machine.cores);
    step.hosts = static_cast<uint32_t>(device.machine.hosts);
    step.n_kernels = static_cast<uint32_t>(program.kernels.size());
    step.step_ns = ns(f.step_s);
    step.device_ns = ns(f.device_s);
    step.infeed_ns = ns(f.infeed_s);
    step.outfeed_ns = ns(f.outfeed_s);
    step.host_ns = ns(f.host_s);
    step.collective_ns = ns(f.collective_s);
    step.update_ns = ns(f.update_s);
    step.flops = f.flops;
    step.flops_per_second = static_cast<uint64_t>(device.machine.peak_flops());
    step.kernels = program.kernels.data();
    step.kernel_stride = sizeof(tenon_forecast_kernel);
    step.arguments = program.arguments.data();
    step.argument_stride = sizeof(tenon_forecast_argument);
    step.n_arguments = static_cast<uint32_t>(program.arguments.size());
    step.bytes_per_second = static_cast<uint64_t>(device.machine.hbm_peak_bytes_per_s);
    const double cores =
        static_cast<double>(device.machine.cores) / device.machine.hosts;  // which share a host's feeds
    step.out_bytes_per_second = static_cast<uint64_t>(device.machine.outfeed_bytes_per_s / cores);
    step.back_bytes_per_second = static_cast<uint64_t>(device.machine.infeed_bytes_per_s / cores);
    step.paddings = program.paddings.data();
    step.padding_stride = sizeof(tenon_forecast_padding);
    step.n_paddings = static_cast<uint32_t>(program.paddings.size());
    tenon::plugin::give(step, out);
  });
}

// Found when the library was loaded last; the text lives for ever.
const char* machines(void*) {
  static const std::string& names = *new std::string([] {
    std::string out;
    for (const std::string& name : machine_names()) out += (out.empty() ? "" : "\n") + name;
    return out;
  }());
  return names.c_str();
}

// What TensorFlow lists for each host beside its cores.
const char* beside(void*, const char* text) {
  static thread_local std::string lines;
  lines.clear();
  const tenon_status status = entry([&] {
    const Machine machine = load_machine(parse_spec(text).machine);
    for (int host = 0; host < machine.hosts; ++host)
      lines += "TPU_SYSTEM:0 of a " + machine.name + ", emulated" +
               (machine.hosts > 1 ? ", host " + std::to_string(host) : "") + "\n";
  });
  return status.code == TENON_OK ? lines.c_str() : nullptr;
}

}  // namespace

const void* extension(void*, const char* name, uint32_t version) {
  static const tenon_forecast table{sizeof table, 0, step, machines, beside};
  return name && version == 1 && std::strcmp(name, TENON_FORECAST) == 0 ? &table : nullptr;
}

}  // namespace tpu
