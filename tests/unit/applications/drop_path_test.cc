#include <gtest/gtest.h>

#include "applications/maps.h"

namespace tenon::applications {
namespace {

std::vector<float> dropped(Mode mode) {
  Strategy strategy("cpu", {.seed = 3});
  DropPath drop(0.25, "drop");
  Function f = strategy.function([&](const Features& in) { return Outputs{{"y", drop(in["x"])}}; }, {.mode = mode});
  return f(Arrays{{"x", Array(std::vector<float>(200 * 6, 3), {200, 1, 2, 3})}})["y"].to<float>();
}

// A quarter of 200 examples is all 0, the others are a third larger. 50 +- 6.1 are expected: 5 deviations are allowed.
TEST(DropPath, DropsWholeExamplesWhileTraining) {
  const std::vector<float> found = dropped(Mode::kTrain);
  int gone = 0;
  for (size_t i = 0; i < 200; ++i) {
    for (size_t j = 0; j < 6; ++j) EXPECT_EQ(found[6 * i + j], found[6 * i]);
    gone += found[6 * i] == 0;
    EXPECT_TRUE(found[6 * i] == 0 || found[6 * i] == 4) << found[6 * i];
  }
  EXPECT_GT(gone, 50 - 31);
  EXPECT_LT(gone, 50 + 31);
}

TEST(DropPath, LeavesThemWherePredicting) { EXPECT_EQ(dropped(Mode::kPredict), std::vector<float>(1200, 3)); }

}  // namespace
}  // namespace tenon::applications
