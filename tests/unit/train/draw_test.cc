// The numbers of initial values against Random123's Philox and the C library's functions.
#include "step/variables/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/crc32c.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint64_t kSeed = 0x123456789abcdef;
constexpr size_t kMany = 100000;

using Numbers = void (Draw::*)(uint64_t, std::span<double>) const;
std::vector<double> drawn(Numbers numbers, size_t count, uint64_t first = 0) {
  std::vector<double> out(count);
  (Draw(kSeed, "dense/kernel").*numbers)(first, out);
  return out;
}

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }
double normal(uint64_t i, uint64_t attempt = 0) {
  const auto [a, b] = philox_pair(kSeed, crc32c("dense/kernel"), attempt, i);
  return std::sqrt(-2 * std::log(1 - unit(a))) * std::cos(2 * std::numbers::pi * unit(b));
}

TEST(Draw, UniformNumbersAreHalvesOfPhiloxsBlocks) {
  const std::vector<double> u = drawn(&Draw::uniforms, kMany);
  for (size_t i = 0; i < u.size(); ++i)
    ASSERT_EQ(u[i], unit(philox_bits64(kSeed, crc32c("dense/kernel"), 0, i))) << "element " << i;
}

TEST(Draw, NormalNumbersAreBoxAndMullersOfTheCLibrary) {
  const std::vector<double> z = drawn(&Draw::normals, kMany);
  for (size_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], normal(i), 4e-15) << "element " << i;
}

TEST(Draw, TruncatedNumbersAreDrawnAgain) {
  const std::vector<double> z = drawn(&Draw::truncated_normals, kMany);
  size_t again = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    uint64_t attempt = 0;
    while (std::fabs(normal(i, attempt)) >= 2) ++attempt;
    again += attempt > 0;
    ASSERT_NEAR(z[i], normal(i, attempt), 4e-15) << "element " << i;
  }
  EXPECT_NEAR(static_cast<double>(again) / kMany, 0.0455, 0.002);  // P(|z| >= 2)
}

TEST(Draw, AnElementsNumberDependsOnItsPlaceAlone) {
  for (const Numbers numbers : {&Draw::uniforms, &Draw::normals, &Draw::truncated_normals}) {
    const std::vector<double> all = drawn(numbers, 2000);
    for (size_t first : {2, 254, 256, 512, 1000})
      for (size_t count : {1, 3, 255, 256, 513, 900}) {
        const std::vector<double> some = drawn(numbers, count, first);
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(some[i], all[first + i]) << first << " + " << i;
      }
  }
}

}  // namespace
}  // namespace tenon
