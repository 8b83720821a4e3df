#include "kernels/kernels.h"

#ifdef __AVX512F__
namespace tenon::cpu::avx2 {
void add_movement(plugin::KernelTable& table);
void add_reduction(plugin::KernelTable& table);
void add_pooling(plugin::KernelTable& table);
void add_layer_norm(plugin::KernelTable& table);
void add_collective(plugin::KernelTable& table);
}  // namespace tenon::cpu::avx2
#define TENON_CPU_NARROW avx2
#else
#define TENON_CPU_NARROW TENON_CPU_ISA
#endif

namespace tenon::cpu::TENON_CPU_ISA {

void fill_table(KernelTable& table) {
  // What gains nothing from vectors of 16 lanes.
  namespace narrow = cpu::TENON_CPU_NARROW;
  narrow::add_movement(table);
  narrow::add_reduction(table);
  narrow::add_pooling(table);
  narrow::add_layer_norm(table);
  narrow::add_collective(table);
  add_elementwise(table);
  add_matmul(table);
  add_convolution(table);
  add_normalization(table);
  add_attention(table);
  add_recurrent(table);
  add_softmax(table);
  add_random(table);
  add_update(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
