// Pools where the system has fewer threads to give than were asked for.
#include <gtest/gtest.h>

#include <atomic>

#include "base/process/thread_pool.h"
#include "unit/thread_limit.h"

namespace tenon {
namespace {

TEST(ThreadLimit, APoolWorksOnAsManyThreadsAsThereAre) {
  constexpr int kAsked = 5;
  for (int there = 0; there <= kAsked; ++there) {
    test::threads_left = there;
    ThreadPool pool(kAsked);
    test::threads_left = -1;
    EXPECT_EQ(pool.threads(), std::min(there + 1, kAsked));
    EXPECT_EQ(pool.shortage().empty(), there >= kAsked - 1) << pool.shortage();
    std::atomic<int> done = 0;
    for (int i = 0; i < 100; ++i) pool.submit([&] { ++done; });
    const auto count = [](void* arg, uint32_t, uint32_t) { ++*static_cast<std::atomic<int>*>(arg); };
    std::atomic<int> members = 0;
    EXPECT_EQ(pool.gang(kAsked, count, &members), static_cast<uint32_t>(pool.threads()));
    EXPECT_EQ(members, pool.threads());
    while (done < 100) pool.help();
  }
}

}  // namespace
}  // namespace tenon
