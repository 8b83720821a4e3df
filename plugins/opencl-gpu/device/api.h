// OpenCL 1.2 as this backend uses it: handles that release themselves, errors with names.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <memory>
#include <string>
#include <type_traits>

#include "tenon/plugin/entry.h"

namespace opencl_gpu {

using tenon::plugin::Error;

// A kernel that wants more of a device than it has for one work-group: registers, work items, local memory.
struct TooLarge : Error {
  using Error::Error;
};

// "CL_OUT_OF_RESOURCES (-5)"
std::string error_name(cl_int code);

// Throws for a code that is no success: OUT_OF_MEMORY, DEVICE_LOST or INTERNAL, as it says.
void check(cl_int code, const char* what);

// The same for the status of an event: a device that ran out of resources in the middle of a kernel has stopped.
void check_work(cl_int status);

// A handle that this process owns one count of.
template <class T, cl_int (*release)(T)>
struct Releaser {
  void operator()(T handle) const { release(handle); }
};
template <class T, cl_int (*release)(T)>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Releaser<T, release>>;

using Context = Handle<cl_context, clReleaseContext>;
using CommandQueue = Handle<cl_command_queue, clReleaseCommandQueue>;
using Program = Handle<cl_program, clReleaseProgram>;
using KernelObject = Handle<cl_kernel, clReleaseKernel>;
using Event = Handle<cl_event, clReleaseEvent>;

// What a device says of itself.
template <class T>
T device_info(cl_device_id device, cl_device_info what) {
  T value{};
  clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}
std::string device_text(cl_device_id device, cl_device_info what);

// And of a kernel, built for it.
template <class T>
T kernel_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what) {
  T value{};
  clGetKernelWorkGroupInfo(kernel, device, what, sizeof value, &value, nullptr);
  return value;
}

}  // namespace opencl_gpu
