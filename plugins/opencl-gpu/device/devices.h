// The OpenCL devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "device/api.h"

namespace opencl_gpu {

struct Found {
  cl_platform_id platform;
  cl_device_id device;
  cl_device_type type;
  std::string name;     // "NVIDIA H200 (NVIDIA CUDA)"
  std::string version;  // the driver's
};

// Every device of every platform: GPUs, then accelerators, then CPUs, each kind in the order of the loader. Throws
// UNAVAILABLE where there is none, with the reason and what to install. `host` is told of each that is passed over.
std::vector<Found> find_devices(const tenon_host* host = nullptr);

// Those that a spec names: all for "", one for "N", its index in the list. Throws UNAVAILABLE for any other.
std::vector<Found> devices_of(const std::string& spec, const tenon_host* host = nullptr);

// Bytes that there are, and that the largest buffer may have. A device that works in the host's memory has no more than
// this process may have.
bool in_host_memory(const Found& found);
uint64_t memory_bytes_of(const Found& found);
uint64_t largest_buffer_of(const Found& found);

// As tenon_backend's `enumerate` lists them.
std::vector<tenon_unit> enumerate_devices(const std::string& spec);

}  // namespace opencl_gpu
