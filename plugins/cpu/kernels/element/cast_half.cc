#include "kernels/bf16.h"
#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using u16x8 = Halves<Lanes8>;

#ifdef __F16C__
typedef int16_t i16x8 __attribute__((vector_size(16)));
f32x8 widen_f16(u16x8 h) { return __builtin_ia32_vcvtph2ps256((i16x8)h); }
u16x8 narrow_f16(f32x8 f) { return (u16x8)__builtin_ia32_vcvtps2ph256(f, 0); }
#else
// Subnormals by their integer: as bits of an f32 they would be flushed on the way in.
f32x8 widen_f16(u16x8 h) {
  const u32x8 b = Lanes8::words(h), size = b & 0x7fff, exponent = b & 0x7c00;
  const u32x8 bias = exponent == 0x7c00 ? u32x8{} + 0x70000000u : u32x8{} + 0x38000000u;
  const f32x8 subnormal = __builtin_convertvector((i32x8)size, f32x8) * 0x1p-24f;
  const u32x8 magnitude = exponent == 0 ? (u32x8)subnormal : (size << 13) + bias;
  return (f32x8)(magnitude | ((b & 0x8000) << 16));
}
u16x8 narrow_f16(f32x8 f) {
  const u32x8 b = (u32x8)f, sign = (b >> 16) & 0x8000, a = b & 0x7fffffff;
  const f32x8 magnitude = (f32x8)a;
  const u32x8 normal = (a - (112u << 23) + 0xfff + ((a >> 13) & 1)) >> 13;
  const u32x8 subnormal = (u32x8)(magnitude + 0.5f) - 0x3f000000u;  // the adder rounds
  u32x8 h = magnitude < 0x1p-14f ? subnormal : normal;
  h = magnitude >= 65520.f ? u32x8{} + 0x7c00u : h;
  h = f == f ? h : ((a >> 13) & 0x3ff) | 0x7e00;
  return __builtin_convertvector(h | sign, u16x8);
}
#endif

template <class L, class F>
void to_floats(const uint16_t* src, float* dst, int64_t n, F f) {
  int64_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) L::store(dst + i, f(load_as<Halves<L>>(src + i)));
  if (i == n) return;
  Halves<L> last = {};
  std::memcpy(&last, src + i, static_cast<size_t>(n - i) * 2);
  const auto v = f(last);
  std::memcpy(dst + i, &v, static_cast<size_t>(n - i) * 4);
}
template <class L, class F>
void from_floats(const float* src, uint16_t* dst, int64_t n, F f) {
  int64_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) {
    const Halves<L> h = f(L::load(src + i));
    std::memcpy(dst + i, &h, sizeof h);
  }
  if (i == n) return;
  typename L::Vector last = {};
  std::memcpy(&last, src + i, static_cast<size_t>(n - i) * 4);
  const Halves<L> h = f(last);
  std::memcpy(dst + i, &h, static_cast<size_t>(n - i) * 2);
}

}  // namespace

void widen(int32_t dtype, const void* src, float* dst, int64_t n) {
  const auto* s = static_cast<const uint16_t*>(src);
  if (dtype == TENON_BF16)
    to_floats<Lanes>(s, dst, n, [](Halves<Lanes> h) { return widen_bf16<Lanes>(h); });
  else
    to_floats<Lanes8>(s, dst, n, [](u16x8 h) { return widen_f16(h); });
}

void narrow(int32_t dtype, const float* src, void* dst, int64_t n) {
  auto* d = static_cast<uint16_t*>(dst);
  if (dtype == TENON_BF16)
    from_floats<Lanes>(src, d, n, [](Lanes::Vector f) { return narrow_bf16<Lanes>(f); });
  else
    from_floats<Lanes8>(src, d, n, [](f32x8 f) { return narrow_f16(f); });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
