// What exchanges cost, by hand: 2 (N-1)/N of the bytes out of each process, log2(N) rounds of what is little.
#include "exchange/exchange_cost.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

constexpr size_t kMany = 100'000'000;

Cluster machines(int hosts, int processes, double latency = 0) {
  return {hosts, processes, 1, true, {10e9, latency}, {1e9, latency}};
}

double seconds(const Cluster& cluster, int processes, size_t bytes, ExchangeWork work = ExchangeWork::kAllReduce) {
  return exchange_cost(cluster, processes, work, std::span(&bytes, 1)).seconds;
}

TEST(ExchangeCost, ARingsTrafficGoesThroughEachHostsLink) {
  EXPECT_NEAR(seconds(machines(2, 1), 2, kMany), 0.1, 1e-9);        // 2 x 1/2 x 100 MB at 1 GB/s
  EXPECT_NEAR(seconds(machines(4, 1), 4, kMany), 0.15, 1e-9);       // 2 x 3/4
  EXPECT_NEAR(seconds(machines(64, 1), 64, kMany), 0.196875, 1e-9);  // 2 x 63/64
}

TEST(ExchangeCost, ProcessesOfAHostShareItsLink) {
  // Each of 4 sends 2/4 of the bytes to each of the 2 on the other host: 2 x 2 x 50 MB.
  EXPECT_NEAR(seconds(machines(2, 2), 4, kMany), 0.2, 1e-9);
}

TEST(ExchangeCost, WithinAHostAllSendThroughItsMemory) {
  const size_t bytes = kMany;
  const ExchangeCost cost = exchange_cost(machines(1, 4), 4, ExchangeWork::kAllReduce, std::span(&bytes, 1));
  EXPECT_EQ(cost.way, ExchangeWay::kMemory);
  EXPECT_NEAR(cost.seconds, 0.06, 1e-9);  // 4 x 3/4 x 2 x 100 MB at 10 GB/s
  EXPECT_NEAR(cost.sent_bytes, 1.5e8, 1);
}

TEST(ExchangeCost, WhatIsDealtOrPutTogetherIsHalfOfASum) {
  EXPECT_NEAR(seconds(machines(4, 1), 4, kMany, ExchangeWork::kReduceScatter), 0.075, 1e-9);
  EXPECT_NEAR(seconds(machines(4, 1), 4, kMany, ExchangeWork::kAllGather), 0.075, 1e-9);
}

// Each of two processes of two units sends both parts of the half that the other one adds up, and gets the sum.
TEST(ExchangeCost, UnitsSendTheirPartsOneByOne) {
  Cluster cluster = machines(2, 1);
  cluster.units_per_process = 2;
  EXPECT_NEAR(seconds(cluster, 2, kMany), 0.15, 1e-9);
}

TEST(ExchangeCost, WhatIsLittleTakesRoundsOfMessages) {
  const size_t bytes = 4;
  const ExchangeCost cost = exchange_cost(machines(8, 1, 1e-3), 8, ExchangeWork::kAllReduce, std::span(&bytes, 1));
  EXPECT_EQ(cost.way, ExchangeWay::kRounds);
  EXPECT_NEAR(cost.seconds, 3e-3, 1e-6);
  EXPECT_NEAR(seconds(machines(5, 1, 1e-3), 5, 4), 3e-3, 1e-6);
}

// Pieces of 256 KiB, one a process and round, three rounds under way: 1,024 pieces of 8 processes are 128 rounds, 43 waits of two messages.
TEST(ExchangeCost, ASlowAnswerIsWaitedForOnceInThreeRounds) {
  EXPECT_NEAR(seconds(machines(8, 1, 0.1), 8, size_t{256} << 20), 43 * 0.2, 1e-9);
}

TEST(ExchangeCost, NothingAndOneProcessCostNothing) {
  EXPECT_EQ(seconds(machines(2, 1, 1), 2, 0), 0);
  EXPECT_EQ(seconds(machines(2, 1, 1), 1, kMany), 0);
}

}  // namespace
}  // namespace tenon
