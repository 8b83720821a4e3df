#include "plugins/tpu-emulator/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "bench/tpu_fit/fc_graph.h"

namespace {

using tpu::Block;

constexpr uint64_t kTile = 1024;

bool together(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

void expect_apart(const std::vector<Block>& blocks, uint64_t height) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].offset % kTile, 0u);
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, height);
    for (size_t j = i + 1; j < blocks.size(); ++j) {
      const bool apart = blocks[i].offset + blocks[i].bytes <= blocks[j].offset ||
                         blocks[j].offset + blocks[j].bytes <= blocks[i].offset;
      EXPECT_TRUE(apart || !together(blocks[i], blocks[j])) << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, BlocksThatLiveTogetherDoNotOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<uint32_t>(random() % 40), length = static_cast<uint32_t>(random() % 10);
      blocks.push_back({1 + random() % 5000, 0, first, first + length});
    }
    const uint64_t height = tpu::place(blocks);
    expect_apart(blocks, height);
    EXPECT_GE(height, tpu::most_alive(blocks));
  }
}

TEST(MemoryPlan, MemoryOfWhatIsNoLongerReadIsUsedAgain) {
  std::vector<Block> blocks = {{kTile, 0, 0, 1}, {kTile, 0, 1, 2}, {kTile, 0, 2, 3}, {kTile, 0, 3, 4}};
  EXPECT_EQ(tpu::most_alive(blocks), 2 * kTile);
  EXPECT_EQ(tpu::place(blocks), 2 * kTile);
}

TEST(MemoryPlan, NothingToPlaceTakesNothing) {
  std::vector<Block> none;
  EXPECT_EQ(tpu::place(none), 0u);
  EXPECT_EQ(tpu::most_alive(none), 0u);
}

tpu::MemoryPlan plan(const tpu_fit::FcNet& net) {
  const auto graph = tpu_fit::FcGraph(net).build();
  return tpu::forecast(tenon::plugin::GraphView(*graph.graph()), tpu::load_machine("v2-8"), {}).memory;
}

// 3 copies of the parameters (RMSProp with momentum) and 1 of the activations: what measured networks kept to.
TEST(MemoryPlan, ADenseNetworkTakesThreeCopiesOfItsParametersAndOneOfItsActivations) {
  const double mib = 1 << 20;
  const tpu::MemoryPlan memory = plan({64, 1024, 8000, 1000, 16384 / 8});
  const double parameters = 4.0 * (8064 * 1024 + 63 * 1024.0 * 1024 + 1024 * 1024);
  const double activations = 4.0 * 2048 * 1024 * 65;
  const double expected = 3 * parameters + activations + 4.0 * 2048 * (8064 + 1024);
  EXPECT_NEAR(static_cast<double>(memory.argument_bytes + memory.temp_bytes) / mib, expected / mib,
              0.1 * expected / mib);
  EXPECT_TRUE(memory.fits());
}

// Measured: 32 layers of 4096 run at batch 512, 64 layers of 4096 do not.
TEST(MemoryPlan, FitsWhereTheMeasuredNetworkRan) {
  EXPECT_TRUE(plan({32, 4096, 2000, 1000, 512 / 8}).fits());
  EXPECT_FALSE(plan({64, 4096, 2000, 1000, 512 / 8}).fits());
}

}  // namespace
