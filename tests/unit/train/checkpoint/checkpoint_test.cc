#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/tensor_file.h"
#include "checkpoint_io_faults.h"
#include "checkpoint_test_util.h"

namespace tenon {
namespace {

using testing::bytes_of;
using testing::difference;
using testing::Directory;
using testing::save_state;
using testing::slurp;
using testing::spill;

CheckpointManager open(const Directory& dir, int keep = 5) { return CheckpointManager::open(dir.path(), keep).take(); }

FoundCheckpoint latest(const Directory& dir) { return std::move(*latest_checkpoint(dir.path()).take()); }

std::vector<std::string> names(const Directory& dir) {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    if (const std::string name = file.path().filename(); name != ".lock") out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Checkpoint, SaveNamesTheFilesAsTensorFlowDoes) {
  Directory dir;
  CheckpointManager manager = open(dir);
  EXPECT_EQ(save_state(manager, 30).take(), dir / "model.ckpt-30");
  EXPECT_EQ(names(dir),
            (std::vector<std::string>{"checkpoint", "model.ckpt-30.data-00000-of-00001", "model.ckpt-30.index"}));
  EXPECT_TRUE(slurp(dir / "checkpoint")
                  .starts_with("model_checkpoint_path: \"model.ckpt-30\"\n"
                               "all_model_checkpoint_paths: \"model.ckpt-30\"\n"));
}

// Its time is what makes a checkpoint one that is kept; here it is set, as if hours had passed.
TEST(Checkpoint, KeepsOneForEverySoManyHoursForGood) {
  Directory dir;
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto save = [&](int64_t step, int hours) {
    CheckpointManager manager = CheckpointManager::open(dir.path(), 2, 3.0).take();  // another process each time
    check(save_state(manager, step).status());
    std::filesystem::last_write_time(cat(dir.path(), "/model.ckpt-", step, ".index"), now + std::chrono::hours(hours));
  };
  for (int hour = 0; hour <= 10; ++hour) save(10 + hour, hour);
  std::vector<std::string> kept;
  for (const std::string& name : names(dir))
    if (name.ends_with(".index")) kept.push_back(name.substr(0, name.size() - 6));
  EXPECT_EQ(kept, (std::vector<std::string>{"model.ckpt-13", "model.ckpt-16", "model.ckpt-19", "model.ckpt-20"}));
  EXPECT_EQ(latest(dir).step, 20);
  const std::string state = slurp(dir / "checkpoint");
  EXPECT_EQ(state.find("all_model_checkpoint_paths: \"model.ckpt-13\""), std::string::npos) << state;
  EXPECT_NE(state.find("last_preserved_timestamp: "), std::string::npos) << state;
}

// An Estimator of TensorFlow 2.15.1 in four processes, save_checkpoints_steps=1 and keep_checkpoint_max as here, left these.
TEST(Checkpoint, TheNextProcessCountsThoseThatItFinds) {
  struct Process {
    int keep;
    int64_t first, last;
    std::vector<int64_t> left;
  };
  Directory dir;
  for (const Process& p : {Process{3, 1, 4, {2, 3, 4}}, Process{3, 5, 8, {6, 7, 8}}, Process{2, 9, 10, {9, 10}},
                           Process{5, 11, 14, {10, 11, 12, 13, 14}}}) {
    CheckpointManager manager = CheckpointManager::open(dir.path(), p.keep, 10000).take();
    for (int64_t step = p.first; step <= p.last; ++step) check(save_state(manager, step).status());
    std::vector<std::string> expected;
    for (const int64_t step : p.left) expected.push_back(cat("model.ckpt-", step, ".index"));
    std::vector<std::string> left;
    for (const std::string& name : names(dir))
      if (name.ends_with(".index")) left.push_back(name);
    std::sort(expected.begin(), expected.end());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, expected) << p.first;
  }
}

// Whether they are sound is known to the next process too.
TEST(Checkpoint, ThoseThatNeedNotBeSoundGoBeforeTheOthers) {
  Directory dir;
  const auto save = [&](int64_t step, bool sound) {
    CheckpointManager manager = CheckpointManager::open(dir.path(), 3).take();
    check(manager
              .save(
                  step, [](BundleWriter&) { return Status(); }, sound)
              .status());
  };
  const auto kept = [&] {
    std::vector<int64_t> steps;
    for (const CheckpointName& name : list_checkpoints(dir.path()).take()) steps.push_back(name.step);
    return steps;
  };
  using Steps = std::vector<int64_t>;
  for (const int64_t step : {1, 2, 3}) save(step, true);
  for (const int64_t step : {4, 5, 6}) save(step, false);
  EXPECT_EQ(kept(), (Steps{2, 3, 6}));
  EXPECT_EQ(latest(dir).step, 6);
  CheckpointManager::open(dir.path(), 3).take().set_aside(std::vector{dir / "model.ckpt-6"}).take();
  save(6, true);
  EXPECT_EQ(kept(), (Steps{2, 3, 6}));
  for (const int64_t step : {7, 8}) save(step, true);
  EXPECT_EQ(kept(), (Steps{6, 7, 8}));
  EXPECT_EQ(slurp(dir / "checkpoint").find("suspect"), std::string::npos);
}

TEST(Checkpoint, LatestIsEmptyWhereNothingWasSaved) {
  Directory dir;
  EXPECT_FALSE(latest_checkpoint(dir.path()).take().has_value());
  EXPECT_FALSE(latest_checkpoint(dir / "missing").take().has_value());
}

TEST(Checkpoint, LatestHoldsTheStateOfItsStep) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (int64_t step : {9, 10, 100}) ASSERT_TRUE(save_state(manager, step).ok());
  EXPECT_EQ(latest(dir).prefix, dir / "model.ckpt-100");
  EXPECT_EQ(latest(dir).step, 100);
  EXPECT_TRUE(latest(dir).warnings.empty());
  EXPECT_EQ(difference(dir / "model.ckpt-100", 100), "");
}

