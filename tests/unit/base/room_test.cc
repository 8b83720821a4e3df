// One budget of memory for what several threads take at a time. Nothing is really taken here.
#include "base/room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenon {
namespace {

uint64_t part_of_left(int percent) { return room_left() / 100 * static_cast<uint64_t>(percent); }

// Control: without a budget each of these fits, and the threads hold theirs together.
TEST(Room, ALargeItemWaitsUntilOthersHaveGivenBack) {
  const uint64_t bytes = part_of_left(60);
  std::atomic<int> holding = 0, most = 0, made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        ItemRoom room;
        const Status status = room.run([&]() -> Status {
          TENON_TRY(take_room(bytes, "an item"));
          most = std::max(most.load(), ++holding);
          std::this_thread::yield();
          --holding;
          return {};
        });
        made += status.ok();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(made, 4 * 50);
}

TEST(Room, SmallItemsTakeNothing) {
  ItemRoom room;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(take_room(kRoomGranule - 1, "an item").ok());
  std::thread([] {
    ItemRoom other;
    EXPECT_TRUE(take_room(part_of_left(60), "an item").ok());
  }).join();
}

TEST(Room, WhatDoesNotFitAloneIsAnErrorThatNamesSizes) {
  const uint64_t bytes = part_of_left(300);
  ItemRoom room;
  const Status status = room.run([&] { return take_room(bytes, "a record"); });
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_TRUE(status.message().starts_with("no memory for a record: it takes " + std::to_string(bytes) + " bytes, "))
      << status.message();
  EXPECT_EQ(take_room(bytes, "a record").message().substr(0, 30), status.message().substr(0, 30));
}

// Control: if whoever waits kept the others waiting, this would not end.
TEST(Room, ItemsThatHoldAPartAndWaitForOneAnotherAreMadeOneByOne) {
  const uint64_t part = 100 * kRoomGranule, half = part_of_left(50), far_too_much = part_of_left(300);
  std::barrier both(2);
  std::atomic<int> tries = 0, refused = 0, good = 0;
  const auto make = [&] {
    ItemRoom room;
    bool first = true;
    const Status status = room.run([&]() -> Status {
      ++tries;
      TENON_TRY(take_room(part, "a record"));
      if (!std::exchange(first, false)) return take_room(half, "an image");
      both.arrive_and_wait();
      return take_room(far_too_much, "an image");
    });
    (status.ok() ? good : refused)++;
  };
  std::thread other(make);
  make();
  other.join();
  EXPECT_EQ(refused, 1);  // nobody was at work any more
  EXPECT_EQ(good, 1);     // again, beside nobody
  EXPECT_EQ(tries, 3);
}

TEST(Room, SmallPiecesAreAskedForTogether) {
  RoomInPieces pieces;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(pieces.take(100, "rows").ok());
  EXPECT_EQ(pieces.take(part_of_left(300), "rows").code(), Code::kInvalid);
}

}  // namespace
}  // namespace tenon
