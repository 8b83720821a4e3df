// Vectors of f32 and where they lie in memory: as f32, or as bf16, which is widened on the way in and rounded once on the way
// out.
#pragma once

#include "kernels/bf16.h"
#include "kernels/element.h"

namespace tenon::cpu::TENON_CPU_ISA {

TENON_INLINE Lanes::Vector load_stored(const float* p) { return Lanes::load(p); }
TENON_INLINE void store_stored(float* p, Lanes::Vector v) { Lanes::store(p, v); }
TENON_INLINE Lanes::Vector load_stored(const Bfloat* p) { return widen_bf16<Lanes>(load_as<Halves<Lanes>>(p)); }
TENON_INLINE void store_stored(Bfloat* p, Lanes::Vector v) {
  const Halves<Lanes> h = narrow_bf16<Lanes>(v);
  std::memcpy(p, &h, sizeof h);
}

// The first n lanes; the others read as 0 and are not touched in memory.
TENON_INLINE Lanes::Vector load_stored(const float* p, int64_t n) { return Lanes::load(p, Lanes::first(n)); }
TENON_INLINE void store_stored(float* p, Lanes::Vector v, int64_t n) { Lanes::store_part(p, v, n); }
TENON_INLINE Lanes::Vector load_stored(const Bfloat* p, int64_t n) {
  Halves<Lanes> h = {};
  std::memcpy(&h, p, static_cast<size_t>(n) * sizeof *p);
  return widen_bf16<Lanes>(h);
}
TENON_INLINE void store_stored(Bfloat* p, Lanes::Vector v, int64_t n) {
  const Halves<Lanes> h = narrow_bf16<Lanes>(v);
  std::memcpy(p, &h, static_cast<size_t>(n) * sizeof *p);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
