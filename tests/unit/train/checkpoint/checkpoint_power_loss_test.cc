#include "power_loss.h"

namespace tenon {
namespace {

using power_loss::Kind;
using power_loss::Tally;

// Five saves, the two oldest removed again.
Tally replayed(const std::function<std::vector<power_loss::Event>(std::vector<power_loss::Event>)>& change) {
  testing::Directory dir;
  return power_loss::replay(dir.path(), change(power_loss::record_training(dir.path(), 5, 3)));
}

TEST(CheckpointPowerLoss, NoAcknowledgedSaveIsLostWhateverTheDiskKept) {
  const Tally tally = replayed([](auto events) { return events; });
  EXPECT_GT(tally.states, 100);
  EXPECT_EQ(tally.lost, 0) << tally.first;
  EXPECT_EQ(tally.torn, 0) << tally.first;
}

// The replay finds the loss when a protection is taken away.
TEST(CheckpointPowerLoss, WithoutOneProtectionSavesAreLost) {
  EXPECT_GT(replayed([](auto events) { return power_loss::without(events, Kind::kSync); }).lost, 0);
  EXPECT_GT(replayed([](auto events) { return power_loss::without(events, Kind::kSyncDirectory); }).lost, 0);
  EXPECT_GT(replayed(power_loss::index_before_data).torn, 0);
}

}  // namespace
}  // namespace tenon