TEST(Checkpoint, KeepsTheNewestFive) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (int64_t step = 1; step <= 12; ++step) ASSERT_TRUE(save_state(manager, step).ok());
  EXPECT_EQ(names(dir).size(), 11u);
  for (int64_t step = 8; step <= 12; ++step)
    EXPECT_EQ(difference(dir / ("model.ckpt-" + std::to_string(step)), step), "");
  const CheckpointState state = parse_checkpoint_state(slurp(dir / "checkpoint"), "checkpoint").take();
  EXPECT_EQ(state.latest, "model.ckpt-12");
  EXPECT_EQ(state.all, (std::vector<std::string>{"model.ckpt-8", "model.ckpt-9", "model.ckpt-10", "model.ckpt-11",
                                                 "model.ckpt-12"}));
}

TEST(Checkpoint, WhatIsSetAsideIsNotFoundAgainAndCanBeRead) {
  Directory dir;
  {
    CheckpointManager manager = open(dir);
    for (int64_t step : {3, 6, 9, 12}) ASSERT_TRUE(save_state(manager, step).ok());
    EXPECT_EQ(manager.prefixes().take(), (std::vector<std::string>{dir / "model.ckpt-12", dir / "model.ckpt-9",
                                                                   dir / "model.ckpt-6", dir / "model.ckpt-3"}));
    ASSERT_TRUE(manager.set_aside({dir / "model.ckpt-12", dir / "model.ckpt-9"}).ok());
    EXPECT_EQ(latest(dir).prefix, dir / "model.ckpt-6");
    EXPECT_EQ(difference(dir / "diverged.ckpt-12", 12), "");
    EXPECT_EQ(difference(dir / "diverged.ckpt-9", 9), "");
    EXPECT_EQ(save_state(manager, 9).take(), dir / "model.ckpt-9");
  }
  CheckpointManager manager = open(dir);
  EXPECT_EQ(latest(dir).prefix, dir / "model.ckpt-9");
  ASSERT_TRUE(manager.set_aside(manager.prefixes().take()).ok());
  EXPECT_FALSE(latest_checkpoint(dir.path()).take().has_value());
  EXPECT_EQ(save_state(manager, 1).take(), dir / "model.ckpt-1");
  EXPECT_EQ(latest(dir).step, 1);
}

