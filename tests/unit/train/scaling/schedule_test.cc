// Exchanges beside what is computed, by hand.
#include "train/scaling/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

// A forward pass of 3 s, a backward pass of 2 + 4 s with a bucket behind each, and updates of 1 s that need both.
std::vector<TimedPart> step(double first, double second) {
  return {{false, 5, -1}, {true, first, -1}, {false, 4, -1}, {true, second, -1}, {false, 1, 3}};
}

TEST(Schedule, ABucketIsHiddenBehindTheBackwardPassThatFollows) {
  const PartTimes times = schedule(step(4, 0));
  EXPECT_DOUBLE_EQ(times.compute, 10);
  EXPECT_DOUBLE_EQ(times.exchange, 4);
  EXPECT_DOUBLE_EQ(times.step, 10);
  EXPECT_DOUBLE_EQ(times.hidden(), 4);
}

TEST(Schedule, NoMoreIsHiddenThanTheBackwardPassThatIsLeft) {
  const PartTimes times = schedule(step(100, 0));
  EXPECT_DOUBLE_EQ(times.hidden(), 4);
  EXPECT_DOUBLE_EQ(times.step, 106);
}

TEST(Schedule, TheLastBucketIsNotHidden) {
  const PartTimes times = schedule(step(0, 7));
  EXPECT_DOUBLE_EQ(times.hidden(), 0);
  EXPECT_DOUBLE_EQ(times.step, 17);
}

// The second begins when the first is done: 5 + 6 + 7, and the updates.
TEST(Schedule, ExchangesGoOneAfterTheOther) { EXPECT_DOUBLE_EQ(schedule(step(6, 7)).step, 19); }

// Nothing needs the last one in this step, as a metric: it goes on beside the updates, and the step ends with it.
TEST(Schedule, AStepEndsWithItsLastExchange) {
  const std::vector<TimedPart> parts{{false, 2, -1}, {true, 1, -1}, {true, 5, -1}, {false, 3, 1}};
  EXPECT_DOUBLE_EQ(schedule(parts).step, 8);
}

}  // namespace
}  // namespace tenon
