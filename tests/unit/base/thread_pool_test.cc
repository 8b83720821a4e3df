// Gangs and tasks at once: what every thread sees of the others. Worth most under ThreadSanitizer.
#include "base/process/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tenon/plugin/kernel.h"

namespace tenon {
namespace {

// Each member adds to what its neighbour wrote before the barrier, in memory that is not atomic.
struct Ring {
  explicit Ring(uint32_t size) : now(size, 1), next(size) {}
  static void turn(void* arg, uint32_t index, uint32_t count) {
    Ring& r = *static_cast<Ring*>(arg);
    for (int round = 0; round < 20; ++round) {
      r.next[index] = r.now[index] + r.now[(index + 1) % count];
      r.barrier.arrive_and_wait(count);
      r.now[index] = r.next[index];
      r.barrier.arrive_and_wait(count);
    }
  }
  std::vector<uint64_t> now, next;
  plugin::Barrier barrier;
};

TEST(ThreadPool, MembersOfAGangSeeWhatTheOthersWroteBeforeABarrier) {
  for (int threads : {1, 2, 3, 4}) {
    ThreadPool pool(threads);
    Ring ring(static_cast<uint32_t>(threads));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.gang(8, Ring::turn, &ring), static_cast<uint32_t>(threads));
    for (uint64_t value : ring.now) EXPECT_EQ(value, uint64_t{1} << 60) << threads << " threads";  // doubles each round
  }
}

TEST(ThreadPool, AGangHasAtMostTheThreadsAskedFor) {
  ThreadPool pool(4);
  std::vector<int> calls(4, 0);
  const auto count = [](void* arg, uint32_t index, uint32_t) { ++(*static_cast<std::vector<int>*>(arg))[index]; };
  EXPECT_EQ(pool.gang(2, count, &calls), 2u);
  EXPECT_EQ(calls, (std::vector<int>{1, 1, 0, 0}));
}

TEST(ThreadPool, AGangFromAGangIsAGangOfOne) {
  ThreadPool pool(3);
  struct Inside {
    ThreadPool& pool;
    std::vector<uint32_t> sizes;
  } inside{pool, std::vector<uint32_t>(3)};
  pool.gang(
      3,
      [](void* arg, uint32_t index, uint32_t) {
        Inside& in = *static_cast<Inside*>(arg);
        in.sizes[index] = in.pool.gang(
            3, [](void*, uint32_t, uint32_t) {}, nullptr);
      },
      &inside);
  EXPECT_EQ(inside.sizes, (std::vector<uint32_t>{1, 1, 1}));
}

TEST(ThreadPool, TasksRunOnceBetweenGangs) {
  constexpr int kTasks = 500;
  std::vector<int> ran(kTasks, 0);
  {
    ThreadPool pool(3);
    Ring ring(3);
    for (int i = 0; i < kTasks; ++i) {
      pool.submit([&ran, i] { ++ran[static_cast<size_t>(i)]; });
      if (i % 50 == 0) pool.gang(3, Ring::turn, &ring);
    }
  }
  EXPECT_EQ(ran, std::vector<int>(kTasks, 1));
}

TEST(ThreadPool, TwoThreadsThatWantAGangBothGetTheirWorkDone) {
  ThreadPool pool(3);
  std::atomic<int> calls{0}, members{0};
  const auto lead = [&] {
    for (int i = 0; i < 100; ++i)
      members += static_cast<int>(pool.gang(
          3, [](void* arg, uint32_t, uint32_t) { ++*static_cast<std::atomic<int>*>(arg); }, &calls));
  };
  std::thread other(lead);
  lead();
  other.join();
  EXPECT_EQ(calls.load(), members.load());
  EXPECT_GE(calls.load(), 200);
}

TEST(ThreadPool, APoolOfOneRunsItsTasksInHelp) {
  ThreadPool pool(1);
  auto token = std::make_shared<int>(0);
  pool.submit([token] { ++*token; });
  EXPECT_TRUE(pool.help());
  EXPECT_FALSE(pool.help());
  EXPECT_EQ(*token, 1);
  EXPECT_EQ(token.use_count(), 1) << "the task's captures outlive it";
}

TEST(ThreadPool, WhatWasSubmittedRunsBeforeThePoolIsGone) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(2);
    for (int i = 0; i < 100; ++i) pool.submit([&ran] { ++ran; });
  }
  EXPECT_EQ(ran.load(), 100);
}

}  // namespace
}  // namespace tenon
