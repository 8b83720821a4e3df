// Replays what a disk may hold after the power went, at every point of a recorded training: written
// bytes and directory entries stay only when they were synced, or by luck.
#include <functional>
#include <map>

#include "checkpoint_io_faults.h"
#include "checkpoint_test_util.h"

namespace tenon {
namespace {

using faults::Event;
using Kind = faults::Event::Kind;
using testing::difference;
using testing::Directory;
using testing::save_state;
using testing::spill;

struct Inode {
  std::string bytes;
  size_t synced = 0;
};

using Names = std::map<std::string, int>;  // path -> inode

// A file system of one directory that remembers what is durable.
class Disk {
 public:
  void apply(const Event& e) {
    switch (e.kind) {
      case Kind::kCreate:
        change([id = new_inode(), p = e.path](Names& n) { n[p] = id; });
        break;
      case Kind::kWrite:
        inodes_[names_.at(e.path)].bytes += e.bytes;
        break;
      case Kind::kSync:
        sync(e.path);
        break;
      case Kind::kSyncDirectory:
        durable_ = names_, pending_.clear();
        break;
      case Kind::kRename:
        change([a = e.path, b = e.bytes](Names& n) { rename(n, a, b); });
        break;
      case Kind::kUnlink:
        change([p = e.path](Names& n) { n.erase(p); });
        break;
      case Kind::kAcknowledge:
        acknowledged_ = e.step;
        break;
    }
  }
  int64_t acknowledged() const { return acknowledged_; }
  size_t pending() const { return pending_.size(); }

  // The directory with those pending changes that `lucky` has a bit for.
  Names names(uint64_t lucky) const {
    Names out = durable_;
    for (size_t i = 0; i < pending_.size(); ++i)
      if (lucky >> i & 1) pending_[i](out);
    return out;
  }
  enum class Unsynced { kKept, kDropped, kTorn };
  std::string bytes(int id, Unsynced unsynced) const {
    const Inode& inode = inodes_.at(id);
    if (unsynced == Unsynced::kKept) return inode.bytes;
    std::string out = inode.bytes.substr(0, inode.synced);
    if (unsynced == Unsynced::kDropped) return out;
    const size_t more = inode.bytes.size() - inode.synced;
    return out + inode.bytes.substr(inode.synced, more / 2) + std::string(more - more / 2, '\0');
  }

 private:
  int new_inode() { return inodes_.emplace_back(), static_cast<int>(inodes_.size()) - 1; }
  void sync(const std::string& path) {
    Inode& inode = inodes_[names_.at(path)];
    inode.synced = inode.bytes.size();
  }
  void change(std::function<void(Names&)> f) {
    f(names_);
    pending_.push_back(std::move(f));
  }
  static void rename(Names& n, const std::string& a, const std::string& b) {
    const auto it = n.find(a);
    if (it == n.end()) return;
    n[b] = it->second;
    n.erase(a);
  }

  std::vector<Inode> inodes_;
  Names names_, durable_;
  std::vector<std::function<void(Names&)>> pending_;
  int64_t acknowledged_ = 0;
};

// The calls of five saves, the two oldest removed again.
std::vector<Event> record_training(const std::string& dir) {
  faults::Recording recording;
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 3);
  EXPECT_TRUE(manager.ok());
  for (int64_t step = 1; step <= 5; ++step) {
    EXPECT_TRUE(save_state(*manager, step).ok());
    recording.acknowledge(step);
  }
  return recording.events();
}

// Subsets of the pending changes: all of them when they are few, else each prefix and each one missing.
std::vector<uint64_t> subsets(size_t n) {
  std::vector<uint64_t> out;
  if (n <= 4) {
    for (uint64_t i = 0; i < uint64_t{1} << n; ++i) out.push_back(i);
    return out;
  }
  const uint64_t all = (uint64_t{1} << n) - 1;
  for (size_t i = 0; i <= n; ++i) out.push_back((uint64_t{1} << i) - 1);
  for (size_t i = 0; i < n; ++i) out.push_back(all & ~(uint64_t{1} << i)), out.push_back(uint64_t{1} << i);
  return out;
}

struct Tally {
  int states = 0;
  int lost = 0;
  std::string first;
};

bool lost(const std::string& dir, int64_t acknowledged, std::string& why) {
  Result<std::optional<FoundCheckpoint>> found = latest_checkpoint(dir);
  if (!found.ok()) return why = found.status().message(), acknowledged > 0;
  if (!found->has_value()) return why = "no checkpoint", acknowledged > 0;
  why = difference((*found)->prefix, (*found)->step);
  if (!why.empty()) return true;
  why = "step " + std::to_string((*found)->step) + " after " + std::to_string(acknowledged);
  return (*found)->step < acknowledged;
}

void replay_one(const Disk& disk, const std::string& from, uint64_t lucky, Disk::Unsynced unsynced, Tally& tally) {
  Directory dir;
  for (const auto& [path, inode] : disk.names(lucky))
    spill(dir / path.substr(from.size() + 1), disk.bytes(inode, unsynced));
  std::string why;
  ++tally.states;
  if (!lost(dir.path(), disk.acknowledged(), why)) return;
  if (tally.lost++ == 0) tally.first = why;
}

Tally replay(const std::string& from, const std::vector<Event>& events) {
  Disk disk;
  Tally tally;
  for (const Event& event : events) {
    disk.apply(event);
    for (uint64_t lucky : subsets(disk.pending()))
      for (auto unsynced : {Disk::Unsynced::kKept, Disk::Unsynced::kDropped, Disk::Unsynced::kTorn})
        replay_one(disk, from, lucky, unsynced, tally);
  }
  return tally;
}

std::vector<Event> without(std::vector<Event> events, Kind kind) {
  std::erase_if(events, [&](const Event& e) { return e.kind == kind; });
  return events;
}

TEST(CheckpointPowerLoss, NoAcknowledgedSaveIsLostWhateverTheDiskKept) {
  Directory dir;
  const std::vector<Event> events = record_training(dir.path());
  const Tally tally = replay(dir.path(), events);
  EXPECT_GT(tally.states, 500);
  EXPECT_EQ(tally.lost, 0) << tally.first;
}

// The replay finds the loss when a protection is taken away.
TEST(CheckpointPowerLoss, WithoutSyncsSavesAreLost) {
  Directory dir;
  const std::vector<Event> events = record_training(dir.path());
  EXPECT_GT(replay(dir.path(), without(events, Kind::kSync)).lost, 0);
}

}  // namespace
}  // namespace tenon
