// Batches as a backend pulls them, held to the rules on every call.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/suites/run/gate.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {

constexpr int64_t kFeedN = 600;

// A pipeline of batches in a ring, which holds the backend to the rules on every call. Iteration i's first batch holds
// i + 1, the second -i; what was released is overwritten, in memory of the host at once.
class Pipeline {
 public:
  Pipeline(Subject& subject, uint64_t batches, uint32_t n_feeds = 1, BufferOptions options = {})
      : s_(subject), batches_(batches), n_feeds_(n_feeds), depth_(s_.units()[0].feed_depth), queue_(s_, s_.device()) {
    for (uint32_t i = 0; i < (depth_ + 1) * n_feeds; ++i)
      ring_.push_back(std::make_unique<Buffer>(f32_buffer(s_, {kFeedN}, options)));
    feed_.struct_size = sizeof feed_;
    feed_.ctx = this;
    feed_.next = on_next;
    feed_.release = on_release;
  }

  const tenon_feed* feed() const { return &feed_; }
  // Batches come after copies of another queue that nobody has waited for.
  void come_after_copies() { after_copies_ = true; }
  // From before run to behind it.
  void begin() {
    inside_ = true;
    thread_ = std::this_thread::get_id();
  }
  void end() { inside_ = false; }
  // Throws what was broken.
  void check(uint64_t iterations) const {
    if (!broken_.empty()) fail(broken_);
    const uint64_t given = std::min(batches_, iterations);
    expect(next_ == given, "run pulled " + std::to_string(next_) + " batches, expected " + std::to_string(given));
    expect(released_ <= next_, "run released more batches than it pulled");
  }
  // A run that a result ended: what it pulled ahead of `done` is no more than the depth allows, `most` in all.
  void check_early_end(uint64_t done, uint64_t most) const {
    if (!broken_.empty()) fail(broken_);
    const uint64_t ahead = std::min(most, done + depth_ - 1);
    expect(next_ >= done && next_ <= ahead, "run pulled " + std::to_string(next_) + " batches, expected " +
                                                std::to_string(done) + " to " + std::to_string(ahead));
  }

  static Floats expected(uint64_t iteration, uint32_t feed) {
    return filled(kFeedN, feed == 0 ? static_cast<float>(iteration + 1) : -static_cast<float>(iteration));
  }

 private:
  static int32_t on_next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    Pipeline& self = *static_cast<Pipeline*>(ctx);
    try {
      return self.next(i, feeds, after);
    } catch (const Failure& failure) {
      self.broke(failure.text);
    } catch (...) {
      self.broke("a batch could not be written");
    }
    return 0;
  }

  static void on_release(void* ctx, uint64_t i) {
    Pipeline& self = *static_cast<Pipeline*>(ctx);
    self.check_call("release");
    if (i != self.released_)
      self.broke("release of batch " + std::to_string(i) + ", expected " + std::to_string(self.released_));
    if (i >= self.next_) self.broke("release of batch " + std::to_string(i) + ", which was not pulled");
    for (uint32_t f = 0; f < self.n_feeds_; ++f) {
      const Buffer& buffer = self.slot(i, f);
      if (buffer.host()) std::fill_n(reinterpret_cast<float*>(buffer.host()), kFeedN, -1e6f);
    }
    ++self.released_;
  }

  int32_t next(uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    check_call("next");
    if (ended_) broke("next was called again after it said stop");
    if (i != next_) broke("next for iteration " + std::to_string(i) + ", expected " + std::to_string(next_));
    if (next_ - released_ >= depth_)
      broke(std::to_string(next_ - released_ + 1) + " batches unreleased, feed_depth is " + std::to_string(depth_));
    ended_ = i >= batches_ || !broken_.empty();
    if (ended_) return 0;
    for (uint32_t f = 0; f < n_feeds_; ++f) feeds[f] = fill(slot(i, f), i, f, after);
    ++next_;
    return 1;
  }

  Buffer& slot(uint64_t i, uint32_t feed) { return *ring_[i % (ring_.size() / n_feeds_) * n_feeds_ + feed]; }

  // A slot is written again only when what was in it has been released, or the run has ended.
  tenon_buffer* fill(Buffer& buffer, uint64_t i, uint32_t feed, tenon_point* after) {
    values_.push_back(std::make_unique<Floats>(expected(i, feed)));  // copies read it until their ticket
    const Floats& values = *values_.back();
    *after = {nullptr, 0};
    if (buffer.host())
      std::copy(values.begin(), values.end(), reinterpret_cast<float*>(buffer.host()));
    else if (!after_copies_)
      queue_.write(buffer, values.data(), buffer.bytes());
    else
      *after = {queue_.handle(), submit_held_copy(buffer, values)};
    return buffer.handle();
  }

  // Behind rubbish, and held back until everybody waits.
  uint64_t submit_held_copy(Buffer& buffer, const Floats& values) {
    submit_copy(s_, queue_, copy_to(buffer, rubbish_.data(), buffer.bytes()));
    gates_.push_back(std::make_unique<Gate>(values));
    const uint64_t ticket = submit_copy(s_, queue_, copy_to(buffer, gates_.back()->memory(), buffer.bytes()));
    gates_.back()->open_when_all_wait();
    return ticket;
  }

  void check_call(const char* call) {
    if (!inside_) broke(std::string(call) + " was called outside run");
    if (std::this_thread::get_id() != thread_) broke(std::string(call) + " was called on another thread than run");
  }
  void broke(const std::string& what) {
    if (broken_.empty()) broken_ = what;
  }

  Subject& s_;
  const uint64_t batches_;
  const uint32_t n_feeds_, depth_;
  std::vector<std::unique_ptr<Gate>> gates_;    // they go after the queue that they hold
  const Floats rubbish_ = filled(kFeedN, -77);  // copies read it while others are submitted
  Queue queue_;
  std::vector<std::unique_ptr<Buffer>> ring_;
  std::vector<std::unique_ptr<Floats>> values_;
  tenon_feed feed_{};
  uint64_t next_ = 0, released_ = 0;
  bool inside_ = false, ended_ = false, after_copies_ = false;
  std::thread::id thread_;
  std::string broken_;
};

}  // namespace tenon::conformance
