// Stretches of a buffer that steps have touched.
#include "runtime/touched_bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tenon::plugin {
namespace {

TEST(TouchedBytes, OverlapWhatHasAByteOfThem) {
  TouchedBytes touched;
  EXPECT_FALSE(touched.overlap(0, UINT64_MAX));
  touched.add(10, 20);
  EXPECT_TRUE(touched.overlap(19, 30));
  EXPECT_TRUE(touched.overlap(0, 11));
  EXPECT_TRUE(touched.overlap(12, 13));
  EXPECT_TRUE(touched.overlap(0, UINT64_MAX));
  EXPECT_FALSE(touched.overlap(20, 30));
  EXPECT_FALSE(touched.overlap(0, 10));
  EXPECT_FALSE(touched.overlap(12, 12));
  touched.add(15, 15);
  touched.add(30, 30);
  EXPECT_EQ(touched.stretches(), 1u);
  EXPECT_FALSE(touched.overlap(29, 31));
}

TEST(TouchedBytes, AreOneStretchWhereTheyMeet) {
  TouchedBytes touched;
  touched.add(10, 20);
  touched.add(30, 40);
  EXPECT_EQ(touched.stretches(), 2u);
  touched.add(20, 30);
  EXPECT_EQ(touched.stretches(), 1u);
  touched.add(0, 100);
  EXPECT_EQ(touched.stretches(), 1u);
  EXPECT_TRUE(touched.overlap(99, 100));
}

// As a long chain of small ops goes to and fro between two places: how many steps there were is not seen.
TEST(TouchedBytes, ALongChainLeavesTwoStretches) {
  TouchedBytes touched;
  for (uint64_t step = 0; step < 100000; ++step) touched.add(step % 2 * 1024, step % 2 * 1024 + 512);
  EXPECT_EQ(touched.stretches(), 2u);
}

// Held to a byte each.
TEST(TouchedBytes, AreThoseOfEachAdded) {
  constexpr uint64_t kBytes = 200;
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    TouchedBytes touched;
    std::vector<bool> bytes(kBytes);
    for (int i = 0; i < 12; ++i) {
      const uint64_t from = random() % kBytes, to = std::min<uint64_t>(kBytes, from + random() % 20);
      touched.add(from, to);
      for (uint64_t at = from; at < to; ++at) bytes[at] = true;
      const uint64_t begin = random() % kBytes, end = std::min<uint64_t>(kBytes, begin + random() % 20);
      bool any = false;
      for (uint64_t at = begin; at < end; ++at) any |= bytes[at];
      ASSERT_EQ(touched.overlap(begin, end), any) << begin << " to " << end;
    }
    size_t stretches = 0;
    for (uint64_t at = 0; at < kBytes; ++at) stretches += bytes[at] && (at == 0 || !bytes[at - 1]);
    ASSERT_EQ(touched.stretches(), stretches);
  }
}

}  // namespace
}  // namespace tenon::plugin
