// Preloaded into the runner. TEST_BUILDS_FAIL=N: the first N builds of OpenCL programs fail; TEST_BUILD_SIGNAL=S: and the first of
// them meets signal S, as a compiler does whose handler takes the files away that it writes.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>

namespace {

int number(const char* name) {
  const char* text = getenv(name);
  return text ? atoi(text) : 0;
}

std::atomic<int> builds{0};

}  // namespace

extern "C" __attribute__((visibility("default"))) cl_int clBuildProgram(cl_program program, cl_uint count,
                                                                        const cl_device_id* devices,
                                                                        const char* options,
                                                                        void (*notify)(cl_program, void*), void* data) {
  using Build = decltype(&clBuildProgram);
  static void* const library = dlopen("libOpenCL.so.1", RTLD_NOW);
  const int build = builds++;
  if (build == 0 && number("TEST_BUILD_SIGNAL")) raise(number("TEST_BUILD_SIGNAL"));
  if (build < number("TEST_BUILDS_FAIL")) return CL_BUILD_PROGRAM_FAILURE;
  return reinterpret_cast<Build>(dlsym(library, "clBuildProgram"))(program, count, devices, options, notify, data);
}
