#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tenon {
namespace {

// Vectors of RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  std::string bytes(32, '\0');
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  bytes.assign(32, '\xff');
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<char>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu);
}

// One bit at a time, straight from the polynomial.
uint32_t bitwise(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

TEST(Crc32c, AgreesWithTheDefinitionForEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::string bytes(20000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (const size_t length : {0, 1, 7, 8, 9, 63, 3071, 3072, 3073, 6143, 6144, 9999, 19990})
    for (const size_t start : {0, 1, 3, 8}) {
      const std::string part = bytes.substr(start, length);
      EXPECT_EQ(crc32c(bytes.data() + start, length), bitwise(part)) << length << " from " << start;
      EXPECT_EQ(crc32c_extend_portable(0, bytes.data() + start, length), bitwise(part)) << length;
    }
}

TEST(Crc32c, ExtendsAcrossAnySplit) {
  std::string bytes(5000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  for (const size_t split : {0, 1, 100, 3072, 4999, 5000})
    EXPECT_EQ(crc32c_extend(crc32c(bytes.data(), split), bytes.data() + split, bytes.size() - split), crc32c(bytes));
}

TEST(Crc32c, MaskIsUndoneByUnmaskAndIsNotTheIdentity) {
  for (const uint32_t crc : {0u, 1u, 0xE3069283u, 0xffffffffu}) {
    EXPECT_EQ(crc32c_unmask(crc32c_mask(crc)), crc);
    EXPECT_NE(crc32c_mask(crc), crc);
  }
  EXPECT_EQ(crc32c_mask(0), 0xa282ead8u);
}

}  // namespace
}  // namespace tenon
