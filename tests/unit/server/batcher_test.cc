// Who meets whom in a batch. The model's calls are held back, so that the order is a matter of construction.
#include "server/models/batcher.h"

#include <future>

#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

using Rows = std::vector<float>;

class BatcherTest : public ::testing::Test {
 protected:
  void make(BatchOptions options = {}, int64_t max_rows = 4) {
    auto model = std::make_unique<HalfPlus>(2.0f, max_rows);
    gate = model->gate;
    calls = model->calls;
    metrics = std::make_shared<VersionMetrics>("half", 1);
    batcher = std::make_unique<Batcher>(std::move(model), options, metrics);
  }
  ~BatcherTest() override {
    if (gate) gate->open();
  }
  // A request of these rows; nullopt where it was not taken.
  std::optional<std::future<Result<Arrays>>> ask(const Rows& x, Clock::time_point deadline = Clock::time_point::max(),
                                                 size_t signature = 0) {
    auto promise = std::make_shared<std::promise<Result<Arrays>>>();
    BatchRequest request{&batcher->model().signatures()[signature],
                         {{"x", Array(x)}},
                         std::ssize(x),
                         deadline,
                         [promise](Result<Arrays> r) { promise->set_value(std::move(r)); }};
    if (!batcher->submit(std::move(request))) return std::nullopt;
    return promise->get_future();
  }
  static Rows values(std::optional<std::future<Result<Arrays>>>& asked) {
    const Result<Arrays> result = asked->get();
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? result->at("y").to<float>() : Rows{};
  }

  std::shared_ptr<Gate> gate;
  std::shared_ptr<Calls> calls;
  std::shared_ptr<VersionMetrics> metrics;
  std::unique_ptr<Batcher> batcher;
};

