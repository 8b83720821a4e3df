// Host memory: what the runtime promises of it beyond what a backend must; and the clock of traces.
#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "runtime/compiling.h"
#include "runtime/trace.h"
#include "tenon/plugin/host_limits.h"
#include "unit/runtime/toy_backend.h"

namespace tenon::plugin {
namespace {

constexpr uint64_t kHuge = 2u << 20;

// Used memory that comes back is cleared again, to its last byte.
TEST(Memory, IsZeroed) {
  Memory memory;
  for (const uint64_t bytes : {uint64_t{64}, uint64_t{4096}, uint64_t{100'032}, kHuge - 64, kHuge, kHuge + 64})
    for (int round = 0; round < 3; ++round) {
      uint8_t* p = memory.allocate(bytes);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(std::count(p, p + bytes, 0), static_cast<std::ptrdiff_t>(bytes)) << bytes << " bytes, round " << round;
      std::fill(p, p + bytes, uint8_t{0xA5});
      memory.release(p, bytes);
    }
  EXPECT_EQ(memory.in_use(), 0u);
}

TEST(Memory, OfLargeBlocksBeginsWhereAHugePageMay) {
  Memory memory;
  for (const uint64_t bytes : {kHuge, kHuge + 64, 3 * kHuge}) {
    uint8_t* p = memory.allocate(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kHuge, 0u);
    memory.release(p, bytes);
  }
}

TEST(Memory, IsAllThatTheProcessMayHave) {
  EXPECT_EQ(Memory::installed(), host_memory().limit);
  Memory memory;
  EXPECT_EQ(memory.allocate(Memory::installed() + 64), nullptr);
  EXPECT_EQ(memory.allocate(UINT64_MAX), nullptr);
  EXPECT_EQ(memory.allocate(UINT64_MAX - 62), nullptr);
  EXPECT_EQ(memory.in_use(), 0u);
}

TEST(Memory, OfADeviceIsInUseOrFree) {
  testing::Toy toy;
  toy.buffer({1, 2, 3});
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(toy.table.stats(toy.device, &stats).code, TENON_OK);
  EXPECT_GE(stats.bytes_in_use, 24u);
  EXPECT_EQ(stats.bytes_free, Memory::installed() - stats.bytes_in_use);
  EXPECT_EQ(stats.bytes_largest_free, stats.bytes_free);
}

TEST(Workspace, MayBeAsLargeAsItsLimit) {
  int reserved = 0;
  const auto reserve = [&](uint64_t) { return ++reserved > 0; };
  reserve_workspace(4096, 4096, nullptr, reserve);
  reserve_workspace(4096, 0, nullptr, reserve);
  EXPECT_EQ(reserved, 2);
  EXPECT_THROW(reserve_workspace(4097, 4096, nullptr, reserve), Error);
  EXPECT_EQ(reserved, 2);
}

TEST(Workspace, ThatIsNotThereIsToldWithItsSize) {
  try {
    reserve_workspace(4096, 0, nullptr, [](uint64_t) { return false; });
    FAIL() << "expected OUT_OF_MEMORY";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, TENON_OUT_OF_MEMORY);
    EXPECT_STREQ(e.what(), "compile: the step needs a workspace of 4096 bytes; out of memory");
  }
}

TEST(Trace, TellsTheTimeOfTheSteadyClockInPicoseconds) {
  const auto now = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()) * 1000;
  };
  const uint64_t before = now(), told = now_ps(), after = now();
  EXPECT_LE(before, told);
  EXPECT_LE(told, after);
}

}  // namespace
}  // namespace tenon::plugin
