#include <errno.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

#include "checkpoint_io_faults.h"
#include "checkpoint_test_util.h"

namespace tenon {
namespace {

using faults::Action;
using faults::Armed;
using faults::Plan;
using testing::difference;
using testing::Directory;
using testing::save_state;

// What latest_checkpoint() finds, which must hold what its step says; -1 when that fails.
int64_t latest_step(const std::string& model_dir) {
  Result<std::optional<FoundCheckpoint>> found = latest_checkpoint(model_dir);
  if (!found.ok()) {
    ADD_FAILURE() << found.status().message();
    return -1;
  }
  if (!found->has_value()) return 0;
  EXPECT_EQ(difference((*found)->prefix, (*found)->step), "");
  return (*found)->step;
}

struct Outcome {
  Status status;
  std::string call;
  int calls = 0;
};

// Saves steps 1 and 2, then step 3 under `plan`.
Outcome third_save(const std::string& dir, const Plan& plan) {
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 2);
  EXPECT_TRUE(manager.ok()) << manager.status().message();
  for (int64_t step : {1, 2}) EXPECT_TRUE(save_state(*manager, step).ok());
  Armed armed(plan);
  const Status status = save_state(*manager, 3).status();
  return {status, armed.hit(), armed.calls()};
}

int calls_of_a_save() {
  Directory dir;
  return third_save(dir.path(), {}).calls;
}

void expect_survives(const Plan& plan) {
  Directory dir;
  SCOPED_TRACE("call " + std::to_string(plan.at) + (plan.and_after ? " and all after" : "") + ", errno " +
               std::to_string(plan.error));
  const Outcome outcome = third_save(dir.path(), plan);
  const int64_t step = latest_step(dir.path());
  if (outcome.status.ok()) {
    EXPECT_EQ(step, 3) << outcome.call;
  } else {
    EXPECT_GE(step, 2) << outcome.call;
    EXPECT_NE(outcome.status.message().find(dir.path()), std::string::npos) << outcome.status.message();
    EXPECT_NE(outcome.status.message().find(strerror(plan.error)), std::string::npos) << outcome.status.message();
    EXPECT_EQ(outcome.status.message().find('\n'), std::string::npos);
  }
  // The trainer can go on as soon as the disk is well again.
  Result<CheckpointManager> again = CheckpointManager::open(dir.path(), 2);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_TRUE(save_state(*again, 4).ok());
  EXPECT_EQ(latest_step(dir.path()), 4);
}

TEST(CheckpointFaults, AnErrorAtAnyCallLeavesTheCheckpointBefore) {
  const int calls = calls_of_a_save();
  ASSERT_GT(calls, 20);
  for (int error : {ENOSPC, EIO, EDQUOT})
    for (int at = 0; at < calls; ++at) {
      expect_survives({Action::kFail, at, error, false});
      expect_survives({Action::kFail, at, error, true});
    }
}

TEST(CheckpointFaults, EveryWriteSyncAndRenameErrorIsReported) {
  const int calls = calls_of_a_save();
  std::set<std::string> reported;
  for (int at = 0; at < calls; ++at) {
    Directory dir;
    const Outcome outcome = third_save(dir.path(), {Action::kFail, at, EIO, false});
    if (outcome.status.ok()) {
      // Reading an old list of names, closing a directory and removing what is too old may fail unheard.
      EXPECT_TRUE(outcome.call == "open" || outcome.call == "pread" || outcome.call == "close" ||
                  outcome.call == "unlink")
          << outcome.call;
    } else {
      reported.insert(outcome.call);
    }
  }
  EXPECT_TRUE(reported.count("write") && reported.count("fsync") && reported.count("close") &&
              reported.count("rename") && reported.count("open"));
}

TEST(CheckpointFaults, InterruptedAndShortCallsAreCarriedThrough) {
  const int calls = calls_of_a_save();
  for (int at = 0; at < calls; ++at)
    for (const Plan& plan : {Plan{Action::kFail, at, EINTR, false}, Plan{Action::kShortWrite, at, 0, false},
                             Plan{Action::kShortWrite, 0, 0, true}}) {
      Directory dir;
      const Outcome outcome = third_save(dir.path(), plan);
      // rename and unlink are not interruptible; a kernel that says so is believed.
      if (plan.error == EINTR && (outcome.call == "rename" || outcome.call == "unlink")) continue;
      EXPECT_TRUE(outcome.status.ok()) << outcome.call << " " << outcome.status.message();
      EXPECT_EQ(latest_step(dir.path()), 3);
    }
}

// Saves steps until it is killed; says through `acknowledged` which returned.
[[noreturn]] void train_until_killed(const std::string& dir, const Plan& plan, int acknowledged) {
  Armed armed(plan);
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 2);
  for (int64_t step = 1; manager.ok() && step <= 4; ++step) {
    if (!save_state(*manager, step).ok()) break;
    const char byte = static_cast<char>(step);
    // Past the interposed write(): this is not one of the calls under test.
    if (::writev(acknowledged, std::array<iovec, 1>{{{const_cast<char*>(&byte), 1}}}.data(), 1) != 1) break;
  }
  ::_exit(0);
}

