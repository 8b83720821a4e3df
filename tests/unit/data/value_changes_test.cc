#include "data/image/value_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tenon {
namespace {

// 8 thousand pixels and some: several blocks, and one that is not whole.
std::vector<float> some_values(int64_t count, int channels) {
  std::vector<float> values;
  for (int64_t i = 0; i < count * channels; ++i) values.push_back(static_cast<float>(i * 7919 % 5107) / 16 - 30);
  return values;
}

// One value after the other, as the header says it.
double plain(double x, int channel, const std::vector<ValueChange>& changes) {
  for (const ValueChange& c : changes) {
    x = x * static_cast<double>(c.scale[channel]) + static_cast<double>(c.offset[channel]);
    if (c.clips) x = std::clamp(x, static_cast<double>(c.low), static_cast<double>(c.high));
    if (c.rounds) x = std::nearbyint(x);
  }
  return x;
}

TEST(ValueChanges, AreDoneOneAfterTheOtherToEveryCount) {
  const std::vector<ValueChange> changes = {
      {.scale = {1, 1, 1, 1}, .offset = {17, 17, 17, 17}, .low = 0, .high = 255, .clips = true},
      {.scale = {0.5, 1.5, 0.25, 2}, .offset = {64, -20, 3, 1}, .low = -10, .high = 200, .clips = true},
      {.scale = {0.125, 0.125, 0.125, 0.125}, .offset = {-1, -1, -1, -1}}};
  for (const int channels : {1, 3, 4})
    for (const int64_t count : {0, 1, 2, 5, 7, 8, 23, 24, 25, 2048, 8195}) {
      const std::vector<float> before = some_values(count, channels);
      std::vector<float> values = before;
      values.push_back(2);
      change_values(values.data(), count, channels, changes, nullptr);
      for (size_t i = 0; i < before.size(); ++i)
        ASSERT_NEAR(values[i], plain(before[i], static_cast<int>(i) % channels, changes), 1e-5) << i << " of " << count;
      EXPECT_EQ(values.back(), 2) << "what is behind them stays";
    }
}

TEST(ValueChanges, MeansAreThoseOfWhatComesOut) {
  const ValueChange brighter{.offset = {40, 40, 40, 40}, .low = 0, .high = 255, .clips = true};
  for (const int channels : {1, 3, 4}) {
    const int64_t count = 8195;
    std::vector<float> values = some_values(count, channels);
    double sums[4] = {};
    for (size_t i = 0; i < values.size(); ++i) sums[i % channels] += plain(values[i], 0, {brighter});
    float means[4] = {};
    change_values(values.data(), count, channels, {&brighter, 1}, means);
    for (int c = 0; c < channels; ++c) EXPECT_NEAR(means[c], sums[c] / count, 1e-3) << c << " of " << channels;
    float again[4] = {};
    change_values(values.data(), count, channels, {}, again);
    EXPECT_TRUE(std::equal(again, again + channels, means)) << "no change has the same means";
  }
}

// Halves go to the even number, as std::nearbyint and tf.round have it.
TEST(ValueChanges, WholeNumbersAreTheNearestOnesAndBecomeBytes) {
  const ValueChange round{.low = 0, .high = 255, .clips = true, .rounds = true};
  std::vector<float> values = {-3, -0.5f, 0, 0.5f, 1.5f, 2.5f, 2.49f, 254.4f, 254.5f, 255, 300, 1e30f};
  const std::vector<uint8_t> expected = {0, 0, 0, 0, 2, 2, 2, 254, 254, 255, 255, 255};
  for (int i = 0; i < 4; ++i) {  // longer than a vector
    const std::vector<float> first = values;
    values.insert(values.end(), first.begin(), first.end());
  }
  change_values(values.data(), std::ssize(values), 1, {&round, 1}, nullptr);
  std::vector<uint8_t> bytes(values.size() + 1, 77);
  bytes_of_values(values.data(), std::ssize(values), bytes.data());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bytes[i], expected[i % expected.size()]) << i;
  EXPECT_EQ(bytes.back(), 77);
}

}  // namespace
}  // namespace tenon