// Sizes 1, 2, 4, 8. Where a row costs as much in any batch, padding is a loss; where a batch costs as much as a row, it is none.
TEST(RowsWorth, PaddingIsHeldAgainstTwoBatches) {
  const std::vector<int64_t> sizes{1, 2, 4, 8};
  const SizeSeconds linear{{1, 1}, {2, 2}, {4, 4}, {8, 8}}, flat{{1, 1}, {2, 1}, {4, 1}, {8, 1}};
  std::vector<int64_t> by_row, by_batch;
  for (int64_t rows = 1; rows <= 8; ++rows) {
    by_row.push_back(rows_worth(rows, sizes, linear));
    by_batch.push_back(rows_worth(rows, sizes, flat));
    EXPECT_EQ(rows_worth(rows, sizes, {}), rows);
  }
  EXPECT_EQ(by_row, (std::vector<int64_t>{1, 2, 2, 4, 4, 4, 7, 8}));  // 7: 8 or 4 + 4
  EXPECT_EQ(by_batch, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(rows_worth(3, sizes, {{1, 1}, {2, 1.5}, {4, 2.6}}), 2);
  // Nearly by row: padded to 32, seventeen that wait would take as long as it takes for seventeen more to come.
  const SizeSeconds resnet{{1, 0.035}, {2, 0.064}, {4, 0.121}, {8, 0.228}, {16, 0.44}, {32, 0.75}};
  EXPECT_EQ(rows_worth(17, {1, 2, 4, 8, 16, 32}, resnet), 16);
  EXPECT_EQ(rows_worth(3, sizes, {{1, 1}, {2, 1.5}, {4, 2.4}}), 3);
}

TEST_F(BatcherTest, AnIdleOneComputesARequestAtOnceWhateverTheDelay) {
  make({.timeout = std::chrono::hours(1)});
  auto a = ask({2});
  EXPECT_EQ(values(a), Rows{3});
}

TEST_F(BatcherTest, WhatComesMeanwhileGoesTogetherInOrder) {
  make();
  gate->close();
  auto a = ask({1});
  gate->wait_for_call();
  auto b = ask({2}), c = ask({3, 4}), d = ask({5, 6}), e = ask({7});
  gate->open();
  EXPECT_EQ(values(a), Rows{2.5});
  EXPECT_EQ(values(b), Rows{3});
  EXPECT_EQ(values(c), (Rows{3.5, 4}));
  EXPECT_EQ(values(d), (Rows{4.5, 5}));
  EXPECT_EQ(values(e), Rows{5.5});
  EXPECT_EQ(calls->seen(), (std::vector<Rows>{{1}, {2, 3, 4}, {5, 6, 7}}));  // at most 4 rows; a request is not divided
  EXPECT_EQ(metrics->batch_rows.count(), 3u);
  EXPECT_EQ(metrics->queued_rows, 0);
}

TEST_F(BatcherTest, TheDelayGathersUntilABatchIsFull) {
  make({.timeout = std::chrono::hours(1)});
  gate->close();
  auto a = ask({1});
  gate->wait_for_call();
  auto b = ask({2});
  gate->open();
  values(a);
  auto c = ask({3, 4, 5});  // with it the batch is full
  EXPECT_EQ(values(b), Rows{3});
  EXPECT_EQ(values(c), (Rows{3.5, 4, 4.5}));
  EXPECT_EQ(calls->seen(), (std::vector<Rows>{{1}, {2, 3, 4, 5}}));
}

TEST_F(BatcherTest, ALargeRequestIsCutAndOthersHaveTheirTurnBetween) {
  make();
  gate->close();
  auto a = ask({0});
  gate->wait_for_call();
  auto large = ask({1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto b = ask({20, 21});
  gate->open();
  EXPECT_EQ(values(b), (Rows{12, 12.5}));
  EXPECT_EQ(values(large), (Rows{2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5}));
  EXPECT_EQ(calls->seen(), (std::vector<Rows>{{0}, {1, 2, 3, 4}, {20, 21}, {5, 6, 7, 8}, {9}}));
}

TEST_F(BatcherTest, AFullQueueTakesNothingMore) {
  make({.max_queued_rows = 3});
  gate->close();
  auto a = ask({0});
  gate->wait_for_call();
  auto b = ask({1, 2});
  EXPECT_FALSE(batcher->full());
  EXPECT_FALSE(ask({3, 4}).has_value());
  auto c = ask({5});
  EXPECT_TRUE(batcher->full());
  EXPECT_FALSE(ask({6}).has_value());
  EXPECT_EQ(metrics->queued_rows, 3);
  gate->open();
  EXPECT_EQ(values(b), (Rows{2.5, 3}));
  values(c);
  auto many = ask({1, 2, 3, 4, 5});  // alone it may be larger
  EXPECT_EQ(values(many).size(), 5u);
}

TEST_F(BatcherTest, ARequestBeyondItsDeadlineIsNotComputed) {
  make();
  gate->close();
  auto a = ask({0});
  gate->wait_for_call();
  auto late = ask({1}, Clock::now() - std::chrono::seconds(1)), b = ask({2});
  gate->open();
  EXPECT_EQ(late->get().status().code(), Code::kTimeout);
  EXPECT_EQ(values(b), Rows{3});
  EXPECT_EQ(calls->seen(), (std::vector<Rows>{{0}, {2}}));
}

TEST_F(BatcherTest, AnErrorOfTheModelIsTheAnswerAndTheNextRequestIsComputed) {
  make();
  auto a = ask({666});
  EXPECT_EQ(a->get().status().message(), "the device is gone");
  auto thrown = ask({667});
  EXPECT_EQ(thrown->get().status().message(), "thrown");
  auto large = ask({1, 2, 3, 666, 5, 6});
  EXPECT_EQ(large->get().status().message(), "the device is gone");
  EXPECT_EQ(metrics->queued_rows, 0);
  auto b = ask({2});
  EXPECT_EQ(values(b), Rows{3});
}

TEST_F(BatcherTest, SignaturesHaveQueuesOfTheirOwnAndTheOldestGoesFirst) {
  make();
  gate->close();
  auto a = ask({0});
  gate->wait_for_call();
  auto b = ask({1}, Clock::time_point::max(), 5), c = ask({2}), d = ask({3}, Clock::time_point::max(), 5);
  gate->open();
  EXPECT_EQ(values(b), Rows{2.5});
  EXPECT_EQ(values(c), Rows{3});
  EXPECT_EQ(values(d), Rows{3.5});
  EXPECT_EQ(calls->seen(), (std::vector<Rows>{{0}, {1, 3}, {2}}));
}

TEST_F(BatcherTest, TheEndRefusesWhatWaitsAndFinishesWhatIsComputed) {
  make();
  gate->close();
  auto a = ask({0});
  gate->wait_for_call();
  auto b = ask({1});
  std::thread ending([&] { batcher->end(); });
  // Until it is told at once that the end has begun.
  for (std::vector<std::future<Result<Arrays>>> waiting;;)
    if (auto more = ask({2})) {
      if (more->wait_for(std::chrono::seconds(0)) == std::future_status::ready) break;
      waiting.push_back(std::move(*more));
    }
  gate->open();
  ending.join();
  EXPECT_EQ(values(a), Rows{2});
  EXPECT_EQ(b->get().status().code(), Code::kUnavailable);
  auto c = ask({3});
  EXPECT_EQ(c->get().status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace tenon::server
