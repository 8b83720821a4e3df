#include <errno.h>

#include <set>

#include "checkpoint_trials.h"

namespace tenon {
namespace {

using faults::Action;
using faults::Armed;
using faults::Plan;
using testing::difference;
using testing::Directory;
using testing::save_state;
using trials::after_fault;
using trials::calls_of_a_save;
using trials::Outcome;
using trials::save_in_child;
using trials::third_save;

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

void expect_survives(const Plan& plan) {
  Directory dir;
  SCOPED_TRACE("call " + std::to_string(plan.at) + (plan.and_after ? " and all after" : "") + ", errno " +
               std::to_string(plan.error));
  const Outcome outcome = third_save(dir.path(), plan);
  EXPECT_EQ(after_fault(dir.path(), plan, outcome), "") << outcome.call;
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

TEST(CheckpointFaults, AKillAtAnyCallLosesNothingAcknowledged) {
  for (Action action : {Action::kKill, Action::kTornKill}) {
    int runs = 0;
    for (bool killed = true; killed; ++runs) {
      ASSERT_LT(runs, 1000);
      Directory dir;
      SCOPED_TRACE("killed at call " + std::to_string(runs));
      const trials::Killed run = save_in_child(dir.path(), {action, runs, 0, false});
      killed = run.killed;
      EXPECT_GE(latest_step(dir.path()), run.acknowledged);
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
