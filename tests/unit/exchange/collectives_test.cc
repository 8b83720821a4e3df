// What processes do together, by threads: sums have the bits of one loop over all replicas, in their order.
#include "exchange/collectives.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <random>

#include "base/half.h"
#include "threads_transport.h"

namespace tenon {
namespace {

// Their sizes differ so much that each order of additions has a sum of its own.
std::vector<float> drawn(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(std::ldexp(static_cast<float>(random() % 2001) - 1000.0f, static_cast<int>(random() % 40) - 20));
  return out;
}

struct Case {
  int processes;
  size_t units;
  std::vector<size_t> sizes;  // elements of each array
};

uint32_t seed_of(size_t array, size_t replica) { return static_cast<uint32_t>(1000 * array + replica); }

class Sums : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Of, Sums,
                         testing::Values(Case{2, 1, {1}}, Case{3, 2, {7, 1, 300}}, Case{2, 1, {70000}},
                                         Case{3, 1, {200000, 5, 64, 1000}}, Case{4, 2, {70001, 3, 100000, 20000, 1}},
                                         Case{5, 1, {1, 2, 3, 4, 5, 6, 7}}, Case{2, 4, {30000, 0, 9}}));

void expect_sums(const Case& c, bool one_host) {
  Mailbox box(static_cast<uint32_t>(c.processes), one_host);
  std::vector<std::vector<std::vector<float>>> sums(static_cast<size_t>(c.processes));
  box.run([&](Wire& wire, int rank) {
    std::vector<std::vector<float>> parts;
    auto& out = sums[static_cast<size_t>(rank)];
    for (const size_t n : c.sizes) out.emplace_back(n);
    parts.reserve(c.sizes.size() * c.units);
    std::vector<ReducedArray> arrays;
    for (size_t a = 0; a < c.sizes.size(); ++a) {
      ReducedArray array{{}, reinterpret_cast<std::byte*>(out[a].data()), c.sizes[a] * sizeof(float)};
      for (size_t u = 0; u < c.units; ++u) {
        parts.push_back(drawn(c.sizes[a], seed_of(a, static_cast<size_t>(rank) * c.units + u)));
        array.from.push_back(reinterpret_cast<const std::byte*>(parts.back().data()));
      }
      arrays.push_back(std::move(array));
    }
    std::unique_ptr<SharedRoom> room = SharedRoom::open(wire).take();
    EXPECT_EQ(room != nullptr, one_host);
    Reducer reducer(wire, std::move(room));
    for (int twice = 0; twice < 2; ++twice) EXPECT_TRUE(reducer.all_reduce(ReduceKind::kSum, DType::kF32, arrays).ok());
  });
  for (size_t a = 0; a < c.sizes.size(); ++a) {
    std::vector<float> expected = drawn(c.sizes[a], seed_of(a, 0));
    for (size_t r = 1; r < static_cast<size_t>(c.processes) * c.units; ++r) {
      const std::vector<float> next = drawn(c.sizes[a], seed_of(a, r));
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += next[i];
    }
    for (const auto& of_process : sums) EXPECT_EQ(of_process[a], expected) << "array " << a;
  }
}

TEST_P(Sums, AreTakenInTheOrderOfTheReplicas) { expect_sums(GetParam(), false); }
TEST_P(Sums, AreTheSameThroughMemoryOfOneMachine) { expect_sums(GetParam(), true); }

// More rounds than there are slots, again and again: nobody overtakes a process that is slower.
TEST(SharedSums, NoSlotIsUsedBeforeAllHaveTakenWhatItHad) {
  constexpr size_t kElements = 3000001;
  Mailbox box(3, true);
  box.run([&](Wire& wire, int rank) {
    Reducer reducer(wire, SharedRoom::open(wire).take());
    std::vector<float> own(kElements), sum(kElements);
    for (int round = 1; round <= 5; ++round) {
      for (size_t i = 0; i < kElements; ++i)
        own[i] = static_cast<float>(round * (rank + 1)) + static_cast<float>(i % 1000);
      const ReducedArray array{
          {reinterpret_cast<const std::byte*>(own.data())}, reinterpret_cast<std::byte*>(sum.data()), 4 * kElements};
      if (rank == round % 3) std::this_thread::yield();
      ASSERT_TRUE(reducer.all_reduce(ReduceKind::kSum, DType::kF32, std::span(&array, 1)).ok());
      for (size_t i = 0; i < kElements; ++i)
        ASSERT_EQ(sum[i], static_cast<float>(6 * round) + 3 * static_cast<float>(i % 1000))
            << i << " in round " << round;
    }
  });
}

TEST(SharedSums, OneThatLeftInTheMiddleIsNoticed) {
  Mailbox box(2, true);
  box.run([&](Wire& wire, int rank) {
    Reducer reducer(wire, SharedRoom::open(wire).take());
    if (rank == 1) return wire.leave("the disk is full");
    std::vector<float> own(100000), sum(100000);
    const ReducedArray array{
        {reinterpret_cast<const std::byte*>(own.data())}, reinterpret_cast<std::byte*>(sum.data()), 400000};
    const Status status = reducer.all_reduce(ReduceKind::kSum, DType::kF32, std::span(&array, 1));
    EXPECT_EQ(status.message(), "process 1 on even: the disk is full");
    wire.leave(status.message());
  });
}

// Without room for it all agree on messages.
TEST(SharedSums, MemoryThatMayNotBeHadIsDoneWithout) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit least{1000000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &least), 0);
  Mailbox box(2, true);
  box.run([&](Wire& wire, int) { EXPECT_EQ(SharedRoom::open(wire).take(), nullptr); });
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(Reduce, NarrowFloatsAreRoundedOnceAtTheEnd) {
  // 256 + 1 + 1 is 258 in bf16, but 256 where each addition is rounded.
  Mailbox box(3);
  box.run([&](Wire& wire, int rank) {
    const std::vector<uint16_t> own(5, to_bf16(rank == 0 ? 256.0f : 1.0f));
    std::vector<uint16_t> sum(5);
    ReducedArray array{{reinterpret_cast<const std::byte*>(own.data())}, reinterpret_cast<std::byte*>(sum.data()), 10};
    Reducer reducer(wire);
    EXPECT_TRUE(reducer.all_reduce(ReduceKind::kSum, DType::kBF16, std::span(&array, 1)).ok());
    EXPECT_EQ(from_bf16(sum[4]), 258.0f);
  });
}

