#include "device/driver.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tenon/plugin/host_limits.h"

namespace opencl_gpu {

using tenon::plugin::DeviceAddress;
using tenon::plugin::DeviceMark;
using tenon::plugin::DeviceStream;
using tenon::plugin::host_has_room;
using tenon::plugin::NodeView;

namespace {

cl_mem memory_of(DeviceAddress a) { return static_cast<cl_mem>(a.memory); }

class Mark : public DeviceMark {
 public:
  explicit Mark(cl_event event) : event_(event) {}
  cl_event event() const { return event_.get(); }

  bool reached(uint64_t timeout_ns) override {
    constexpr uint64_t kForEver = uint64_t{1} << 62;
    if (timeout_ns >= kForEver && !is_done()) {
      cl_event event = event_.get();
      clWaitForEvents(1, &event);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kForEver / 2));
    while (!is_done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

 private:
  bool is_done() const {
    cl_int status = CL_COMPLETE;
    check(clGetEventInfo(event_.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
          "clGetEventInfo");
    check_work(status);
    return status == CL_COMPLETE;
  }
  Event event_;
};

}  // namespace

// ---- streams ----

Stream::Stream(cl_context context, cl_device_id device) {
  cl_int code = CL_SUCCESS;
  queue_.reset(clCreateCommandQueue(context, device, 0, &code));
  check(code, "clCreateCommandQueue");
}

Stream::~Stream() { clFinish(queue_.get()); }

void Stream::copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  check(clEnqueueCopyBuffer(queue_.get(), memory_of(from), memory_of(to), from.offset, to.offset, bytes, 0, nullptr,
                            nullptr),
        "clEnqueueCopyBuffer");
}

void Stream::write(DeviceAddress to, const void* from, uint64_t bytes) {
  check(clEnqueueWriteBuffer(queue_.get(), memory_of(to), CL_FALSE, to.offset, bytes, from, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void Stream::read(void* to, DeviceAddress from, uint64_t bytes) {
  check(clEnqueueReadBuffer(queue_.get(), memory_of(from), CL_FALSE, from.offset, bytes, to, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void Stream::set(DeviceAddress to, const void* element, uint32_t width) {
  check(clEnqueueFillBuffer(queue_.get(), memory_of(to), element, width, to.offset, width, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
}

void Stream::clear(DeviceAddress to, uint64_t bytes) {
  const cl_uchar zero = 0;
  check(clEnqueueFillBuffer(queue_.get(), memory_of(to), &zero, sizeof zero, to.offset, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
}

void Stream::after(DeviceMark& mark) {
  cl_event event = static_cast<Mark&>(mark).event();
  check(clEnqueueBarrierWithWaitList(queue_.get(), 1, &event, nullptr), "clEnqueueBarrierWithWaitList");
}

std::shared_ptr<DeviceMark> Stream::submit() {
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  auto mark = std::make_shared<Mark>(event);
  check(clFlush(queue_.get()), "clFlush");
  return mark;
}

// ---- the device ----

OpenDevice& OpenDevice::of(const Found& found) {
  static std::mutex mutex;
  static auto& all = *new std::map<cl_device_id, OpenDevice>;
  const std::lock_guard lock(mutex);
  OpenDevice& device = all[found.device];
  if (device.context) return device;
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(found.platform), 0};
  device.context.reset(clCreateContext(properties, 1, &found.device, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  return device;
}

tenon::plugin::DeviceFacts Driver::facts() const {
  const bool cpu = found_.type & CL_DEVICE_TYPE_CPU, gpu = found_.type & CL_DEVICE_TYPE_GPU;
  return {cpu   ? "CPU"
          : gpu ? "GPU"
                : "",
          device_text(found_.device, CL_DEVICE_VENDOR),
          device_text(found_.device, CL_DEVICE_VERSION) + " " + found_.version, "1"};
}

namespace {

// TENON_OPENCL_SHAPE's, or the device's.
KernelStyle style_of(const Found& found, const tenon_host& host) {
  constexpr size_t kLeastGroup = 256, kLeastLocal = 17 << 10;  // what kernels for GPUs take
  const char* forced = std::getenv("TENON_OPENCL_SHAPE");
  const std::string shape = forced ? forced : found.type & CL_DEVICE_TYPE_CPU ? "cpu" : "gpu";
  if (shape != "cpu" && shape != "gpu")
    throw Error(TENON_INVALID, "TENON_OPENCL_SHAPE: expected cpu or gpu, found '" + shape + "'");
  const size_t group = device_info<size_t>(found.device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  const cl_ulong local = device_info<cl_ulong>(found.device, CL_DEVICE_LOCAL_MEM_SIZE);
  if (shape == "cpu") return KernelStyle::kCpu;
  if (group >= kLeastGroup && local >= kLeastLocal) return KernelStyle::kGpu;
  const auto limits = [](size_t items, uint64_t bytes) {
    return "work-groups of " + std::to_string(items) + " and " + std::to_string(bytes) + " bytes of local memory";
  };
  if (forced)
    throw Error(TENON_INVALID, "TENON_OPENCL_SHAPE=gpu: expected at least " + limits(kLeastGroup, kLeastLocal) +
                                   ", found " + limits(group, local) + " on " + found.name);
  if (host.log)
    host.log(host.ctx, TENON_LOG_INFO,
             ("opencl-gpu: takes kernels of CPUs on " + found.name + ": it has " + limits(group, local)).c_str());
  return KernelStyle::kCpu;
}

uint64_t registers_of(cl_device_id device) {
  constexpr cl_device_info kRegistersPerBlock = 0x4002;  // of cl_nv_device_attribute_query
  const bool tells =
      device_text(device, CL_DEVICE_EXTENSIONS).find("cl_nv_device_attribute_query") != std::string::npos;
  return tells ? device_info<cl_uint>(device, kRegistersPerBlock) : 0;
}

// The device's width, or TENON_OPENCL_WIDTH where kernels are those for CPUs.
uint32_t float_width_of(cl_device_id device, KernelStyle style) {
  const cl_uint native = device_info<cl_uint>(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  const char* forced = std::getenv("TENON_OPENCL_WIDTH");
  if (!forced) return std::max(native, cl_uint{1});
  const std::string width = forced;
  if (width != "4" && width != "8" && width != "16")
    throw Error(TENON_INVALID, "TENON_OPENCL_WIDTH: expected 4, 8 or 16, found '" + width + "'");
  return style == KernelStyle::kCpu ? static_cast<uint32_t>(std::stoul(width)) : std::max(native, cl_uint{1});
}

}  // namespace

Driver::Driver(const Found& found, const tenon_host& host) : found_(found), host_(host) {
  style_ = style_of(found, host);
  device_ = &OpenDevice::of(found);
  memory_ = memory_bytes_of(found);
  max_buffer_ = largest_buffer_of(found);
  local_bytes_ = device_info<cl_ulong>(found.device, CL_DEVICE_LOCAL_MEM_SIZE);
  registers_ = registers_of(found.device);
  compute_units_ = std::max(device_info<cl_uint>(found.device, CL_DEVICE_MAX_COMPUTE_UNITS), cl_uint{1});
  float_width_ = float_width_of(found.device, style_);
  // PoCL has a cache of its own, of kernels as they run; asking it for a binary costs more than reading that.
  const bool pocl = found.name.find("(PoCL)") != std::string::npos;
  keeps_programs_ = !pocl || std::getenv("TENON_OPENCL_KEEP_PROGRAMS");
  cl_int code = CL_SUCCESS;
  side_.reset(clCreateCommandQueue(device_->context.get(), found.device, 0, &code));
  check(code, "clCreateCommandQueue");
  has_f64_ = device_info<cl_device_fp_config>(found.device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
}

void* Driver::allocate(uint64_t bytes) {
  if (bytes > max_buffer_)
    throw Error(TENON_OUT_OF_MEMORY, "a buffer of " + std::to_string(bytes) +
                                         " bytes is more than this device's largest, " + std::to_string(max_buffer_));
  constexpr uint64_t kLarge = 2u << 20;  // what is worth asking the system for
  if (bytes >= kLarge && in_host_memory(found_) && !host_has_room(bytes)) return nullptr;
  cl_int code = CL_SUCCESS;
  const cl_mem memory =
      clCreateBuffer(device_->context.get(), CL_MEM_READ_WRITE, std::max<uint64_t>(bytes, 64), nullptr, &code);
  if (code == CL_SUCCESS && !(found_.type & CL_DEVICE_TYPE_CPU) && !is_there(memory)) {
    clReleaseMemObject(memory);
    return nullptr;
  }
  if (code != CL_SUCCESS && code != CL_DEVICE_NOT_AVAILABLE) return nullptr;
  check(code, "clCreateBuffer");
  return memory;
}

// Many drivers look for memory when it is first used: that should not be in a step.
bool Driver::is_there(cl_mem memory) {
  const cl_uint zero = 0;
  const std::lock_guard lock(mutex_);
  return clEnqueueFillBuffer(side_.get(), memory, &zero, sizeof zero, 0, sizeof zero, 0, nullptr, nullptr) ==
             CL_SUCCESS &&
         clFinish(side_.get()) == CL_SUCCESS;
}

void Driver::release(void* memory, uint64_t) { clReleaseMemObject(static_cast<cl_mem>(memory)); }

// Memory that the driver has pinned, for devices behind a bus.
void* Driver::allocate_host(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  if (!host_has_room(bytes)) return nullptr;
  if (style_ == KernelStyle::kCpu) return std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  cl_int code = CL_SUCCESS;
  const cl_mem pinned = clCreateBuffer(device_->context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       std::max<uint64_t>(bytes, 64), nullptr, &code);
  if (code != CL_SUCCESS) return nullptr;
  const std::lock_guard lock(mutex_);
  void* host = clEnqueueMapBuffer(side_.get(), pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr,
                                  nullptr, &code);
  if (code != CL_SUCCESS || reinterpret_cast<uintptr_t>(host) % 64) {
    clReleaseMemObject(pinned);
    return nullptr;
  }
  pinned_[host] = pinned;
  return host;
}

void Driver::release_host(void* host, uint64_t) {
  if (style_ == KernelStyle::kCpu) return std::free(host);
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(host);
  clEnqueueUnmapMemObject(side_.get(), found->second, host, 0, nullptr, nullptr);
  clFinish(side_.get());
  clReleaseMemObject(found->second);
  pinned_.erase(found);
}

std::unique_ptr<DeviceStream> Driver::open_stream() {
  return std::make_unique<Stream>(device_->context.get(), found_.device);
}

void Driver::check_group(cl_kernel kernel, const std::string& name, size_t items) const {
  const auto most = kernel_info<size_t>(kernel, found_.device, CL_KERNEL_WORK_GROUP_SIZE);
  const auto local = static_cast<uint64_t>(kernel_info<cl_ulong>(kernel, found_.device, CL_KERNEL_LOCAL_MEM_SIZE));
  if (items <= most && local <= local_bytes_) return;
  throw TooLarge(TENON_INTERNAL, "kernel '" + name + "' wants work-groups of " + std::to_string(items) + " with " +
                                     std::to_string(local) + " bytes of local memory; this device has groups of " +
                                     std::to_string(most) + " for it and " + std::to_string(local_bytes_) + " bytes");
}

std::string Driver::refusal(const NodeView& node) const {
  const auto refused = [&](const tenon::plugin::ValueView& v) -> std::string {
    if (!has_f64_ && v.dtype() == TENON_F64) return "this device has no f64";
    if (static_cast<uint64_t>(v.bytes()) > max_buffer_)
      return "a value of " + std::to_string(v.bytes()) + " bytes is more than this device's largest buffer, " +
             std::to_string(max_buffer_);
    return {};
  };
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i))
      if (std::string reason = refused(node.in(i)); !reason.empty()) return reason;
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i))
      if (std::string reason = refused(node.out(i)); !reason.empty()) return reason;
  return {};
}

}  // namespace opencl_gpu
