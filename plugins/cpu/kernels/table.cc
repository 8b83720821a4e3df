#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

void fill_table(KernelTable& table) {
  add_elementwise(table);
  add_movement(table);
  add_reduction(table);
  add_matmul(table);
  add_convolution(table);
  add_pooling(table);
  add_normalization(table);
  add_softmax(table);
  add_attention(table);
  add_recurrent(table);
  add_random(table);
  add_update(table);
  add_collective(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
