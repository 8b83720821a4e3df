// A backend that breaks down in the middle of a training: the training ends with one line that names it, and what
// was saved before goes on elsewhere to the same bits.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

constexpr int64_t kBefore = 4, kAfter = 12;  // steps saved before the backend breaks down, and asked of it

RunConfig config(const std::string& dir, const std::string& device) {
  return {.model_dir = dir, .device = device, .save_checkpoints_steps = 2, .iterations_per_loop = 2};
}

Status train(const std::string& dir, const std::string& device, int64_t steps, std::string* hash = nullptr) {
  Estimator estimator(small_model, config(dir, device));
  const Status status = estimator.train({.input = examples(12, training_input(4)), .max_steps = steps}).status();
  if (hash && status.ok()) *hash = estimator.variables_hash().take();
  return status;
}

const std::string& undisturbed_hash() {
  static const std::string h = [] {
    TemporaryDirectory dir;
    std::string hash;
    check(train(dir.path(), "cpu", kAfter + 1, &hash));
    return hash;
  }();
  return h;
}

// Trains, evaluates, predicts: each compiles a program of its own.
Status use_all(const std::string& dir, const std::string& device) {
  Estimator estimator(small_model, config(dir, device));
  const Dataset data = examples(12, evaluation_input(4));
  const Status trained = estimator.train({.input = examples(12, training_input(4)), .max_steps = kAfter}).status();
  if (!trained.ok()) return trained;
  const Status evaluated = estimator.evaluate({.input = data}).status();
  return evaluated.ok() ? estimator.predict(data, [](int64_t, const auto&) { return Status(); }) : evaluated;
}

// A copy of a directory in which kBefore steps were trained.
void put_checkpoint(const std::string& dir) {
  static const TemporaryDirectory& trained = *[] {
    auto* made = new TemporaryDirectory;
    check(train(made->path(), "cpu", kBefore));
    return made;
  }();
  std::filesystem::copy(trained.path(), dir, std::filesystem::copy_options::recursive);
}

struct Tally {
  int tried = 0, failed = 0, harmless = 0;
};

void expect_clean_failure(const std::string& fault, Tally* tally) {
  SCOPED_TRACE(fault);
  TemporaryDirectory dir;
  put_checkpoint(dir.path());
  const Status status = use_all(dir.path(), "faulty:" + fault);
  ++tally->tried;
  ++(status.ok() ? tally->harmless : tally->failed);

  if (!status.ok()) {
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
    const bool numbers = fault.find("-nan-") != std::string::npos;  // whose fault they are nobody can tell
    EXPECT_NE(status.message().find(numbers ? "nan" : "faulty:"), std::string::npos) << status.message();
  }
  const int64_t saved = saved_steps(dir.path()).back();
  EXPECT_GE(saved, status.ok() ? kAfter : kBefore);
  EXPECT_LE(saved, kAfter);
  EXPECT_EQ(Estimator(small_model, config(dir.path(), "cpu")).global_step().take(), saved);
  std::string hash;
  EXPECT_TRUE(train(dir.path(), "cpu", kAfter + 1, &hash).ok());
  EXPECT_EQ(hash, undisturbed_hash());
}

TEST(RuntimeFaultOfNone, TheLayerTrainsToTheSameBits) {
  TemporaryDirectory dir;
  std::string hash;
  const Status status = train(dir.path(), "faulty:none-error-1", kAfter + 1, &hash);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(hash, undisturbed_hash());
}

// Calls of two steps each: the layer says that the second of them failed.
TEST(RuntimeFaultOfAStep, NamesTheStepOfTheWholeTrainingAndTheNode) {
  std::vector<int64_t> steps;
  for (int k = 1; k < 80 && steps.size() < 2; ++k) {
    const std::string device = "faulty:wait-lost-" + std::to_string(k);
    const Status status = train("", device, kAfter);
    const FailurePlace* place = status.place();
    if (!place || place->step == 0) continue;
    steps.push_back(place->step);
    EXPECT_EQ(place->native, 1);
    EXPECT_FALSE(place->node.empty());
    EXPECT_EQ(status.message(), device + ": device lost at step " + std::to_string(place->step) + " in node '" +
                                    place->node + "' (code 1): the card fell off on purpose");
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 4}));
}

