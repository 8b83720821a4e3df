// f32 rounded to what bf16 holds, nearest even, and kept as f32: casts there and back in one pass. Overflow is infinity,
// NaN stays NaN; with `flush` subnormals become zeros of their sign.
#include "kernels/element/elementwise.h"
#include "kernels/simd.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// By the bits alone: the same under any mode of the processor.
template <bool kFlush>
TENON_INLINE f32x8 rounded(f32x8 x) {
  const u32x8 b = (u32x8)x, even = b + 0x7fff + ((b >> 16) & 1), size = b & 0x7fffffff;
  u32x8 y = (size > 0x7f800000 ? b | 0x400000 : even) & 0xffff0000;
  if (kFlush) y = (y & 0x7f800000) == 0 ? y & 0x80000000 : y;
  return (f32x8)y;
}

template <bool kFlush>
void round_bf16(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store8(y + i, rounded<kFlush>(load8(x + i)));
  if (i < n) store8_part(y + i, rounded<kFlush>(load8_part(x + i, n - i)), n - i);
}

Kernel make_round(const NodeView& node, const Env&) {
  const int64_t n = node.in(0).elements();
  const auto round = node.flag("flush") ? round_bf16<true> : round_bf16<false>;
  Kernel k;
  k.threads = gang_for(n);
  k.in_place = {{0, 0}};
  k.run = [n, round](const Call& call) {
    const Slice s = call.share(n, kGrain);
    if (s.begin < s.end) round(call.in(0) + s.begin, call.out(0) + s.begin, s.end - s.begin);
  };
  return k;
}

}  // namespace

void add_rounding(KernelTable& table) { table.add_own("cpu.round_bf16", make_round); }

}  // namespace tenon::cpu::TENON_CPU_ISA
