// Where blocks lie in an arena that is made of parts.
#include "runtime/plan/arena_layout.h"

#include <gtest/gtest.h>

namespace tenon::plugin {
namespace {

using Bytes = std::vector<uint64_t>;

Bytes offsets(const std::vector<Block>& blocks) {
  Bytes out;
  for (const Block& b : blocks) out.push_back(b.offset);
  return out;
}

TEST(ArenaLayout, GivesBlocksThatAreNotAliveTogetherOnePlace) {
  std::vector<Block> blocks = {{0, 1, 128}, {2, 3, 64}, {1, 2, 64}};
  EXPECT_EQ(place_blocks(blocks, UINT64_MAX), Bytes{192});
  EXPECT_EQ(offsets(blocks), (Bytes{0, 0, 128}));
}

TEST(ArenaLayout, PutsNoBlockIntoTwoParts) {
  std::vector<Block> blocks = {{0, 0, 64}, {0, 0, 64}};
  EXPECT_EQ(place_blocks(blocks, 100), (Bytes{64, 64}));
  EXPECT_EQ(offsets(blocks), (Bytes{0, 64}));
  blocks = {{0, 0, 60}, {0, 0, 40}};
  EXPECT_EQ(place_blocks(blocks, 100), Bytes{100});  // just so
  blocks = {{0, 0, 60}, {0, 0, 41}};
  EXPECT_EQ(place_blocks(blocks, 100), (Bytes{60, 41}));
  blocks = {{0, 0, 64}, {0, 0, 60}, {0, 0, 30}};  // the last behind the first
  EXPECT_EQ(place_blocks(blocks, 100), (Bytes{94, 60}));
}

// The first part has room for less than the second: the block of 60 that is alive first keeps all but two of 40 away.
TEST(ArenaLayout, HasTheLargestPartFirst) {
  std::vector<Block> blocks = {{0, 0, 60}, {0, 1, 60}, {1, 1, 40}, {1, 1, 40}, {1, 1, 40}};
  EXPECT_EQ(place_blocks(blocks, 100), (Bytes{100, 80}));
  EXPECT_EQ(offsets(blocks), (Bytes{100, 0, 100, 140, 60}));
}

TEST(ArenaLayout, CountsBeyond32Bits) {
  constexpr uint64_t kLarge = uint64_t{5} << 30;
  std::vector<Block> blocks = {{0, 1, kLarge}, {0, 1, 128}, {1, 1, 64}};
  EXPECT_EQ(place_blocks(blocks, UINT64_MAX), Bytes{kLarge + 192});
  EXPECT_EQ(offsets(blocks), (Bytes{0, kLarge, kLarge + 128}));
}

// Whichever block of a part comes last.
TEST(ArenaLayout, HasRoomForALargeBlockInFrontOfASmallOne) {
  constexpr uint64_t kLarge = uint64_t{5} << 30;
  std::vector<Block> blocks = {{0, 0, kLarge}, {1, 1, 64}};
  EXPECT_EQ(place_blocks(blocks, UINT64_MAX), Bytes{kLarge});
}

}  // namespace
}  // namespace tenon::plugin
