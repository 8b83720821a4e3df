// Results of a convolution, or of its input's gradient, handed over while they are in cache: to whoever needs sums over
// them, or changes them, before they are read again.
#pragma once

#include <functional>

#include "kernels/conv/conv_gather.h"
#include "kernels/conv/conv_shape.h"

namespace tenon::cpu::TENON_CPU_ISA {

// What computes one of the two, chosen by shape, dtype and precision alone. All of its data have that dtype.
struct ConvWork {
  uint32_t thread_count = 1;
  uint64_t shared_bytes = 0, own_bytes = 0;  // of scratch memory
  int64_t parts = 0;                         // in which a ResultTaker gets the result; 0: it gets none
  std::function<void(const Call&, const GatherData&)> run;

  uint32_t threads() const { return thread_count; }
  uint64_t scratch_bytes() const { return shared_bytes; }
  uint64_t thread_scratch_bytes() const { return own_bytes; }
};

// Of scratch memory up to where other data begin.
inline uint64_t aligned_room(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

template <class Work>
ConvWork work_of(const std::shared_ptr<Work>& work, int64_t parts) {
  return {work->threads(), work->scratch_bytes(), work->thread_scratch_bytes(), parts,
          [work](const Call& call, const GatherData& d) { work->run(call, d); }};
}
// What takes its bias [channels] as f32, of data where it is bf16.
ConvWork with_wide_bias(ConvWork work, int64_t channels);

// Of f32 or bf16. exact: sums are those of the definition. No residual or norm.
ConvWork conv_work(const ConvShape& shape, bool gradient, bool exact, int32_t dtype);
// Whether that of bf16 reads and writes it as it is, without copies of f32.
bool has_half_work(const ConvShape& shape, bool gradient, bool exact);

}  // namespace tenon::cpu::TENON_CPU_ISA
