// Host memory: what the runtime promises of it beyond what a backend must; and the clock of traces.
#include "runtime/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "runtime/host/host_driver.h"
#include "runtime/trace.h"
#include "tenon/plugin/host_limits.h"
#include "unit/runtime/fake_stream.h"
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

// Sizes around that from which blocks are mapped by themselves.
TEST(HostMemory, OfAnySizeIsTakenBack) {
  HostDriver driver(nullptr, false);
  for (uint64_t bytes = kHuge - 130; bytes <= kHuge + 66; ++bytes) {
    void* p = driver.allocate(bytes);
    ASSERT_NE(p, nullptr);
    driver.release(p, bytes);
  }
}

constexpr uint64_t kPage = 4096;

// A page of the test's own at that address; nullptr: something is there already.
uint8_t* page_at(uint8_t* address) {
  void* p = mmap(address, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != address && p != MAP_FAILED) munmap(p, kPage);  // an old system, which takes the address for a hint
  return p == address ? address : nullptr;
}

bool is_mapped(uint8_t* address, uint64_t bytes = kPage) { return msync(address, bytes, MS_ASYNC) == 0; }

// What is mapped in front of a block and behind it is not the driver's to give back.
TEST(HostMemory, ThatIsTakenBackLeavesItsNeighbours) {
  HostDriver driver(nullptr, false);
  for (const uint64_t bytes : {kHuge, kHuge + kPage, 2 * kHuge, 3 * kHuge - kPage}) {
    auto* p = static_cast<uint8_t*>(driver.allocate(bytes));
    ASSERT_NE(p, nullptr);
    const uint64_t end = (bytes + kHuge - 1) / kHuge * kHuge;
    std::vector<uint8_t*> neighbours = {page_at(p - kPage), page_at(p + bytes), page_at(p + end)};
    driver.release(p, bytes);
    EXPECT_FALSE(is_mapped(p));
    for (uint8_t* page : neighbours) {
      if (!page) continue;
      EXPECT_TRUE(is_mapped(page)) << bytes;
      munmap(page, kPage);
    }
  }
}

// Sizes just above whole huge pages. The system maps the block in front of memory of the test's own, where there was just
// room for it, and which begins elsewhere in a huge page each time.
TEST(HostMemory, OfLargeBlocksHasAllOfItsLastHugePageToItself) {
  HostDriver driver(nullptr, false);
  for (const uint64_t bytes : {kHuge + 64, 64 * kHuge + 64})
    for (const uint64_t odd : {kPage, 2 * kPage}) {
      const uint64_t all = (bytes + kHuge - 1) / kHuge * kHuge, room = all + kHuge, own_bytes = kHuge + odd;
      void* reserved = mmap(nullptr, room + own_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      ASSERT_NE(reserved, MAP_FAILED);
      uint8_t* own = static_cast<uint8_t*>(reserved) + room;
      munmap(reserved, room);
      auto* p = static_cast<uint8_t*>(driver.allocate(bytes));
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(is_mapped(p, all)) << bytes;
      driver.release(p, bytes);
      EXPECT_TRUE(is_mapped(own, own_bytes)) << bytes;
      munmap(own, own_bytes);
    }
}

// A process that may have 32 MiB more, of which a 32nd part of all is left alone.
TEST(HostMemory, OfLargeBlocksIsRefusedWhereTooLittleWouldBeLeft) {
  HostDriver driver(nullptr, false);
  constexpr uint64_t kReserved = uint64_t{1} << 30;
  void* reserved = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit narrow = before;
  narrow.rlim_cur = host_limits::number_or(host_limits::word_of("/proc/self/statm"), 0) * kPage + (32u << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &narrow), 0);
  void *large = driver.allocate(kHuge), *small = driver.allocate(64);
  setrlimit(RLIMIT_AS, &before);
  munmap(reserved, kReserved);
  EXPECT_EQ(large, nullptr);
  EXPECT_NE(small, nullptr);
  driver.release(small, 64);
  large = driver.allocate(kHuge);
  EXPECT_NE(large, nullptr);
  driver.release(large, kHuge);
}

// Whether all pages of a block are in memory.
bool is_touched(void* p, uint64_t bytes) {
  std::vector<unsigned char> pages((bytes + kPage - 1) / kPage);
  EXPECT_EQ(mincore(p, bytes, pages.data()), 0);
  return std::all_of(pages.begin(), pages.end(), [](unsigned char is) { return is & 1; });
}

// A gang of one after the other.
uint32_t by_turns(void*, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  for (uint32_t i = 0; i < want; ++i) fn(arg, i, want);
  return want;
}

