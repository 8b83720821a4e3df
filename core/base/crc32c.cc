#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define TENON_CRC32C_SSE42 1
#endif

namespace tenon {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78u;  // reflected

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: the CRC of byte b followed by k zero bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t step_byte(uint32_t crc, uint8_t byte) { return (crc >> 8) ^ kTables[0][(crc ^ byte) & 255]; }

uint64_t load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

#ifdef TENON_CRC32C_SSE42

// Three streams hide the instruction's latency of 3 cycles; each covers kStream bytes of a block.
constexpr size_t kStream = 1024;

// shift[k][b]: what byte k of a CRC register, of value b, becomes after kStream zero bytes.
using ShiftTables = std::array<std::array<uint32_t, 256>, 4>;

uint32_t append_zeros(uint32_t crc, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) crc = step_byte(crc, 0);
  return crc;
}

ShiftTables make_shift_tables() {
  std::array<uint32_t, 32> of_bit;  // the operation is linear, so single bits say all
  for (int bit = 0; bit < 32; ++bit) of_bit[bit] = append_zeros(1u << bit, kStream);
  ShiftTables tables{};
  for (int k = 0; k < 4; ++k)
    for (uint32_t b = 0; b < 256; ++b)
      for (int bit = 0; bit < 8; ++bit)
        if (b >> bit & 1) tables[k][b] ^= of_bit[8 * k + bit];
  return tables;
}

uint32_t shift(const ShiftTables& t, uint32_t crc) {
  return t[0][crc & 255] ^ t[1][crc >> 8 & 255] ^ t[2][crc >> 16 & 255] ^ t[3][crc >> 24];
}

__attribute__((target("sse4.2"))) uint32_t block_sse42(const ShiftTables& t, uint32_t crc, const uint8_t* p) {
  uint64_t a = crc, b = 0, c = 0;
  for (size_t i = 0; i < kStream; i += 8) {
    a = _mm_crc32_u64(a, load64(p + i));
    b = _mm_crc32_u64(b, load64(p + kStream + i));
    c = _mm_crc32_u64(c, load64(p + 2 * kStream + i));
  }
  const uint32_t ab = shift(t, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
  return shift(t, ab) ^ static_cast<uint32_t>(c);
}

__attribute__((target("sse4.2"))) uint32_t extend_sse42(uint32_t crc, const void* data, size_t bytes) {
  static const ShiftTables shift_tables = make_shift_tables();
  const uint8_t* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 3 * kStream; bytes -= 3 * kStream, p += 3 * kStream) crc = block_sse42(shift_tables, crc, p);
  uint64_t wide = crc;
  for (; bytes >= 8; bytes -= 8, p += 8) wide = _mm_crc32_u64(wide, load64(p));
  crc = static_cast<uint32_t>(wide);
  for (; bytes > 0; --bytes, ++p) crc = _mm_crc32_u8(crc, *p);
  return ~crc;
}

#endif

}  // namespace

uint32_t crc32c_extend_portable(uint32_t crc, const void* data, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    const uint64_t x = load64(p) ^ crc;  // little-endian, as everything here
    crc = 0;
    for (int k = 0; k < 8; ++k) crc ^= kTables[7 - k][x >> (8 * k) & 255];
  }
  for (; bytes > 0; --bytes, ++p) crc = step_byte(crc, *p);
  return ~crc;
}

uint32_t crc32c_extend(uint32_t crc, const void* data, size_t bytes) {
#ifdef TENON_CRC32C_SSE42
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return extend_sse42(crc, data, bytes);
#endif
  return crc32c_extend_portable(crc, data, bytes);
}

}  // namespace tenon