class RuntimeFault : public testing::TestWithParam<const char*> {};

TEST_P(RuntimeFault, EndsTheTrainingCleanlyAndSparesTheCheckpoint) {
  Tally tally;
  for (const char* fault : {"error", "full", "strange", "lost", "wrong"})
    for (const char* nth : {"1", "2", "3"})
      expect_clean_failure(std::string(GetParam()) + "-" + fault + "-" + nth, &tally);
  std::printf("%-13s %2d faults: %2d ended the training, %2d did not reach it\n", GetParam(), tally.tried, tally.failed,
              tally.harmless);
  if (std::string(GetParam()) != "stats") {
    EXPECT_GE(tally.failed, 5) << "the first call of each kind";
  }
}

INSTANTIATE_TEST_SUITE_P(Entries, RuntimeFault,
                         testing::Values("enumerate", "device_open", "supports", "compile", "buffer_alloc",
                                         "queue_create", "copy", "run", "wait", "stats"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RuntimeFaultOfNumbers, WhatIsNotANumberIsNotSaved) {
  Tally tally;
  for (const char* entry : {"run", "copy"})
    for (const char* nth : {"1", "2", "3", "4", "5", "6"})
      expect_clean_failure(std::string(entry) + "-nan-" + nth, &tally);
  std::printf("%-13s %2d faults: %2d ended the training, %2d did not reach it\n", "nan", tally.tried, tally.failed,
              tally.harmless);
  EXPECT_GE(tally.failed, 5);
}

// What the tests above rely on: had a failure harmed the checkpoint, going on from it would not give these bits.
TEST(RuntimeFaultOfNone, ADamagedCheckpointIsSeen) {
  TemporaryDirectory dir;
  put_checkpoint(dir.path());
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    if (file.path().filename().string().find(".data-") != std::string::npos)
      std::filesystem::resize_file(file.path(), file.file_size() / 2);
  std::string hash;
  EXPECT_FALSE(train(dir.path(), "cpu", kAfter + 1, &hash).ok());
  EXPECT_NE(hash, undisturbed_hash());
  std::printf("control: a checkpoint that a fault has cut was noticed\n");
}

size_t open_descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(RuntimeFaultOfResources, TwoHundredFailuresLeaveNothingBehind) {
  int k = 0;
  const auto cycles = [&k](const char* fault, int n) {  // what follows the dot makes the spec a new one
    for (int i = 0; i < n; ++i)
      EXPECT_FALSE(train("", "faulty:" + std::string(fault) + "." + std::to_string(++k), 2).ok());
  };
  const auto each = [&cycles](int n) {
    for (const char* fault : {"run-error-1", "wait-error-2", "buffer_alloc-full-3", "compile-wrong-1"})
      cycles(fault, n);
  };
  each(5);
  const size_t descriptors = open_descriptors(), resident = resident_bytes();
  each(50);
  EXPECT_EQ(open_descriptors(), descriptors);
  std::printf("%d cycles of opening and closing: %zd descriptors and %zd KiB more\n", k - 20,
              static_cast<ssize_t>(open_descriptors() - descriptors),
              static_cast<ssize_t>(resident_bytes() - resident) / 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what was freed
  EXPECT_LT(resident_bytes(), resident + (2 << 20));
#endif
}

// What the test above relies on: a cycle that leaves something behind is noticed.
TEST(RuntimeFaultOfResources, ALeakIsSeen) {
  const size_t descriptors = open_descriptors(), resident = resident_bytes();
  const int left = ::dup(0);
  std::vector<char> memory(4 << 20, 'x');
  EXPECT_NE(open_descriptors(), descriptors);
  EXPECT_GE(resident_bytes(), resident + (2 << 20)) << memory.back();
  ::close(left);
  std::printf("control: a descriptor and 4 MiB that were left open were noticed\n");
}

}  // namespace
}  // namespace tenon
