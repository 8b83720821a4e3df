#include <cmath>
#include <cstring>

#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

uint16_t half_bits(int32_t dtype, double x) {
  const std::vector<uint8_t> bytes = to_bytes(floats({}, {x}, dtype));
  uint16_t bits;
  std::memcpy(&bits, bytes.data(), 2);
  return bits;
}

TEST(Value, F16BitsAreThoseOfIeee754) {
  EXPECT_EQ(half_bits(TENON_F16, 1), 0x3C00);
  EXPECT_EQ(half_bits(TENON_F16, -2), 0xC000);
  EXPECT_EQ(half_bits(TENON_F16, 1.0 / 3), 0x3555);
  EXPECT_EQ(half_bits(TENON_F16, 65504), 0x7BFF);
  EXPECT_EQ(half_bits(TENON_F16, 65519.99), 0x7BFF);
  EXPECT_EQ(half_bits(TENON_F16, 65520), 0x7C00);
  EXPECT_EQ(half_bits(TENON_F16, -kInf), 0xFC00);
  EXPECT_EQ(half_bits(TENON_F16, -0.0), 0x8000);
  EXPECT_EQ(half_bits(TENON_F16, std::ldexp(1, -14)), 0x0400);
  EXPECT_EQ(half_bits(TENON_F16, std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(half_bits(TENON_F16, std::ldexp(1, -25)), 0x0000);
  EXPECT_EQ(half_bits(TENON_F16, std::ldexp(3, -25)), 0x0002);
  EXPECT_EQ(half_bits(TENON_F16, std::ldexp(1023.75, -24)), 0x0400);
  EXPECT_GT(half_bits(TENON_F16, kNaN) & 0x7FFF, 0x7C00);
}

TEST(Value, HalvesRoundToTheEvenNeighbour) {
  EXPECT_EQ(half_bits(TENON_F16, 1 + std::ldexp(1, -11)), 0x3C00);
  EXPECT_EQ(half_bits(TENON_F16, 1 + std::ldexp(3, -11)), 0x3C02);
  EXPECT_EQ(half_bits(TENON_BF16, 1 + std::ldexp(1, -8)), 0x3F80);
  EXPECT_EQ(half_bits(TENON_BF16, 1 + std::ldexp(3, -8)), 0x3F82);
  // Just above the half: rounding by way of f32 would lose it.
  EXPECT_EQ(half_bits(TENON_BF16, 1 + std::ldexp(1, -8) + std::ldexp(1, -40)), 0x3F81);
}

TEST(Value, Bf16OverflowsToInfinity) {
  EXPECT_EQ(half_bits(TENON_BF16, 3.3895313892515355e38), 0x7F7F);
  EXPECT_EQ(half_bits(TENON_BF16, 3.4e38), 0x7F80);
  EXPECT_EQ(half_bits(TENON_BF16, 1e300), 0x7F80);
  EXPECT_EQ(half_bits(TENON_BF16, -1e300), 0xFF80);
  EXPECT_EQ(half_bits(TENON_BF16, 3.140625), 0x4049);
  EXPECT_EQ(half_bits(TENON_BF16, std::ldexp(1, -133)), 0x0001);
  EXPECT_GT(half_bits(TENON_BF16, kNaN) & 0x7FFF, 0x7F80);
}

TEST(Value, EverySixteenBitPatternSurvivesLoadAndStore) {
  for (int32_t dtype : {TENON_F16, TENON_BF16}) {
    for (uint32_t v = 0; v < 65536; ++v) {
      const uint16_t bits = static_cast<uint16_t>(v);
      const Tensor x = from_bytes(dtype, {}, &bits);
      if (std::isnan(x.f[0])) continue;
      ASSERT_EQ(half_bits(dtype, x.f[0]), bits);
    }
  }
}

TEST(Value, RoundingToF32IsTheCompilersConversion) {
  uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double x = std::ldexp(static_cast<double>(static_cast<int64_t>(state)), static_cast<int>(state >> 40) % 320 - 220);
    ASSERT_EQ(round_to(TENON_F32, x), static_cast<double>(static_cast<float>(x))) << x;
  }
  EXPECT_EQ(round_to(TENON_F32, 3.4028235677973366e38), kInf);
  EXPECT_EQ(round_to(TENON_F32, 3.4028235677973362e38), 3.4028234663852886e38);
  EXPECT_EQ(round_to(TENON_F64, 0.1), 0.1);
}

TEST(Value, IntegersKeepEveryBit) {
  const int64_t wide[] = {INT64_MIN, -1, INT64_MAX};
  EXPECT_EQ(from_bytes(TENON_I64, {3}, wide).i, (std::vector<int64_t>{INT64_MIN, -1, INT64_MAX}));
  const std::vector<uint8_t> bytes = to_bytes(from_bytes(TENON_I64, {3}, wide));
  EXPECT_EQ(std::memcmp(bytes.data(), wide, sizeof wide), 0);
  const uint8_t small[] = {0, 200, 1};
  EXPECT_EQ(from_bytes(TENON_U8, {3}, small).i, (std::vector<int64_t>{0, 200, 1}));
  EXPECT_EQ(from_bytes(TENON_BOOL, {3}, small).i, (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(to_bytes(ints({2}, {-2, 7})), (std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0}));
}

TEST(Value, FloatsKeepTheirBytes) {
  const float narrow[] = {1.5f, -0.1f};
  EXPECT_EQ(from_bytes(TENON_F32, {2}, narrow).f, (std::vector<double>{1.5, static_cast<double>(-0.1f)}));
  const double wide[] = {0.1};
  EXPECT_EQ(from_bytes(TENON_F64, {1}, wide).f, (std::vector<double>{0.1}));
  EXPECT_EQ(std::memcmp(to_bytes(floats({2}, {1.5, -0.1})).data(), narrow, sizeof narrow), 0);
}

TEST(Value, AnUlpIsTheDistanceToTheNextNumber) {
  EXPECT_EQ(spacing(TENON_F32, 1.0), std::ldexp(1, -23));
  EXPECT_EQ(spacing(TENON_BF16, -3.0), std::ldexp(1, -6));
  EXPECT_EQ(spacing(TENON_F16, 0.0), std::ldexp(1, -24));
  EXPECT_EQ(spacing(TENON_F64, 1.0), std::ldexp(1, -52));
}

TEST(Value, EmptyValuesAreRefused) { EXPECT_THROW(zeros(TENON_F32, {2, 0}), std::invalid_argument); }

}  // namespace
}  // namespace tenon::reference