// By one thread or by a host's gang.
TEST(HostMemory, OfLargeBlocksIsTouchedWhenItIsMade) {
  tenon_host host{};
  host.struct_size = sizeof host;
  host.threads = 3;
  host.gang = by_turns;
  for (const tenon_host* with : {static_cast<const tenon_host*>(nullptr), static_cast<const tenon_host*>(&host)}) {
    HostDriver driver(with, false);
    for (const uint64_t bytes : {kHuge, kHuge + 64, 3 * kHuge, 7 * kHuge + 4096}) {
      void* p = driver.allocate(bytes);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(is_touched(p, bytes)) << bytes;
      driver.release(p, bytes);
    }
  }
}

// In 32 bits as little as anybody has room for.
TEST(Memory, IsNotTakenWhereThereIsNoRoomBeyond32Bits) {
  constexpr uint64_t kIn32Bits = uint64_t{1} << 32, kSmall = uint64_t{8} << 20;
  HostDriver driver(nullptr, false);
  EXPECT_EQ(driver.allocate(HostDriver::installed() / kIn32Bits * kIn32Bits + kIn32Bits + kSmall), nullptr);
}

// A mapping of which no page is there. 4 GiB and 2 MiB are one page of 2 MiB in 32 bits.
TEST(Memory, IsGivenBackBeyond32Bits) {
  constexpr uint64_t kBytes = (uint64_t{1} << 32) + (uint64_t{2} << 20), kPage = 4096;
  void* p = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) GTEST_SKIP() << "no addresses are left";
  const auto is_mapped = [&](uint64_t at) {
    unsigned char there;
    return mincore(static_cast<uint8_t*>(p) + at, kPage, &there) == 0;
  };
  EXPECT_TRUE(is_mapped(0) && is_mapped(kBytes - kPage));
  HostDriver(nullptr, false).release(p, kBytes);
  EXPECT_FALSE(is_mapped(0) || is_mapped(kBytes - kPage));
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

// A driver whose memory is small and counted.
class CountedDriver : public DeviceDriver {
 public:
  void* allocate(uint64_t bytes) override {
    if (bytes == 0 || bytes > left) return nullptr;
    left -= bytes;
    return std::malloc(bytes);
  }
  void release(void* memory, uint64_t bytes) override {
    left += bytes;
    std::free(memory);
  }
  void* allocate_host(uint64_t) override { return nullptr; }
  void release_host(void*, uint64_t) override {}
  std::unique_ptr<DeviceStream> open_stream() override { return nullptr; }
  uint64_t memory_bytes() const override { return kAll; }
  std::string refusal(const NodeView&) const override { return {}; }

  static constexpr uint64_t kAll = 10'000;
  uint64_t left = kAll;
};

struct Pool : ::testing::Test {
  // Leases parts of so many bytes and gives them back: the bytes of each that came.
  std::vector<uint64_t> borrow(const std::vector<uint64_t>& parts) {
    std::vector<ArenaPool::Arena> arenas;
    pool.lease(parts, "a test", arenas);
    std::vector<uint64_t> bytes;
    for (const ArenaPool::Arena& a : arenas) bytes.push_back(a.bytes);
    pool.give_back(arenas);
    return bytes;
  }
  CountedDriver driver;
  Memory memory{driver};
  ArenaPool pool{memory};
};
using Sizes = std::vector<uint64_t>;

TEST_F(Pool, GivesTheSmallestThatIsLargeEnough) {
  borrow({1024, 4096, 2048});
  EXPECT_EQ(borrow({1000}), Sizes{1024});
  EXPECT_EQ(borrow({1500}), Sizes{2048});
  EXPECT_EQ(borrow({2048}), Sizes{2048});
  EXPECT_EQ(borrow({2049}), Sizes{4096});
  EXPECT_EQ(borrow({1500, 1000, 500}), (Sizes{2048, 1024, 4096}));
  EXPECT_EQ(memory.stats().bytes_in_use, 1024u + 2048 + 4096);
}

TEST_F(Pool, GivesTheMemoryOfATooSmallOneToALargerOne) {
  borrow({1024});
  EXPECT_EQ(borrow({9000}), Sizes{9000});
  EXPECT_EQ(memory.stats().bytes_in_use, 9000u);
  EXPECT_EQ(CountedDriver::kAll - driver.left, 9000u);
}

