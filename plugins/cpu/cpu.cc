// cpu.so: the kernels of kernels/ on the SDK runtime.
#include <cpuid.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "fused_graph.h"
#include "tenon/plugin/host_backend.h"

namespace tenon::cpu {
namespace baseline {
void fill_table(plugin::KernelTable& table);
}
namespace avx2 {
void fill_table(plugin::KernelTable& table);
}
namespace avx512 {
extern bool pair_products, tile_products;
extern int f32_terms;
bool request_tiles();
void fill_table(plugin::KernelTable& table);
}  // namespace avx512

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

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

// TENON_CPU_ISA asks for less than there is: to compare, or to reproduce what another machine does.
bool allowed(const char* isa) {
  const char* most = std::getenv("TENON_CPU_ISA");
  const std::string_view order[] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
  const auto rank = [&](std::string_view name) { return std::find(std::begin(order), std::end(order), name); };
  return !most || rank(most) == std::end(order) || rank(isa) <= rank(most);
}

bool has_pairs() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && allowed("avx512") && allowed("avx512_bf16");
}

// TENON_CPU_F32=bf16x3 or bf16x6: products of f32 by three or six of bf16 (kernels/gemm/pairs/split_product.h).
int terms_of_f32() {
  const char* const given = std::getenv("TENON_CPU_F32");
  const std::string_view asked = given ? given : "";
  if (asked.empty()) return 0;
  if (asked != "bf16x3" && asked != "bf16x6")
    throw plugin::Error(TENON_INVALID, "TENON_CPU_F32: expected bf16x3 or bf16x6, found '" + std::string(asked) + "'");
  if (!has_pairs())
    throw plugin::Error(TENON_UNSUPPORTED,
                        "TENON_CPU_F32: expected a processor with AVX512_BF16 or AMX, and "
                        "TENON_CPU_ISA to ask for it");
  return asked == "bf16x3" ? 2 : 3;
}

void fill_table(plugin::KernelTable& table) {
  if (has_avx512() && allowed("avx512")) {
    avx512::pair_products = has_pairs();
    avx512::tile_products = avx512::pair_products && allowed("amx") && avx512::request_tiles();
    return avx512::fill_table(table);
  }
  if (has_avx2() && allowed("avx2")) return avx2::fill_table(table);
  baseline::fill_table(table);
}

// Without fused multiply-adds, and by terms, sums have other last bits: processes of a job are all alike.
const char* version() {
  if (avx512::f32_terms > 0) return avx512::f32_terms == 2 ? "0.1.0 (bf16x3)" : "0.1.0 (bf16x6)";
  return has_avx2() && allowed("avx2") ? "0.1.0" : "0.1.0 (baseline)";
}

// As the processor names it: "GenuineIntel".
const char* vendor() {
  struct Name {
    unsigned top = 0, b = 0, d = 0, c = 0, end = 0;
  };
  static const Name name = [] {
    Name n;
    (void)__get_cpuid(0, &n.top, &n.b, &n.c, &n.d);
    return n;
  }();
  return name.b ? reinterpret_cast<const char*>(&name.b) : nullptr;
}

}  // namespace
}  // namespace tenon::cpu

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  const tenon_status chosen =
      tenon::plugin::guarded([] { tenon::cpu::avx512::f32_terms = tenon::cpu::terms_of_f32(); });
  if (chosen.code != TENON_OK) return chosen;
  constexpr uint32_t kMostUnits = 64;  // --device cpu:units=N, to try replicas
  static const tenon::plugin::HostBackend backend{"cpu",      tenon::cpu::version(),  "CPU",
                                                  TENON_CPU,  tenon::cpu::fill_table, false,
                                                  kMostUnits, tenon::cpu::rewrite,    tenon::cpu::vendor};
  return tenon::plugin::init_host_backend(backend, host, out);
}
