// Random words that are the same on every device: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011. C++17, header only.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::plugin {

// Four random words of a counter and a key. Element e of the op `random` is word e mod 4 of
// philox({e / 4, stream, step low, step high}, seed), its upper 24 bits times 2^-24.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9, high += 0xBB67AE85) {
    const uint64_t p = uint64_t{0xD2511F53} * counter[0], q = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(q >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(q),
               static_cast<uint32_t>(p >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(p)};
  }
  return counter;
}

}  // namespace tenon::plugin