TEST(Checkpoint, KeepsAllWhenAskedTo) {
  Directory dir;
  CheckpointManager manager = open(dir, 0);
  for (int64_t step = 1; step <= 7; ++step) ASSERT_TRUE(save_state(manager, step).ok());
  EXPECT_EQ(names(dir).size(), 15u);
}

TEST(Checkpoint, SavingTheSameStateAgainChangesNothing) {
  Directory dir;
  CheckpointManager manager = open(dir);
  ASSERT_TRUE(save_state(manager, 3).ok());
  const auto before = names(dir);
  EXPECT_EQ(save_state(manager, 3).take(), dir / "model.ckpt-3");
  EXPECT_EQ(names(dir), before);
}

TEST(Checkpoint, AnotherStateOfTheSameStepDoesNotOverwriteTheFirst) {
  Directory dir;
  CheckpointManager manager = open(dir);
  ASSERT_TRUE(save_state(manager, 3).ok());
  const auto other = [](BundleWriter& out) {
    TENON_TRY(testing::fill_state(out, 4));
    return out.add_scalar("global_step", 3);
  };
  EXPECT_EQ(manager.save(3, other).take(), dir / "model.ckpt-3-1");
  EXPECT_EQ(latest(dir).prefix, dir / "model.ckpt-3-1");
  EXPECT_EQ(latest(dir).step, 3);
  EXPECT_EQ(difference(dir / "model.ckpt-3", 3), "");
}

TEST(Checkpoint, AnErrorWhileFillingLeavesNothingBehind) {
  Directory dir;
  CheckpointManager manager = open(dir);
  ASSERT_TRUE(save_state(manager, 1).ok());
  const auto before = names(dir);
  const Status status = manager
                            .save(2,
                                  [](BundleWriter& out) {
                                    TENON_TRY(testing::fill_state(out, 2));
                                    return Status(Code::kDeviceLost, "the device is gone");
                                  })
                            .status();
  EXPECT_EQ(status.message(), "the device is gone");
  EXPECT_EQ(names(dir), before);
  EXPECT_EQ(latest(dir).step, 1);
}

TEST(Checkpoint, ATornNewestIsSkippedWithAWarning) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (int64_t step : {1, 2}) ASSERT_TRUE(save_state(manager, step).ok());
  const std::string data = dir / "model.ckpt-2.data-00000-of-00001";
  std::filesystem::resize_file(data, 10);
  const FoundCheckpoint found = latest(dir);
  EXPECT_EQ(found.step, 1);
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_NE(found.warnings[0].find("skipped checkpoint " + (dir / "model.ckpt-2")), std::string::npos);
  EXPECT_NE(found.warnings[0].find(data), std::string::npos);
}

TEST(Checkpoint, WithoutTheTextFileTheNewestWholeOneIsFound) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (int64_t step : {9, 10}) ASSERT_TRUE(save_state(manager, step).ok());
  std::filesystem::remove(dir / "checkpoint");
  EXPECT_EQ(latest(dir).step, 10);
  spill(dir / "checkpoint", "model_checkpoint_path: \"mod");
  EXPECT_EQ(latest(dir).step, 10);
  EXPECT_EQ(latest(dir).warnings.size(), 1u);
}

TEST(Checkpoint, WhenNoneLoadsThatIsAnErrorNotAFreshStart) {
  Directory dir;
  CheckpointManager manager = open(dir);
  ASSERT_TRUE(save_state(manager, 5).ok());
  std::filesystem::resize_file(dir / "model.ckpt-5.index", 20);
  const Status status = latest_checkpoint(dir.path()).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("model.ckpt-5.index"), std::string::npos) << status.message();
}

