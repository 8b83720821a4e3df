#include "device/launch.h"

#include <algorithm>

namespace opencl_gpu {

Launch::Launch(Driver& driver, KernelObject kernel, const std::string& name)
    : driver_(&driver), state_(std::make_shared<State>()) {
  state_->kernel = std::move(kernel);
  state_->name = name;
}

Launch::Launch(Driver& driver, const std::string& file, const std::string& name, const std::string& options)
    : Launch(driver, driver.kernel(file, name, options), name) {}

Launch Launch::of_text(Driver& driver, const std::string& text, const std::string& name, const std::string& options) {
  return Launch(driver, driver.kernel_of_text(text, name, options), name);
}

Launch& Launch::memory(Kind kind, int index, uint64_t offset) {
  state_->memory.push_back({kind, index, state_->arguments, offset});
  state_->arguments += 2;
  return *this;
}

Launch& Launch::bytes(const void* data, size_t size) {
  check(clSetKernelArg(state_->kernel.get(), state_->arguments++, size, data), state_->name.c_str());
  return *this;
}

Launch& Launch::items(uint64_t n, uint64_t grain) {
  n = std::max<uint64_t>((n + grain - 1) / grain, 1);
  if (driver_->style() == KernelStyle::kCpu) {
    constexpr uint64_t kLeast = 2048;  // a work-group costs about what so many additions do
    const uint64_t pieces = grain > 1 ? n : (n + kLeast - 1) / kLeast;
    return groups({std::min<uint64_t>(pieces, 4 * driver_->compute_units())}, {1});
  }
  constexpr uint64_t kLocal = 128;
  return groups({std::min<uint64_t>((n + kLocal - 1) / kLocal, 32 * driver_->compute_units())}, {kLocal});
}

Launch& Launch::groups(std::vector<size_t> n, std::vector<size_t> local) {
  local.resize(n.size(), 1);
  size_t items = 1;
  for (const size_t along : local) items *= along;
  driver_->check_group(state_->kernel.get(), state_->name, items);
  for (size_t axis = 0; axis < n.size(); ++axis) n[axis] *= local[axis];
  state_->global = std::move(n);
  state_->local = std::move(local);
  return *this;
}

void Launch::operator()(const Call& call) const {
  const State& s = *state_;
  for (const Memory& m : s.memory) {
    tenon::plugin::DeviceAddress a = m.kind == kOperand  ? call.in_address(m.index)
                                     : m.kind == kResult ? call.out_address(m.index)
                                                         : call.scratch_address();
    a.offset += m.offset;
    // A handle may be that of another memory by now: it is set each time.
    cl_mem memory = static_cast<cl_mem>(a.memory);
    check(clSetKernelArg(s.kernel.get(), m.argument, sizeof memory, a.memory ? &memory : nullptr), s.name.c_str());
    if (a.offset == m.set_offset) continue;
    const cl_ulong offset = a.offset;
    check(clSetKernelArg(s.kernel.get(), m.argument + 1, sizeof offset, &offset), s.name.c_str());
    m.set_offset = a.offset;
  }
  check(clEnqueueNDRangeKernel(static_cast<Stream*>(call.stream)->queue(), s.kernel.get(),
                               static_cast<cl_uint>(s.global.size()), nullptr, s.global.data(), s.local.data(), 0,
                               nullptr, nullptr),
        s.name.c_str());
}

Kernel kernel_of(std::vector<Launch> launches, uint64_t scratch_bytes) {
  Kernel kernel;
  kernel.scratch_bytes = scratch_bytes;
  kernel.run = [launches = std::move(launches)](const Call& call) {
    for (const Launch& launch : launches) launch(call);
  };
  return kernel;
}

}  // namespace opencl_gpu
