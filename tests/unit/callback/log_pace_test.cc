// When lines of a log are due. What the clock decides is tried with distances that are reached at once, or never.
#include "tenon/log_pace.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tenon {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The steps that have a line, of calls of the device that lead to `calls`.
std::vector<int64_t> lines(LogPace pace, const std::vector<int64_t>& calls, int64_t start = 0) {
  std::vector<int64_t> out;
  pace.begin(start);
  for (const int64_t step : calls) {
    if (!pace.due(step)) continue;
    EXPECT_GT(pace.wrote(step), 0);
    EXPECT_FALSE(pace.left(step));
    out.push_back(step);
  }
  if (pace.left(calls.back())) out.push_back(calls.back());
  return out;
}

using Steps = std::vector<int64_t>;

TEST(LogPace, IsByStepsWhereTheClockSaysNothing) {
  EXPECT_EQ(lines(LogPace(10, 0, kNever), {5, 10, 15, 20, 25}), (Steps{10, 20, 25}));
  EXPECT_EQ(lines(LogPace(10, 0, kNever), {9, 19, 29, 39}), (Steps{19, 29, 39}));  // calls that pass over the step
  EXPECT_EQ(lines(LogPace(10, 0, kNever), {101, 109, 110, 120}, 100), (Steps{110, 120}));
}

TEST(LogPace, OfShortStepsHasTheFirstAndTheLast) {
  EXPECT_EQ(lines(LogPace(10, kNever, kNever), {5, 10, 15, 20, 25, 30, 40, 45}), (Steps{10, 45}));
  EXPECT_EQ(lines(LogPace(10, kNever, kNever), {10}), Steps{10});
}

TEST(LogPace, OfLongStepsHasALineAfterSoMuchTime) {
  EXPECT_EQ(lines(LogPace(10, kNever, 0), {1, 2, 3}), (Steps{1, 2, 3}));
}

TEST(LogPace, BeginsAnewAfterEvaluation) {
  LogPace pace(10, kNever, kNever);
  pace.begin(0);
  EXPECT_TRUE(pace.due(10));
  pace.wrote(10);
  EXPECT_FALSE(pace.due(20));
  EXPECT_TRUE(pace.left(20));
  pace.begin(20);
  EXPECT_FALSE(pace.left(20));
  EXPECT_TRUE(pace.due(30));
}

TEST(LogPace, OfNoStepsHasNoLines) { EXPECT_EQ(lines(LogPace(0, 0, 0), {1, 100}), Steps{}); }

}  // namespace
}  // namespace tenon
