// The gradient of a dense layer's weights, A^T B, given to an update block by block.
#pragma once

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/pairs/pair_words.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Immutable, so that threads share it.
class ProductGradient {
 public:
  // a [k, m], b [k, n] of f32, or of bf16: then each sum is rounded to bf16, as a gradient of bf16 is. REQUIRES m, n above 1
  ProductGradient(int32_t dtype, int64_t m, int64_t n, int64_t k);

  uint64_t scratch_bytes() const { return at_ + gemm_->scratch_bytes(); }
  uint64_t thread_scratch_bytes() const { return gemm_->thread_scratch_bytes(); }
  // Called by every thread of the gang. The consumer gets floats, and does not flush subnormals.
  void run(const Call& call, const void* a, const void* b, const GemmConsumer& consumer) const;

 private:
  void run_pairs(const Call& call, const uint16_t* a, const uint16_t* b, const GemmConsumer& consumer) const;

  bool halves_;
  Words a_, b_;      // of bf16
  uint64_t at_ = 0;  // where the product's own scratch begins
  std::unique_ptr<const Gemm> gemm_;
};

}  // namespace tenon::cpu::TENON_CPU_ISA