TEST(Reduce, TheLargestOfIntegers) {
  Mailbox box(4);
  box.run([&](Wire& wire, int rank) {
    const std::vector<int32_t> own{rank, -rank, 7};
    std::vector<int32_t> most(3);
    ReducedArray array{{reinterpret_cast<const std::byte*>(own.data())}, reinterpret_cast<std::byte*>(most.data()), 12};
    Reducer reducer(wire);
    EXPECT_TRUE(reducer.all_reduce(ReduceKind::kMax, DType::kI32, std::span(&array, 1)).ok());
    EXPECT_EQ(most, (std::vector<int32_t>{3, 0, 7}));
  });
}

class Processes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, Processes, testing::Values(2, 3, 4, 5, 7));

TEST_P(Processes, GatherByRank) {
  const auto n = static_cast<size_t>(GetParam());
  for (const size_t size : {size_t{1}, size_t{1000}, size_t{5000}}) {
    Mailbox box(static_cast<uint32_t>(n));
    box.run([&](Wire& wire, int rank) {
      const std::vector<int64_t> own(size, 100 + rank);
      std::vector<int64_t> all(size * n);
      EXPECT_TRUE(all_gather(wire, own.data(), all.data(), size * sizeof(int64_t)).ok());
      for (size_t r = 0; r < n; ++r) EXPECT_EQ(all[r * size + size - 1], static_cast<int64_t>(100 + r));
    });
  }
}

TEST_P(Processes, BroadcastFromAny) {
  const int n = GetParam();
  for (int root = 0; root < n; ++root) {
    Mailbox box(static_cast<uint32_t>(n));
    box.run([&](Wire& wire, int rank) {
      int64_t value = rank == root ? 42 : 0;
      EXPECT_TRUE(broadcast(wire, root, &value, sizeof value).ok());
      EXPECT_EQ(value, 42);
    });
  }
}

TEST(Leaving, OthersFailWithItsWords) {
  Mailbox box(3);
  box.run([&](Wire& wire, int rank) {
    if (rank == 1) return wire.leave("the disk is full");
    int64_t value = 0;
    std::vector<int64_t> all(3);
    const Status status = all_gather(wire, &value, all.data(), sizeof value);
    EXPECT_EQ(status.message(), "process 1 on odd: the disk is full");
    wire.leave(status.message());
  });
}

TEST(Leaving, InOrderIsMetByAll) {
  Mailbox box(4);
  box.run([&](Wire& wire, int) {
    wire.leave("");
    EXPECT_TRUE(wire.meet_leaving(std::chrono::hours(1)));
  });
}

}  // namespace
}  // namespace tenon
