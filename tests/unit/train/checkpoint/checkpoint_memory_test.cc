// Memory that runs out at any allocation of a save or a load.
#include "allocation_limit.h"
#include "checkpoint_test_util.h"

namespace tenon {
namespace {

using testing::difference;
using testing::Directory;
using testing::save_state;

// Runs `body` with ever more allocations until it succeeds. Returns how often it was refused.
template <class Body>
int refusals(Body body) {
  for (int n = 0; n < 100'000; ++n) {
    const Status status = [&] {
      const memory::Limit limit(n);
      return body();
    }();
    if (status.ok()) return n;
    EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
  }
  return -1;
}

TEST(CheckpointMemory, RunningOutInASaveKeepsTheCheckpointBefore) {
  Directory dir;
  CheckpointManager manager = CheckpointManager::open(dir.path()).take();
  ASSERT_TRUE(save_state(manager, 1).ok());
  const std::string before = dir / "model.ckpt-1";
  const int count = refusals([&] {
    const Status status = save_state(manager, 2).status();
    memory::limited = false;
    EXPECT_EQ(difference(before, 1), "");
    return status;
  });
  EXPECT_GT(count, 50);
  EXPECT_EQ(latest_checkpoint(dir.path()).take()->step, 2);
  EXPECT_EQ(difference(dir / "model.ckpt-2", 2), "");
}

TEST(CheckpointMemory, RunningOutInALoadIsAnError) {
  Directory dir;
  CheckpointManager manager = CheckpointManager::open(dir.path()).take();
  ASSERT_TRUE(save_state(manager, 1).ok());
  const std::string prefix = dir / "model.ckpt-1";
  EXPECT_GT(refusals([&] { return latest_checkpoint(dir.path()).status(); }), 20);
  EXPECT_GT(refusals([&] { return BundleReader::open(prefix).status(); }), 20);
  const BundleReader reader = BundleReader::open(prefix).take();
  EXPECT_GT(refusals([&] { return reader.read_strings("tenon/input").status(); }), 0);
}

}  // namespace
}  // namespace tenon
