#include "device/devices.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/plugin/host_limits.h"

namespace opencl_gpu {
namespace {

int rank_of(cl_device_type type) { return type & CL_DEVICE_TYPE_GPU ? 0 : type & CL_DEVICE_TYPE_ACCELERATOR ? 1 : 2; }

std::string platform_name(cl_platform_id platform) {
  char text[128] = {};
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text - 1, text, nullptr);
  return std::strcmp(text, "Portable Computing Language") == 0 ? "PoCL" : text;
}

// "NVIDIA H200 (NVIDIA CUDA)", in what a unit's name has room for.
std::string full_name(cl_device_id device, const std::string& platform) {
  constexpr size_t kRoom = sizeof tenon_unit{}.name - 1;
  std::string name = device_text(device, CL_DEVICE_NAME), of = " (" + platform.substr(0, kRoom / 2) + ")";
  return name.substr(0, kRoom - of.size()) + of;
}

// "OpenCL 1.2 .." and later.
bool is_recent(cl_device_id device) {
  int major = 0, minor = 0;
  if (std::sscanf(device_text(device, CL_DEVICE_VERSION).c_str(), "OpenCL %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 2);
}

// Why a device is not one of ours; empty: it is.
std::string lack_of(cl_device_id device) {
  if (!device_info<cl_bool>(device, CL_DEVICE_AVAILABLE)) return "is not available";
  if (!device_info<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE)) return "has no compiler";
  if (!is_recent(device)) return "is of " + device_text(device, CL_DEVICE_VERSION) + ", not of OpenCL 1.2";
  return {};
}

void add_devices(cl_platform_id platform, const tenon_host* host, std::vector<Found>& found) {
  cl_uint n = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS || n == 0) return;
  std::vector<cl_device_id> ids(n);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr) != CL_SUCCESS) return;
  for (cl_device_id id : ids) {
    const std::string name = full_name(id, platform_name(platform)), lack = lack_of(id);
    if (lack.empty()) {
      found.push_back(
          {platform, id, device_info<cl_device_type>(id, CL_DEVICE_TYPE), name, device_text(id, CL_DRIVER_VERSION)});
      continue;
    }
    const std::string line = std::string("opencl-gpu: passes over ").append(name).append(", which ").append(lack);
    if (host && host->log) host->log(host->ctx, TENON_LOG_DEBUG, line.c_str());
  }
}

}  // namespace

std::vector<Found> find_devices(const tenon_host* host) {
  cl_uint n = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &n);
  if (code != CL_SUCCESS || n == 0)
    throw Error(TENON_UNAVAILABLE, "no OpenCL platform is installed (" + error_name(code) +
                                       "); install the driver of your GPU, or pocl-opencl-icd to try it on the CPU");
  std::vector<cl_platform_id> platforms(n);
  check(clGetPlatformIDs(n, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<Found> found;
  for (cl_platform_id platform : platforms) add_devices(platform, host, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return rank_of(a.type) < rank_of(b.type); });
  if (found.empty())
    throw Error(TENON_UNAVAILABLE, std::to_string(n) + " OpenCL platform(s), the first " + platform_name(platforms[0]) +
                                       ", but no device of OpenCL 1.2 with a compiler that is available");
  return found;
}

std::vector<Found> devices_of(const std::string& spec, const tenon_host* host) {
  std::vector<Found> found = find_devices(host);
  if (spec.empty()) return found;
  char* end = nullptr;
  const unsigned long index = std::strtoul(spec.c_str(), &end, 10);
  if (spec[0] < '0' || spec[0] > '9' || *end || index >= found.size())
    throw Error(TENON_UNAVAILABLE, "no such spec: expected none, or the index of a device, 0 to " +
                                       std::to_string(found.size() - 1) + ", found '" + spec + "'");
  return {found[index]};
}

bool in_host_memory(const Found& found) { return found.type & CL_DEVICE_TYPE_CPU; }

uint64_t memory_bytes_of(const Found& found) {
  const auto bytes = static_cast<uint64_t>(device_info<cl_ulong>(found.device, CL_DEVICE_GLOBAL_MEM_SIZE));
  return in_host_memory(found) ? std::min(bytes, tenon::plugin::host_memory().limit) : bytes;
}

// The device's, or what TENON_OPENCL_MAX_ALLOC says, if that is less.
uint64_t largest_buffer_of(const Found& found) {
  constexpr uint64_t kLeast = 64 << 10;
  const uint64_t most =
      std::min<uint64_t>(device_info<cl_ulong>(found.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE), memory_bytes_of(found));
  const char* forced = std::getenv("TENON_OPENCL_MAX_ALLOC");
  if (!forced) return most;
  const std::string text = forced;
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size() || bytes < kLeast)
    throw Error(TENON_INVALID, "TENON_OPENCL_MAX_ALLOC: expected bytes, " + std::to_string(kLeast) +
                                   " or more, found '" + text + "'");
  return std::min(most, bytes);
}

std::vector<tenon_unit> enumerate_devices(const std::string& spec) {
  std::vector<tenon_unit> units;
  for (const Found& f : devices_of(spec)) {
    tenon_unit unit{};
    unit.kind = f.type & CL_DEVICE_TYPE_GPU           ? TENON_GPU
                : f.type & CL_DEVICE_TYPE_ACCELERATOR ? TENON_ACCELERATOR
                                                      : TENON_CPU;
    unit.memory_bytes = memory_bytes_of(f);
    unit.max_buffer_bytes = largest_buffer_of(f);
    std::snprintf(unit.name, sizeof unit.name, "%s", f.name.c_str());
    std::snprintf(unit.version, sizeof unit.version, "%s", f.version.c_str());
    units.push_back(unit);
  }
  return units;
}

}  // namespace opencl_gpu
