#include "kernels/conv/pooled/conv_planar_pool.h"

#include "kernels/movement/transpose.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using Points = Lanes::Vector;
using Places = Lanes::Ints;
constexpr int kWidth = Lanes::kLanes;

// Every second element of a and b one after the other, from the first on and from the second on; and back.
#ifdef __AVX512F__
TENON_INLINE Points evens(Points a, Points b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
TENON_INLINE Points odds(Points a, Points b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
TENON_INLINE Points zip_low(Points a, Points b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
TENON_INLINE Points zip_high(Points a, Points b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#else
TENON_INLINE Points evens(Points a, Points b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
TENON_INLINE Points odds(Points a, Points b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15); }
TENON_INLINE Points zip_low(Points a, Points b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
TENON_INLINE Points zip_high(Points a, Points b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
#endif

TENON_INLINE Places load_places(const int32_t* p) { return load_as<Places>(p); }

void to_bytes(const int32_t* from, int64_t n, uint8_t* to) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) Lanes::store_u8(to + i, load_places(from + i));
  for (; i < n; ++i) to[i] = static_cast<uint8_t>(from[i]);
}

void from_bytes(const uint8_t* from, int64_t n, int32_t* to) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Places some = Lanes::load_u8(from + i);
    std::memcpy(to + i, &some, sizeof some);
  }
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace

void pool_plane(const float* top, const float* bottom, int64_t windows, float* pooled, int32_t* winner) {
  for (int64_t i = 0; i < windows; i += kWidth) {
    const Points a = Lanes::load(top + 2 * i), b = Lanes::load(top + 2 * i + kWidth);
    const Points c = Lanes::load(bottom + 2 * i), d = Lanes::load(bottom + 2 * i + kWidth);
    const Points of[4] = {evens(a, b), odds(a, b), evens(c, d), odds(c, d)};
    Places who;
    Lanes::store(pooled + i, largest<Lanes>(of, who));
    std::memcpy(winner + i, &who, sizeof who);
  }
}

void unpool_plane(const float* pooled, const int32_t* winner, int64_t windows, int row, float* to) {
  const Places even = Places{} + 2 * row, odd = even + 1;
  for (int64_t i = 0; i < windows; i += kWidth) {
    const Places value = (Places)Lanes::load(pooled + i), who = load_places(winner + i);
    const Points left = (Points)(value & (who == even)), right = (Points)(value & (who == odd));
    Lanes::store(to + 2 * i, zip_low(left, right));
    Lanes::store(to + 2 * i + kWidth, zip_high(left, right));
  }
}

void load_windows(const float* pooled, const uint8_t* winner, int64_t windows, int64_t c, int64_t pitch, int32_t* line,
                  float* pooled_planes, int32_t* winner_planes) {
  transpose(pooled, windows, c, c, pooled_planes, pitch);
  from_bytes(winner, windows * c, line);
  transpose(line, windows, c, c, winner_planes, pitch);
}

void store_windows(const float* pooled_planes, const int32_t* winner_planes, int64_t windows, int64_t c, int64_t pitch,
                   int32_t* line, float* pooled, uint8_t* winner) {
  transpose(pooled_planes, c, windows, pitch, pooled, c);
  transpose(winner_planes, c, windows, pitch, line, c);
  to_bytes(line, windows * c, winner);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
