// Parts of add_movement, one for each file.
#pragma once

#include "kernels/movement/strided_copy.h"

namespace tenon::cpu::TENON_CPU_ISA {

void add_gather(KernelTable& table);  // gather, scatter
void add_image(KernelTable& table);   // crop_flip, affine_image, resize

// The bytes of a number as one element of dtype, widest float rounded to nearest even.
struct ElementBits {
  alignas(8) unsigned char bytes[8];
};
ElementBits element_of_f64(int32_t dtype, double value);
ElementBits element_of_i64(int32_t dtype, int64_t value);

inline plugin::Verdict take_any(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && plugin::dtype_bytes(node.in(i).dtype()) == 0) return plugin::refuse("unknown dtype");
  return plugin::take();
}

}  // namespace tenon::cpu::TENON_CPU_ISA
