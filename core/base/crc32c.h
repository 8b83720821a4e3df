// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of TFRecord and TensorBundle.
// Uses the CPU's crc32 instruction when it has one (checked once, at run time). Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

// The CRC of the concatenation of A and `data`, where `crc` is the CRC of A (0 for nothing).
uint32_t crc32c_extend(uint32_t crc, const void* data, size_t bytes);

inline uint32_t crc32c(const void* data, size_t bytes) { return crc32c_extend(0, data, bytes); }
inline uint32_t crc32c(std::string_view data) { return crc32c_extend(0, data.data(), data.size()); }

// The same by tables, on any CPU; the other one is tested against it.
uint32_t crc32c_extend_portable(uint32_t crc, const void* data, size_t bytes);

// Stored checksums are masked, so that a CRC over data that holds CRCs stays useful.
constexpr uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr uint32_t crc32c_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace tenon
