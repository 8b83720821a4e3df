#include "base/number.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tenon {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

std::string said_of(double value, double low, double high) {
  try {
    expect_number("rate", value, low, high);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ExpectNumber, TakesBothEnds) {
  EXPECT_EQ(said_of(0, 0, 1), "");
  EXPECT_EQ(said_of(1, 0, 1), "");
  EXPECT_EQ(said_of(kHighestNumber, kLowestNumber, kHighestNumber), "");
}

TEST(ExpectNumber, SaysWhichEndIsBounded) {
  EXPECT_EQ(said_of(-0.5, 0, 1), "rate is -0.5, expected 0 to 1");
  EXPECT_EQ(said_of(-1, 0, kHighestNumber), "rate is -1, expected 0 or more");
  EXPECT_EQ(said_of(1, kLowestNumber, 0), "rate is 1, expected 0 or less");
  EXPECT_EQ(said_of(kInf, 0, kHighestNumber), "rate is inf, expected a finite number");
  EXPECT_EQ(said_of(kNaN, kLowestNumber, kHighestNumber), "rate is nan, expected a finite number");
}

// Casting what an integer does not hold is undefined.
TEST(Fits, KnowsTheEndsOfIntegers) {
  EXPECT_TRUE(fits<int64_t>(-0x1p63));
  EXPECT_FALSE(fits<int64_t>(0x1p63));
  EXPECT_TRUE(fits<int32_t>(2147483647.0));
  EXPECT_FALSE(fits<int32_t>(2147483648.0));
  EXPECT_FALSE(fits<int32_t>(kNaN));
  EXPECT_TRUE(fits(DType::kF32, 1e300));
  EXPECT_FALSE(fits(DType::kU8, 256));
}

}  // namespace
}  // namespace tenon
