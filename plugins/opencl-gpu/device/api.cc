#include "device/api.h"

#include <map>
#include <vector>

namespace opencl_gpu {

std::string error_name(cl_int code) {
  static const auto& names = *new std::map<cl_int, const char*>{
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
  };
  const auto found = names.find(code);
  return (found == names.end() ? std::string("error") : found->second) + " (" + std::to_string(code) + ")";
}

void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  const std::string text = std::string(what) + ": " + error_name(code);
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
    case CL_OUT_OF_RESOURCES:
      throw Error(TENON_OUT_OF_MEMORY, text, code);
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE:
      throw Error(TENON_DEVICE_LOST, text, code);
    default:
      throw Error(TENON_INTERNAL, text, code);
  }
}

void check_work(cl_int status) {
  constexpr cl_int kIllegalAccess = -9999;  // NVIDIA's
  if (status == CL_OUT_OF_RESOURCES || status == kIllegalAccess)
    throw Error(TENON_DEVICE_LOST, "work made the device stop: " + error_name(status), status);
  if (status < 0) check(status, "work on the device failed");
}

std::string device_text(cl_device_id device, cl_device_info what) {
  size_t bytes = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::vector<char> text(bytes + 1);
  clGetDeviceInfo(device, what, bytes, text.data(), nullptr);
  return text.data();
}

}  // namespace opencl_gpu
