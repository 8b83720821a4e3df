// Host memory: what the runtime promises of it beyond what a backend must; and the clock of traces.
#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "runtime/host/host_driver.h"
#include "runtime/trace.h"
#include "tenon/plugin/host_limits.h"
#include "unit/runtime/toy_backend.h"

namespace tenon::plugin {
namespace {

constexpr uint64_t kHuge = 2u << 20;

// Used memory that comes back is cleared again, to its last byte.
TEST(HostMemory, IsZeroed) {
  HostDriver driver(nullptr, false);
  for (const uint64_t bytes : {uint64_t{64}, uint64_t{4096}, uint64_t{100'032}, kHuge - 64, kHuge, kHuge + 64})
    for (int round = 0; round < 3; ++round) {
      auto* p = static_cast<uint8_t*>(driver.allocate(bytes));
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(std::count(p, p + bytes, 0), static_cast<std::ptrdiff_t>(bytes)) << bytes << " bytes, round " << round;
      std::fill(p, p + bytes, uint8_t{0xA5});
      driver.release(p, bytes);
    }
}

TEST(HostMemory, OfLargeBlocksBeginsWhereAHugePageMay) {
  HostDriver driver(nullptr, false);
  for (const uint64_t bytes : {kHuge, kHuge + 64, 3 * kHuge}) {
    void* p = driver.allocate(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kHuge, 0u);
    driver.release(p, bytes);
  }
}

TEST(Memory, IsAllThatTheProcessMayHave) {
  EXPECT_EQ(HostDriver::installed(), host_memory().limit);
  HostDriver driver(nullptr, false);
  Memory memory(driver);
  void* one = memory.allocate(64, "a test");
  for (const uint64_t bytes : {HostDriver::installed(), HostDriver::installed() + 64, UINT64_MAX, UINT64_MAX - 62})
    try {
      memory.allocate(bytes, "a test");
      FAIL() << "expected OUT_OF_MEMORY";
    } catch (const Error& e) {
      EXPECT_EQ(e.code, TENON_OUT_OF_MEMORY);
      EXPECT_EQ(e.what(), "a test: out of memory for " + std::to_string(bytes) + " bytes");
    }
  EXPECT_EQ(memory.stats().bytes_in_use, 64u);
  memory.release(one, 64);
  EXPECT_EQ(memory.stats().bytes_in_use, 0u);
  EXPECT_EQ(memory.stats().bytes_peak, 64u);
}

TEST(Memory, OfADeviceIsInUseOrFree) {
  testing::Toy toy;
  toy.buffer({1, 2, 3});
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(toy.table.stats(toy.device, &stats).code, TENON_OK);
  EXPECT_GE(stats.bytes_in_use, 24u);
  EXPECT_EQ(stats.bytes_free, HostDriver::installed() - stats.bytes_in_use);
  EXPECT_EQ(stats.bytes_largest_free, stats.bytes_free);
}

// Of two operations on numbers, the first of which needs a workspace for its result.
tenon_status compile_with(const std::vector<int64_t>& dims) {
  testing::Toy toy;
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, dims, TENON_ROLE_FEED), y = b.value(TENON_I64, dims),
                 z = b.value(TENON_I64, dims);
  b.node("neg", {x}, {y}).name("first");
  b.node("reverse", {y}, {z}).name("second").attr_list("axes", {0});
  b.result(z);
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_program* program = nullptr;
  const tenon_status status = toy.compile(b, options, &program);
  toy.table.program_destroy(program);
  return status;
}

TEST(Workspace, ThatIsNotThereIsToldWithItsSize) {
  const tenon_status status = compile_with({1 << 30, 1 << 10});
  EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
  EXPECT_STREQ(status.message, "compile: the step's workspace: out of memory for 8796093022208 bytes");
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
