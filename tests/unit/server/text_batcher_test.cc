// Which texts are written together. The model's calls are held back, so that the order is a matter of construction.
#include "server/text/text_batcher.h"

#include <algorithm>
#include <future>

#include "server/text/text_requests.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

// Writes each line twice; "bad" is an error, "throws" is thrown, "for ever" has no end.
class Doubling : public TextModel {
 public:
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::shared_ptr<std::vector<size_t>> calls = std::make_shared<std::vector<size_t>>();

  int64_t max_lines() const override { return 3; }
  bool streams() const override { return true; }
  int64_t tokens() const override { return tokens_; }
  Result<Lines> write(const Lines& lines, int64_t first, const Interrupted& interrupted) override {
    gate->pass();
    calls->push_back(lines.size());
    Lines out;
    const bool ends = std::find(lines.begin(), lines.end(), "for ever") == lines.end();
    while (!ends)
      if (interrupted()) return Status(Code::kInterrupted, "nobody waits");
    for (const std::string& line : lines) {
      if (line == "bad") return Status(Code::kInvalid, "line " + std::to_string(first + std::ssize(out)) + " is bad");
      if (line == "throws") throw std::runtime_error("thrown");
      out.push_back(line + line);
      ++tokens_;
    }
    return out;
  }
  Status stream(const std::string& line, const TakesText& takes) override {
    gate->pass();
    while (line == "for ever" && takes("")) {
    }
    for (size_t n = 1; n <= line.size(); ++n)
      if (!takes(std::string_view(line).substr(0, n))) return Status(Code::kInterrupted, "nobody reads it any more");
    return {};
  }

 private:
  int64_t tokens_ = 0;
};

constexpr auto kNoDeadline = std::chrono::steady_clock::time_point::max();

class TextBatcherTest : public ::testing::Test {
 protected:
  void make(int64_t max_lines = 100) {
    auto model = std::make_unique<Doubling>();
    gate = model->gate;
    calls = model->calls;
    metrics = all_metrics.version("texts", 1);
    batcher = std::make_unique<TextBatcher>(std::move(model), BatchOptions{.max_queued_rows = max_lines}, metrics);
  }
  ~TextBatcherTest() override {
    if (gate) gate->open();
  }
  std::optional<std::future<Result<Lines>>> ask(const Lines& lines,
                                                std::chrono::steady_clock::time_point deadline = kNoDeadline,
                                                std::function<bool()> gone = {}) {
    const auto promise = std::make_shared<std::promise<Result<Lines>>>();
    TextRequest request{lines, deadline, std::move(gone)};
    request.done = [promise](Result<Lines> texts) { promise->set_value(std::move(texts)); };
    if (!batcher->submit(std::move(request))) return std::nullopt;
    return promise->get_future();
  }
  // Takes `most` parts.
  std::future<std::pair<std::string, Status>> stream(const std::string& line, size_t most,
                                                     std::chrono::milliseconds time = std::chrono::hours(1)) {
    const auto promise = std::make_shared<std::promise<std::pair<std::string, Status>>>();
    const auto last = std::make_shared<std::string>();
    TextRequest request{{line}, std::chrono::steady_clock::now() + time};
    request.takes = [last, most](std::string_view so_far) { return *last = so_far, so_far.size() < most; };
    request.ended = [promise, last](const Status& status) { promise->set_value({*last, status}); };
    EXPECT_TRUE(batcher->submit(std::move(request)));
    return promise->get_future();
  }

  std::shared_ptr<Gate> gate;
  std::shared_ptr<std::vector<size_t>> calls;
  Metrics all_metrics;
  std::shared_ptr<VersionMetrics> metrics;
  std::unique_ptr<TextBatcher> batcher;
};

TEST_F(TextBatcherTest, WhatWaitsGoesTogetherUpToTheModelsLimit) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto b = ask({"b"}), c = ask({"c", "d"}), e = ask({"e"});
  gate->open();
  EXPECT_EQ(*a->get(), Lines{"aa"});
  EXPECT_EQ(*b->get(), Lines{"bb"});
  EXPECT_EQ(*c->get(), (Lines{"cc", "dd"}));
  EXPECT_EQ(*e->get(), Lines{"ee"});
  EXPECT_EQ(*calls, (std::vector<size_t>{1, 3, 1}));
}

