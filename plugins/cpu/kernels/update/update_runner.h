// What the kernel of a *_update op does when it runs.
#pragma once

#include "kernels/update/product_gradient.h"
#include "kernels/update/update.h"

namespace tenon::cpu::TENON_CPU_ISA {

// The operand A of cpu.product.*_update.
constexpr int kProductA = TENON_UPDATE_SLOTS + kMostSlots;

enum class UpdateKind { kPointwise, kNadam, kSgd, kLamb, kAdafactor };

struct UpdateRunner {
  Update u;
  UpdateKind kind;
  const PointwiseRule* rule;  // nullptr: lamb, adafactor

  void operator()(const Call& call) const;
  // The gradient is what `product` makes, block by block. p is f32, pointwise rules but nadam, g dense.
  void run_product(const Call& call, const ProductGradient& product) const;
};

}  // namespace tenon::cpu::TENON_CPU_ISA
