#include "kernels/update/product_gradient.h"

#include <algorithm>

#include "kernels/gemm/tiles/matrix_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// A block of sums in the precision of bf16 for the next consumer, which sees subnormals.
void consume_rounded(const void* context, const float* c, int64_t ld, int64_t row, int64_t rows, int64_t column,
                     int64_t columns) {
  const GemmConsumer& next = *static_cast<const GemmConsumer*>(context);
  const SeeSubnormals here;
  alignas(64) float sums[kBlock];
  alignas(64) uint16_t rounded[kBlock];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += kBlock) {
      const int64_t count = std::min(kBlock, columns - j);
      narrow(TENON_BF16, c + i * ld + j, rounded, count);
      widen(TENON_BF16, rounded, sums, count);
      next.consume(next.context, sums, count, row + i, 1, column + j, count);
    }
}

}  // namespace

ProductGradient::ProductGradient(int32_t dtype, int64_t m, int64_t n, int64_t k) : halves_(dtype == TENON_BF16) {
  GemmShape shape{1, m, n, k, true, false};
  if (halves_) {
    shape.pairs = has_pair_products() && !has_tile_products();  // what tiles would make of it was never seen
    shape.widened = !shape.pairs;
    shape.k = shape.pairs ? ceil_div(k, 2) : round_up(k, 2);
    a_ = {.rows = k, .columns = m, .down = true, .wide = shape.widened};
    b_ = {.rows = k, .columns = n, .down = true, .wide = shape.widened};
    const Gemm packing(shape, true);
    shape.plain_a = a_.plain = k % 2 == 0 && packing.packs_a();
    shape.plain_b = b_.plain = k % 2 == 0 && packing.packs_b();
    for (Words* w : {&a_, &b_}) {
      w->at = at_;
      at_ += aligned_room(w->bytes());
    }
  }
  gemm_ = std::make_unique<Gemm>(shape, true);
}

void ProductGradient::run(const Call& call, const void* a, const void* b, const GemmConsumer& consumer) const {
  if (halves_) return run_pairs(call, static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), consumer);
  gemm_->run(call, {static_cast<const float*>(a), static_cast<const float*>(b), nullptr, nullptr, nullptr, &consumer});
}

void ProductGradient::run_pairs(const Call& call, const uint16_t* a, const uint16_t* b,
                                const GemmConsumer& consumer) const {
  a_.make(call, a);
  b_.make(call, b);
  if (!a_.ready() || !b_.ready()) call.barrier();
  Call inner = call;
  inner.scratch = static_cast<uint8_t*>(call.scratch) + at_;
  const GemmConsumer rounding{&consumer, consume_rounded};
  const FlushSubnormals here;
  gemm_->run(inner, {a_.of(call, a), b_.of(call, b), nullptr, nullptr, nullptr, &rounding});
}

}  // namespace tenon::cpu::TENON_CPU_ISA