TEST_F(TextBatcherTest, OneRequestsFaultIsNotTheOthers) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto bad = ask({"bad"}), good = ask({"b"}), throws = ask({"throws"});
  gate->open();
  EXPECT_EQ(bad->get().status().message(), "line 0 is bad");
  EXPECT_EQ(*good->get(), Lines{"bb"});
  EXPECT_EQ(throws->get().status().code(), Code::kInternal);
  EXPECT_EQ(*ask({"c"})->get(), Lines{"cc"});
}

TEST_F(TextBatcherTest, LinesThatNobodyWaitsForMakeRoom) {
  make(3);
  std::atomic<bool> gone = false;
  gate->close();
  auto first = ask({"a"});
  gate->wait_for_call();
  auto left = ask({"b", "c"}, kNoDeadline, [&] { return gone.load(); }), stays = ask({"d"});
  EXPECT_TRUE(batcher->full());
  EXPECT_FALSE(ask({"e"}));
  gone = true;
  EXPECT_FALSE(batcher->full());
  EXPECT_EQ(left->get().status().code(), Code::kInterrupted);
  EXPECT_EQ(metrics->queued_rows, 1);
  auto more = ask({"e", "f"});
  ASSERT_TRUE(more);
  EXPECT_FALSE(ask({"g"}));
  gate->open();
  EXPECT_EQ(*first->get(), Lines{"aa"});
  EXPECT_EQ(*stays->get(), Lines{"dd"});
  EXPECT_EQ(*more->get(), (Lines{"ee", "ff"}));
}

TEST_F(TextBatcherTest, TakesAsManyLinesAsItMay) {
  make(2);
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto b = ask({"b"}), c = ask({"c"});
  EXPECT_FALSE(ask({"d"}));
  gate->open();
  EXPECT_EQ(*b->get(), Lines{"bb"});
  EXPECT_EQ(*c->get(), Lines{"cc"});
  EXPECT_EQ(*ask({"a", "b", "c"})->get(), (Lines{"aa", "bb", "cc"}));  // alone it may be larger
}

TEST_F(TextBatcherTest, ManyLinesAreCutAndOthersHaveTheirTurnBetween) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto many = ask({"b", "c", "d", "e"}), bad = ask({"f", "g", "h", "i", "bad"}), other = ask({"j"});
  gate->open();
  EXPECT_EQ(*many->get(), (Lines{"bb", "cc", "dd", "ee"}));
  EXPECT_EQ(*other->get(), Lines{"jj"});
  EXPECT_EQ(bad->get().status().message(), "line 4 is bad");
  // a; three of many; three of bad; j with the rest of many; the rest of bad.
  EXPECT_EQ((std::vector<size_t>(calls->begin(), calls->begin() + 3)), (std::vector<size_t>{1, 3, 3}));
}

TEST_F(TextBatcherTest, CountsLinesThatWaitCallsAndTokens) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto b = ask({"b", "c"});
  EXPECT_NE(all_metrics.text().find("tenon_queue_rows{model=\"texts\",version=\"1\"} 2\n"), std::string::npos);
  gate->open();
  (void)b->get();
  batcher.reset();
  const std::string text = all_metrics.text();
  EXPECT_NE(text.find("tenon_tokens_total{model=\"texts\",version=\"1\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tenon_batch_rows_sum{model=\"texts\",version=\"1\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("tenon_batch_rows_count{model=\"texts\",version=\"1\"} 2\n"), std::string::npos) << text;
}