// Runs it in a child. Returns the last acknowledged step; sets `killed`.
int64_t run_child(const std::string& dir, const Plan& plan, bool& killed) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) train_until_killed(dir, plan, pipe_ends[1]);
  ::close(pipe_ends[1]);
  int64_t last = 0;
  for (char byte; ::read(pipe_ends[0], &byte, 1) == 1;) last = byte;
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return last;
}

TEST(CheckpointFaults, AKillAtAnyCallLosesNothingAcknowledged) {
  for (Action action : {Action::kKill, Action::kTornKill}) {
    int runs = 0;
    for (bool killed = true; killed; ++runs) {
      ASSERT_LT(runs, 1000);
      Directory dir;
      SCOPED_TRACE("killed at call " + std::to_string(runs));
      const int64_t acknowledged = run_child(dir.path(), {action, runs, 0, false}, killed);
      EXPECT_GE(latest_step(dir.path()), acknowledged);
      Result<CheckpointManager> next = CheckpointManager::open(dir.path(), 2);
      ASSERT_TRUE(next.ok()) << next.status().message();
      ASSERT_TRUE(save_state(*next, 9).ok());
      EXPECT_EQ(latest_step(dir.path()), 9);
      for (const auto& file : std::filesystem::directory_iterator(dir.path()))
        EXPECT_EQ(file.path().string().find(".tmp-"), std::string::npos) << file.path();
    }
    EXPECT_GT(runs, 80);
  }
}

// Which of the names of a step's checkpoint holds it; "" when neither does.
std::string name_of(const Directory& dir, int64_t step) {
  for (const char* stem : {"model.ckpt-", "diverged.ckpt-"})
    if (const std::string name = stem + std::to_string(step); difference(dir / name, step).empty()) return name;
  return "";
}

TEST(CheckpointFaults, AKillWhileCheckpointsAreSetAsideLosesNone) {
  int kills = 0;
  for (bool killed = true; killed; ++kills) {
    ASSERT_LT(kills, 1000);
    Directory dir;
    for (int64_t step : {1, 2, 3}) ASSERT_TRUE(save_state(*CheckpointManager::open(dir.path()), step).ok());
    const pid_t child = ::fork();
    if (child == 0) {
      Result<CheckpointManager> manager = CheckpointManager::open(dir.path());
      Armed armed({Action::kKill, kills, 0, false});
      ::_exit(manager.ok() && manager->set_aside({dir / "model.ckpt-3", dir / "model.ckpt-2"}).ok() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    killed = WIFSIGNALED(status);
    EXPECT_TRUE(killed || status == 0);
    // Whoever comes next cleans up.
    EXPECT_TRUE(CheckpointManager::open(dir.path()).ok());
    for (int64_t step : {1, 2, 3}) EXPECT_NE(name_of(dir, step), "") << "step " << step << ", killed at call " << kills;
    const std::string all = name_of(dir, 2) + " " + name_of(dir, 3);
    EXPECT_TRUE(killed || all == "diverged.ckpt-2 diverged.ckpt-3") << all;
  }
  EXPECT_GT(kills, 20);
}

// What links are for: a kill between two renames leaves data without an index, which the next trainer takes for rubbish.
TEST(CheckpointFaults, RenamingOneFileAfterTheOtherWouldLoseOne) {
  Directory dir;
  ASSERT_TRUE(save_state(*CheckpointManager::open(dir.path()), 3).ok());
  std::filesystem::rename(bundle_index_path(dir / "model.ckpt-3"), bundle_index_path(dir / "diverged.ckpt-3"));
  EXPECT_TRUE(CheckpointManager::open(dir.path()).ok());
  EXPECT_EQ(name_of(dir, 3), "");
  EXPECT_FALSE(std::filesystem::exists(bundle_data_path(dir / "model.ckpt-3")));
}

}  // namespace
}  // namespace tenon
