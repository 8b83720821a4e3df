#include "data/input/input_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "data/random_bits.h"
#include "tenon/input.h"

namespace tenon {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

Pairs take(Order& order, size_t count) {
  Pairs out;
  for (size_t i = 0; i < count; ++i) {
    const RecordRef ref = order.next();
    out.emplace_back(ref.part, ref.record);
  }
  return out;
}

TEST(Philox, GivesThePublishedVectors) {
  // Random123's kat_vectors, philox4x32 10 rounds.
  const auto zeros = philox(0, 0, 0, 0, 0);
  EXPECT_EQ(zeros[0], 0x6627e8d5u);
  EXPECT_EQ(zeros[1], 0xe169c58du);
  EXPECT_EQ(zeros[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros[3], 0x9b00dbd8u);
  const auto pi = philox(0x299f31d0a4093822u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344);
  EXPECT_EQ(pi[0], 0xd16cfe09u);
  EXPECT_EQ(pi[1], 0x94fdcceb);
  EXPECT_EQ(pi[2], 0x5001e420u);
  EXPECT_EQ(pi[3], 0x24126ea1u);
}

TEST(SampleRandom, IsUniformAndDependsOnEveryKey) {
  SampleRandom random(1, 2, 3);
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = random.uniform(-2, 4);
    ASSERT_GE(x, -2.0f);
    ASSERT_LE(x, 4.0f);
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / 20000, 1.0, 0.05);           // mean of U(-2, 4)
  EXPECT_NEAR(squares / 20000 - 1.0, 3.0, 0.1);  // variance 36 / 12
  std::set<uint32_t> first;
  for (uint64_t key : {0, 1})
    for (uint32_t stream : {0, 1})
      for (uint64_t sample : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32})
        first.insert(SampleRandom(key, stream, sample).bits());
  EXPECT_EQ(first.size(), 12u);
}

TEST(SampleRandom, BelowReachesEveryValueEqually) {
  SampleRandom random(7, 0, 0);
  std::vector<int> counts(11);
  for (int i = 0; i < 11000; ++i) ++counts.at(static_cast<size_t>(random.below(11)));
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Order, ReadsOneRecordOfEachFileInTurn) {
  Order order({2, 3, 1}, {});
  EXPECT_EQ(take(order, 6), (Pairs{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {1, 2}}));
  EXPECT_EQ(take(order, 2), (Pairs{{0, 0}, {1, 0}})) << "the next epoch is the same without shuffling";
  EXPECT_EQ(order.epoch(), 1u);
}

TEST(Order, AnExhaustedFileGivesItsPlaceToTheNextOne) {
  Order order({1, 2, 2, 1}, {.interleave = 2});
  EXPECT_EQ(take(order, 6), (Pairs{{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {3, 0}}));
}

TEST(Order, EmptyFilesAreNoObstacle) {
  Order order({0, 2, 0, 0, 1, 0}, {.interleave = 2});
  EXPECT_EQ(take(order, 3), (Pairs{{1, 0}, {4, 0}, {1, 1}}));
}

TEST(Order, EachEpochIsAnotherPermutation) {
  Order order({30, 0, 50, 21}, {.shuffle = true, .shuffle_buffer = 16, .interleave = 2, .seed = 5});
  const Pairs first = take(order, 101), second = take(order, 101);
  EXPECT_NE(first, second);
  for (Pairs epoch : {first, second}) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(std::unique(epoch.begin(), epoch.end()) - epoch.begin(), 101);
  }
}

TEST(Order, DependsOnTheSeed) {
  const OrderOptions options{.shuffle = true, .seed = 5};
  Order a({100}, options), b({100}, options), c({100}, {.shuffle = true, .seed = 6});
  const Pairs first = take(a, 100);
  EXPECT_EQ(first, take(b, 100));
  EXPECT_NE(first, take(c, 100));
}

TEST(Order, ABufferAsLargeAsTheDataIsAFairShuffle) {
  // How often record 0 of 8 comes to each place in 8,000 epochs.
  Order order({8}, {.shuffle = true, .shuffle_buffer = 8, .seed = 1});
  std::vector<int> places(8);
  for (int epoch = 0; epoch < 8000; ++epoch)
    for (size_t i = 0; i < 8; ++i)
      if (order.next().record == 0) ++places[i];
  for (int count : places) EXPECT_NEAR(count, 1000, 150);
}

TEST(Order, ARecordLeavesTheShuffleBufferNotBeforeItCouldEnter) {
  Order order({1000}, {.shuffle = true, .shuffle_buffer = 10, .seed = 1});
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_LT(order.next().record, i + 10);
}

TEST(Order, SeekGoesToTheSamePlaceAsReading) {
  const OrderOptions options{.shuffle = true, .shuffle_buffer = 7, .interleave = 3, .seed = 9};
  Order whole({5, 9, 4, 1}, options);
  const Pairs all = take(whole, 60);
  for (size_t at = 0; at < 50; ++at) {
    Order order({5, 9, 4, 1}, options);
    order.seek(at);
    EXPECT_EQ(take(order, 10),
              Pairs(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at) + 10));
  }
}

TEST(Order, SkippingAMillionRecordsNeedsNoData) {
  Order order(std::vector<uint32_t>(100, 20000), {.shuffle = true, .seed = 3});
  order.seek(uint64_t{2000000} * 1000000 + 1000000);  // epoch 1,000,000 and half of it
  EXPECT_EQ(order.epoch(), 1000000u);
}

}  // namespace
}  // namespace tenon