TEST_F(TextBatcherTest, RefusesWhatWaitedTooLongAndWhatIsLeftAtTheEnd) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto late = ask({"b"}, std::chrono::steady_clock::now());
  auto more = ask({"c"});
  gate->allow(1);
  EXPECT_EQ(late->get().status().code(), Code::kTimeout);
  gate->wait_for_call();
  auto left = ask({"d"});
  std::thread end([this] { batcher.reset(); });
  gate->open();
  end.join();
  const Result<Lines> answer = left->get();  // it came in time, or did not
  EXPECT_TRUE(answer.ok() || answer.status().code() == Code::kUnavailable);
}

TEST_F(TextBatcherTest, StreamsATextAsItGrowsUntilNobodyReads) {
  make();
  const auto [whole, ended] = stream("abc", 9).get();
  EXPECT_EQ(whole, "abc");
  EXPECT_TRUE(ended.ok());
  const auto [part, cut] = stream("abc", 2).get();
  EXPECT_EQ(part, "ab");
  EXPECT_EQ(cut.code(), Code::kInterrupted);
}

TEST_F(TextBatcherTest, WritingEndsWhereWhoAskedHasGone) {
  make();
  auto left = ask({"for ever"}, kNoDeadline, [asked = 0]() mutable { return ++asked == 5; });
  EXPECT_EQ(left->get().status().code(), Code::kInterrupted);
  EXPECT_EQ(*ask({"a"})->get(), Lines{"aa"});
}

TEST_F(TextBatcherTest, WritingEndsWhereItsTimeIsOver) {
  make();
  auto late = ask({"for ever"}, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  EXPECT_EQ(late->get().status().code(), Code::kTimeout);
  EXPECT_EQ(*ask({"a"})->get(), Lines{"aa"});
}

TEST_F(TextBatcherTest, WhatIsStreamedEndsWhereItsTimeIsOver) {
  make();
  EXPECT_EQ(stream("for ever", 9, std::chrono::milliseconds(50)).get().second.code(), Code::kTimeout);
  EXPECT_EQ(*ask({"a"})->get(), Lines{"aa"});
}

TEST_F(TextBatcherTest, TheLinesOfWhoHasGoneAreNotWritten) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto left = ask({"for ever"}, kNoDeadline, [] { return true; }), c = ask({"c"});
  gate->open();
  EXPECT_EQ(left->get().status().code(), Code::kInterrupted);
  EXPECT_EQ(*c->get(), Lines{"cc"});
  EXPECT_EQ(*calls, (std::vector<size_t>{1, 1}));
}

// The other one waits until then.
TEST_F(TextBatcherTest, WhoseTimeIsOverIsToldWhileOthersAreWritten) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto late = ask({"for ever"}, std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  const auto told = [&] { return late->wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
  auto other = ask({"for ever"}, kNoDeadline, told);
  gate->open();
  EXPECT_EQ(other->get().status().code(), Code::kInterrupted);
  EXPECT_EQ(late->get().status().code(), Code::kTimeout);
}

TEST_F(TextBatcherTest, WhatIsStreamedGoesAloneInItsTurn) {
  make();
  gate->close();
  auto a = ask({"a"});
  gate->wait_for_call();
  auto b = ask({"b"});
  auto streamed = stream("xyz", 9);
  auto c = ask({"c"}), d = ask({"d"});
  gate->open();
  EXPECT_EQ(*b->get(), Lines{"bb"});
  EXPECT_EQ(streamed.get().first, "xyz");
  EXPECT_EQ(*c->get(), Lines{"cc"});
  EXPECT_EQ(*d->get(), Lines{"dd"});
  EXPECT_EQ(*calls, (std::vector<size_t>{1, 1, 2}));
}

TEST(TextAnswers, AreJson) {
  EXPECT_EQ(text_answer({"a\"", "b\n"}, false), "{\"predictions\":[\"a\\\"\",\"b\\n\"]}\n");
  EXPECT_EQ(text_answer({}, true), "{\"outputs\":[]}\n");
  EXPECT_EQ(text_event("x\ny"), "data: {\"text\":\"x\\ny\"}\n\n");
  EXPECT_EQ(done_event(), "data: {\"done\":true}\n\n");
}

}  // namespace
}  // namespace tenon::server
