#include "callback/callback_list.h"

#include <stdexcept>

#include "unit/callback/callback_testing.h"

namespace tenon {
namespace {

using namespace callback_testing;

struct Counting : Callback {
  int batches = 0, errors = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  int64_t most_steps(int64_t) const override { return most; }
  void on_train_batch_end(TrainingRun&, int64_t, const Logs&) override { ++batches; }
  void on_train_error(TrainingRun&, const Status&) override { ++errors; }
};

struct Throwing : Counting {
  void on_train_batch_end(TrainingRun&, int64_t batch, const Logs&) override {
    if (batch == 0) throw std::runtime_error("no\nluck");
    if (batch == 1) throw Error(Status(Code::kUnsupported, "Throwing: is unsupported"));
    throw 1;
  }
  void on_train_error(TrainingRun&, const Status&) override { throw 2; }
};

TEST(CallbackList, WhatACallbackThrowsIsOneLineThatNamesIt) {
  Counting before, behind;
  CallbackList list({before, Throwing(), behind});
  TestRun run;
  const auto batch = [&](int64_t n) { return list.each([&](Callback& c) { c.on_train_batch_end(run, n, {}); }); };
  const Status first = batch(0), second = batch(1);
  EXPECT_EQ(first.message(), "Throwing: no\\nluck");
  EXPECT_EQ(second.message(), "Throwing: is unsupported");
  EXPECT_EQ(second.code(), Code::kUnsupported);
  EXPECT_EQ(batch(2).message(), "Throwing: unknown error");
  EXPECT_EQ(before.batches, 3);
  EXPECT_EQ(behind.batches, 0);
  list.on_train_error(run, first);
  EXPECT_EQ(before.errors, 1);
  EXPECT_EQ(behind.errors, 1);
}

TEST(CallbackList, TheShortestCallIsTakenAndOneStepAtLeast) {
  Counting five, none;
  five.most = 5;
  EXPECT_EQ(CallbackList({none, five}).most_steps(0).take(), 5);
  five.most = -3;
  EXPECT_EQ(CallbackList({none, five}).most_steps(0).take(), 1);
  EXPECT_EQ(CallbackList({}).most_steps(0).take(), std::numeric_limits<int64_t>::max());
}

TEST(CallbackList, ValuesAreKeptAndVariablesOfTheCallerBorrowed) {
  Counting mine;
  auto shared = std::make_shared<Counting>();
  CallbackList list({mine, Counting(), &mine, shared});
  TestRun run;
  EXPECT_TRUE(list.each([&](Callback& c) { c.on_train_batch_end(run, 0, {}); }).ok());
  EXPECT_EQ(mine.batches, 2);
  EXPECT_EQ(shared->batches, 1);
}

}  // namespace
}  // namespace tenon
