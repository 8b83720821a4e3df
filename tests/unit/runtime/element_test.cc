// Numbers of one dtype as another.
#include "tenon/plugin/element.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon::plugin {
namespace {

TEST(Convert, SaturatesAtTheEndsOfTheIntegersAndNowhereElse) {
  EXPECT_EQ(convert<int32_t>(-2147483647.0), -2147483647);
  EXPECT_EQ(convert<int32_t>(-2147483648.0), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(-2147483648.5), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(-1e300), INT32_MIN);
  EXPECT_EQ(convert<int32_t>(2147483646.0), 2147483646);
  EXPECT_EQ(convert<int32_t>(2147483647.0), INT32_MAX);
  EXPECT_EQ(convert<int32_t>(2147483648.0), INT32_MAX);
  EXPECT_EQ(convert<int64_t>(-9223372036854774784.0), -9223372036854774784);
  EXPECT_EQ(convert<int64_t>(9223372036854774784.0), 9223372036854774784);
  EXPECT_EQ(convert<int64_t>(INFINITY), INT64_MAX);
  EXPECT_EQ(convert<int32_t>(std::nan("")), 0);
  EXPECT_EQ(convert<uint8_t>(254.9f), 254);
  EXPECT_EQ(convert<uint8_t>(-0.9f), 0);
}

}  // namespace
}  // namespace tenon::plugin