TEST(Checkpoint, LeftOversOfAKilledTrainerAreRemovedAtTheStart) {
  Directory dir;
  {
    CheckpointManager manager = open(dir);
    ASSERT_TRUE(save_state(manager, 1).ok());
  }
  const auto before = names(dir);
  // Its process number may be anyone's by now, even ours.
  const std::string pid = std::to_string(::getpid());
  spill(dir / (".model.ckpt-2.index.tmp-" + pid + "-7"), "half");
  spill(dir / (".model.ckpt-2.data-00000-of-00001.tmp-999999999-8"), "half");
  spill(dir / (".checkpoint.tmp-" + pid + "-9"), "half");
  spill(dir / "model.ckpt-2.data-00000-of-00001", "data without an index");
  spill(dir / "notes.txt", "mine");
  CheckpointManager manager = open(dir);
  auto after = before;
  after.push_back("notes.txt");
  EXPECT_EQ(names(dir), after);
}

TEST(Checkpoint, SettingAsideReplacesNothing) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (const char* theirs : {"diverged.ckpt-3.index", "diverged.ckpt-3.2.data-00000-of-00001"})
    spill(dir / theirs, "somebody's own");
  ASSERT_TRUE(save_state(manager, 3).ok());
  EXPECT_EQ(manager.set_aside(manager.prefixes().take()).take(), std::vector<std::string>{"diverged.ckpt-3.3"});
  EXPECT_EQ(difference(dir / "diverged.ckpt-3.3", 3), "");
  EXPECT_EQ(slurp(dir / "diverged.ckpt-3.index"), "somebody's own");
  EXPECT_EQ(slurp(dir / "diverged.ckpt-3.2.data-00000-of-00001"), "somebody's own");
}

// By the number of names that are looked at on the disk, not by the clock: none but what is there.
TEST(Checkpoint, NamesOfManyCheckpointsThatAreMissingCostNothing) {
  Directory dir;
  CheckpointManager manager = open(dir);
  for (int64_t step : {1, 2}) ASSERT_TRUE(save_state(manager, step).ok());
  CheckpointState state{"model.ckpt-2", {"model.ckpt-1"}};
  for (int i = 0; i < 100000; ++i) state.all.push_back("model.ckpt-" + std::to_string(1000 + i));
  for (int i = 0; i < 1000; ++i) state.all.push_back(dir / "gone" + std::to_string(i));
  spill(dir / "checkpoint", format_checkpoint_state(state));
  EXPECT_EQ(manager.prefixes().take(), (std::vector<std::string>{dir / "model.ckpt-2", dir / "model.ckpt-1"}));
  EXPECT_EQ(latest(dir).step, 2);
  EXPECT_TRUE(latest(dir).warnings.empty());
  ASSERT_TRUE(save_state(manager, 3).ok());
  EXPECT_EQ(latest(dir).step, 3);
}

// Another process removes what was found, and saves something newer, just before it would be opened.
TEST(Checkpoint, ATrainerThatRemovesWhatWasFoundLeavesSomethingNewerToFind) {
  Directory dir;
  CheckpointManager manager = open(dir, 1);
  ASSERT_TRUE(save_state(manager, 1).ok());
  int64_t step = 1;
  const auto save_once = [&](const std::string& path) {
    if (step == 4 || path != dir / "model.ckpt-" + std::to_string(step) + ".index") return;
    ASSERT_TRUE(save_state(manager, ++step).ok());
  };
  const faults::BeforeOpen before(save_once);
  const FoundCheckpoint found = latest(dir);
  EXPECT_EQ(found.step, 4);
  EXPECT_EQ(step, 4);
  EXPECT_TRUE(found.warnings.empty()) << found.warnings.front();
  // What is found stays readable whatever is removed.
  ASSERT_TRUE(save_state(manager, 5).ok());
  EXPECT_FALSE(std::filesystem::exists(found.prefix + ".index"));
  EXPECT_TRUE(found.reader.verify().ok());
}

