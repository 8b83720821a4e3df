// cpu.so: the kernels of kernels/ on the SDK runtime.
#include <cpuid.h>

#include "tenon/plugin/host_backend.h"

namespace tenon::cpu {
namespace baseline {
void fill_table(plugin::KernelTable& table);
}
namespace avx2 {
void fill_table(plugin::KernelTable& table);
}

namespace {

// clang before 17 does not know the name to __builtin_cpu_supports.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
         has_f16c();
}

void fill_table(plugin::KernelTable& table) { has_avx2() ? avx2::fill_table(table) : baseline::fill_table(table); }

}  // namespace
}  // namespace tenon::cpu

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  static const tenon::plugin::HostBackend backend{"cpu", "0.1.0", "CPU", TENON_CPU, tenon::cpu::fill_table};
  return tenon::plugin::init_host_backend(backend, host, out);
}
