// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11).
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstdint>

namespace tenon {

inline r123::Philox4x32::ctr_type philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  const r123::Philox4x32::key_type k = {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
  return r123::Philox4x32()({{c0, c1, c2, c3}}, k);
}

// Block n of a stream in an epoch, as two numbers of 64 bits.
inline std::array<uint64_t, 2> philox_pair(uint64_t key, uint32_t stream, uint64_t epoch, uint64_t n) {
  const auto block =
      philox(key, static_cast<uint32_t>(n), static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32), stream);
  return {block[0] | static_cast<uint64_t>(block[1]) << 32, block[2] | static_cast<uint64_t>(block[3]) << 32};
}

// 64 bits: half of the block n/2.
inline uint64_t philox_bits64(uint64_t key, uint32_t stream, uint64_t epoch, uint64_t n) {
  return philox_pair(key, stream, epoch, n >> 1)[n & 1];
}

// 0 .. n-1; off uniform by less than n / 2^64.
inline uint64_t scale_bits(uint64_t bits, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * n) >> 64);
}

// A hash of a hash and one more value.
inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
  const auto block = philox(hash, static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32), 0, 0);
  return block[0] | static_cast<uint64_t>(block[1]) << 32;
}

}  // namespace tenon