TEST(Checkpoint, ASecondTrainerIsRefusedInOneLine) {
  Directory dir;
  CheckpointManager first = open(dir);
  const Status status = CheckpointManager::open(dir.path()).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(),
            "model directory '" + dir.path() + "' is in use by another trainer, process " + std::to_string(::getpid()));
}

TEST(Checkpoint, AnUnusableModelDirectoryIsOneLine) {
  Directory dir;
  spill(dir / "file", "");
  const Status status = CheckpointManager::open(dir / "file").status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(dir / "file"), std::string::npos) << status.message();
}

// A save would wait for a reader for ever, or be acknowledged into nothing.
TEST(Checkpoint, WhatCannotHoldTheNamesOfCheckpointsIsToldBeforeTraining) {
  for (const bool pipe : {true, false}) {
    Directory dir;
    if (pipe)
      ASSERT_EQ(::mkfifo((dir / "checkpoint").c_str(), 0600), 0);
    else
      std::filesystem::create_symlink("/dev/null", dir / "checkpoint");
    EXPECT_NE(CheckpointManager::open(dir.path(), 5).status().message().find("expected a regular file"),
              std::string::npos);
  }
}

TEST(Checkpoint, TheDirectoryOfAnotherModelIsRefusedByVariable) {
  Directory dir;
  CheckpointManager manager = open(dir);
  const std::string prefix = save_state(manager, 30).take();
  const TensorFile file = TensorFile::open(prefix).take();
  EXPECT_EQ(check_variable(file, "dense/kernel", {DType::kF32, {2, 3}}).message(),
            "checkpoint " + prefix + ": variable 'dense/kernel' is f32[3,2], model expects f32[2,3]");
  EXPECT_EQ(check_variable(file, "dense/kernel", {DType::kI32, {3, 2}}).message(),
            "checkpoint " + prefix + ": variable 'dense/kernel' is f32[3,2], model expects i32[3,2]");
  EXPECT_EQ(check_variable(file, "x", {DType::kF32, {3, 2}}).message(),
            "checkpoint " + prefix + " has no variable 'x'");
  EXPECT_TRUE(check_variable(file, "dense/kernel", {DType::kF32, {3, 2}}).ok());
  EXPECT_EQ(file.scalar("global_step", 7).take(), 30);
  EXPECT_EQ(file.scalar("no_step", 7).take(), 7);
  EXPECT_EQ(file.scalar("dense/kernel", 7).status().message(),
            "'" + prefix + "': 'dense/kernel' is f32[3,2], expected one i64");
}

TEST(CheckpointState, ReadsWhatTensorFlowWrites) {
  const CheckpointState state =
      parse_checkpoint_state(
          "model_checkpoint_path: \"/data/a \\\"b\\\"/model.ckpt-2\"\n"
          "all_model_checkpoint_paths: \"model.ckpt-1\"\nall_model_checkpoint_paths: \"caf\\303\\251-2\"\n"
          "all_model_checkpoint_timestamps: 1690000000.25\nlast_preserved_timestamp: 1690000000.5\n",
          "f")
          .take();
  EXPECT_EQ(state.latest, "/data/a \"b\"/model.ckpt-2");
  EXPECT_EQ(state.all, (std::vector<std::string>{"model.ckpt-1", "caf\xc3\xa9-2"}));
}

TEST(CheckpointState, DamageIsNamedByLine) {
  EXPECT_EQ(parse_checkpoint_state("model_checkpoint_path: \"a\"\nrubbish\n", "DIR/checkpoint").status().message(),
            "DIR/checkpoint:2: expected model_checkpoint_path: \"NAME\" or the like");
  EXPECT_FALSE(parse_checkpoint_state("", "f").ok());
  EXPECT_FALSE(parse_checkpoint_state("model_checkpoint_path: \"a\\", "f").ok());
}

}  // namespace
}  // namespace tenon
