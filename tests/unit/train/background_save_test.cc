// Checkpoints that are written beside training.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "train/background_save.h"

namespace tenon {
namespace {

// Holds a writer back until the test lets it go.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(BackgroundSave, GoesOnBesideItsCaller) {
  Gate gate;
  BackgroundSave save;
  save.start(7, [&](SavedCheckpoint& saved) {
    gate.wait();
    saved.path = "model.ckpt-7";
    return Status();
  });
  EXPECT_TRUE(save.running());  // start() came back though nothing is written
  EXPECT_FALSE(save.done());
  gate.open();
  SavedCheckpoint saved;
  EXPECT_TRUE(save.collect(&saved).take());
  EXPECT_EQ(saved.step, 7);
  EXPECT_EQ(saved.path, "model.ckpt-7");
  EXPECT_FALSE(save.running());
  EXPECT_FALSE(save.collect(&saved).take());
}

TEST(BackgroundSave, GivesTheErrorOnce) {
  BackgroundSave save;
  save.start(3, [](SavedCheckpoint& saved) {
    saved.finite = false;
    return Status(Code::kInvalid, "the disk is full");
  });
  SavedCheckpoint saved;
  EXPECT_EQ(save.collect(&saved).status().message(), "the disk is full");
  EXPECT_FALSE(saved.finite);
  EXPECT_FALSE(save.collect(&saved).take());
}

TEST(BackgroundSave, WaitsAtTheEnd) {
  bool written = false;
  {
    BackgroundSave save;
    save.start(1, [&](SavedCheckpoint&) {
      written = true;
      return Status();
    });
  }
  EXPECT_TRUE(written);
}

}  // namespace
}  // namespace tenon