TEST_F(Pool, KeepsWhatItHasWhereALargerOneIsNotToBeHad) {
  borrow({1024});
  EXPECT_THROW(borrow({10'001}), Error);
  EXPECT_EQ(memory.stats().bytes_in_use, 1024u);
  EXPECT_THROW(borrow({6000, 6000}), Error);  // the first of them stays with the pool
  EXPECT_EQ(memory.stats().bytes_in_use, 6000u);
  EXPECT_EQ(borrow({6000}), Sizes{6000});
  EXPECT_EQ(memory.stats().bytes_in_use, 6000u);
}

TEST_F(Pool, AsksForNoEmptyMemory) { EXPECT_GE(borrow({0})[0], 1u); }

TEST_F(Pool, LetsAStreamComeBehindTheLastUseOfItsWorkspace) {
  const auto mark = std::make_shared<testing::Never>();
  testing::Remembering first, second;
  std::vector<ArenaPool::Arena> arenas;
  {
    Workspace workspace(pool, {64, 64}, &first, arenas);
    workspace.used_until(mark);
  }
  EXPECT_TRUE(first.behind.empty());
  Workspace workspace(pool, {64, 64}, &second, arenas);
  workspace.used_until(nullptr);
  EXPECT_EQ(second.behind, (std::vector<DeviceMark*>{mark.get(), mark.get()}));
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

// As where something failed on the way.
TEST_F(Pool, TakesAUseThatNobodyEndedForAllThatTheStreamHas) {
  testing::Remembering first, second;
  first.mark = std::make_shared<testing::Never>();
  std::vector<ArenaPool::Arena> arenas;
  { Workspace workspace(pool, {64}, &first, arenas); }
  Workspace workspace(pool, {64}, &second, arenas);
  EXPECT_EQ(second.behind, std::vector<DeviceMark*>{first.mark.get()});
}

TEST(Buffers, ShowTheirMemoryToWhoAsksForIt) {
  testing::Toy toy;
  for (const uint64_t flags : {uint64_t{0}, uint64_t{TENON_DESC_HOST}, uint64_t{1} << 40}) {  // the last is a hint
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.flags = flags;
    desc.dtype = TENON_F32;
    tenon_buffer* buffer = nullptr;
    void* host = &desc;
    ASSERT_EQ(toy.table.buffer_alloc(toy.device, &desc, &buffer, &host).code, TENON_OK);
    EXPECT_EQ(host != nullptr, flags == TENON_DESC_HOST);
    toy.table.buffer_free(buffer);
  }
}

TEST(Buffers, OfASizeThatIsNoneAreRefused) {
  testing::Toy toy;
  const auto code = [&](const std::vector<int64_t>& dims) {
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.dtype = TENON_U8;
    desc.rank = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), desc.dims);
    tenon_buffer* buffer = nullptr;
    return toy.table.buffer_alloc(toy.device, &desc, &buffer, nullptr).code;
  };
  EXPECT_EQ(code({int64_t{1} << 61}), TENON_OUT_OF_MEMORY);
  EXPECT_EQ(code({int64_t{1} << 62}), TENON_INVALID);
  EXPECT_EQ(code({int64_t{1} << 32, int64_t{1} << 32}), TENON_INVALID);
  EXPECT_EQ(code({4, 0}), TENON_INVALID);
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_U8;
  desc.rank = TENON_MAX_RANK + 1;
  std::fill_n(desc.dims, TENON_MAX_RANK, 1);
  desc.placement = TENON_SPLIT;  // what stands behind the dimensions is none
  tenon_buffer* buffer = nullptr;
  EXPECT_EQ(toy.table.buffer_alloc(toy.device, &desc, &buffer, nullptr).code, TENON_INVALID);
}

TEST(Memory, OfADeviceIsToldInAllBytesThatTheHostKnows) {
  testing::Toy toy;
  tenon_stats stats;
  std::memset(&stats, 0xFF, sizeof stats);
  stats.struct_size = sizeof stats;
  stats.flags = 0;
  ASSERT_EQ(toy.table.stats(toy.device, &stats).code, TENON_OK);
  EXPECT_EQ(stats.bytes_largest_free, stats.bytes_free);
  EXPECT_LE(stats.bytes_free, HostDriver::installed());
}

// Compiles two ops on values of these dims; the first one's result needs a workspace.
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

// A page that is left behind by each block is of no use to anybody.
TEST(HostMemory, IsGivenBackWithAllItsAddresses) {
  HostDriver driver(nullptr, false);
  const auto pages = [] { return host_limits::number_or(host_limits::word_of("/proc/self/statm"), 0); };
  driver.release(driver.allocate(kHuge), kHuge);
  const uint64_t before = pages();
  for (int i = 0; i < 200; ++i) driver.release(driver.allocate(kHuge + kPage), kHuge + kPage);
  EXPECT_LT(pages(), before + 100);
}

}  // namespace
}  // namespace tenon::plugin
