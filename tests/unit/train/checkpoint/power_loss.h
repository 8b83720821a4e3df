// What a disk may hold after the power went, at every point of a recorded training: written bytes and directory entries
// stay only when they were synced, or by luck.
#pragma once

#include <functional>
#include <map>

#include "checkpoint/checkpoint_state.h"
#include "unit/train/checkpoint/checkpoint_io_faults.h"
#include "unit/train/checkpoint/checkpoint_test_util.h"

namespace tenon::power_loss {

using faults::Event;
using Kind = faults::Event::Kind;

struct Inode {
  std::string bytes;
  size_t synced = 0;
};

using Names = std::map<std::string, int>;  // path -> inode

// What became of the bytes of a file that were not synced.
enum class Unsynced { kKept, kDropped, kTorn };

// A file system of one directory that remembers what is durable.
class Disk {
 public:
  void apply(const Event& e) {
    switch (e.kind) {
      case Kind::kCreate:
        change([id = new_inode(), p = e.path](Names& n) { n[p] = id; });
        break;
      case Kind::kWrite:
        inodes_[static_cast<size_t>(last_ = names_.at(e.path))].bytes += e.bytes;
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

  // The directory with those pending changes that `lucky` has a bit for: dropped entries, renames in another order.
  Names names(uint64_t lucky) const {
    Names out = durable_;
    for (size_t i = 0; i < pending_.size(); ++i)
      if (lucky >> i & 1) pending_[i](out);
    return out;
  }
  // `others`: of the files that were not written to last.
  std::string bytes(int id, Unsynced last, Unsynced others) const {
    const Inode& inode = inodes_.at(static_cast<size_t>(id));
    const Unsynced unsynced = id == last_ ? last : others;
    if (unsynced == Unsynced::kKept) return inode.bytes;
    std::string out = inode.bytes.substr(0, inode.synced);
    if (unsynced == Unsynced::kDropped) return out;
    const size_t more = inode.bytes.size() - inode.synced;
    return out + inode.bytes.substr(inode.synced, more / 2) + std::string(more - more / 2, '\0');
  }

 private:
  int new_inode() { return inodes_.emplace_back(), static_cast<int>(inodes_.size()) - 1; }
  void sync(const std::string& path) {
    Inode& inode = inodes_[static_cast<size_t>(names_.at(path))];
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
  int last_ = -1;
  int64_t acknowledged_ = 0;
};

// The calls of `saves` saves of which `keep` are kept.
inline std::vector<Event> record_training(const std::string& dir, int64_t saves, int keep) {
  faults::Recording recording;
  Result<CheckpointManager> manager = CheckpointManager::open(dir, keep);
  for (int64_t step = 1; manager.ok() && step <= saves; ++step)
    if (testing::save_state(*manager, step).ok()) recording.acknowledge(step);
  return recording.events();
}

// Subsets of the pending changes: all of them when they are few, else each prefix, each one missing and each one alone.
inline std::vector<uint64_t> subsets(size_t n) {
  std::vector<uint64_t> out;
  if (n <= 6) {
    for (uint64_t i = 0; i < uint64_t{1} << n; ++i) out.push_back(i);
    return out;
  }
  n = std::min<size_t>(n, 63);
  const uint64_t all = (uint64_t{1} << n) - 1;
  for (size_t i = 0; i <= n; ++i) out.push_back((uint64_t{1} << i) - 1);
  for (size_t i = 0; i < n; ++i) out.push_back(all & ~(uint64_t{1} << i)), out.push_back(uint64_t{1} << i);
  return out;
}

struct Tally {
  int prefixes = 0;
  int states = 0;
  int lost = 0;  // states that lack an acknowledged save
  int torn = 0;  // states that show a newer checkpoint which is not whole
  std::string first;
};

// Why a directory does not hold what was acknowledged, or "".
inline std::string loss(const std::string& dir, int64_t acknowledged) {
  Result<std::optional<FoundCheckpoint>> found = latest_checkpoint(dir);
  if (!found.ok()) return acknowledged > 0 ? found.status().message() : "";
  if (!found->has_value()) return acknowledged > 0 ? "no checkpoint" : "";
  if (const std::string why = testing::difference((*found)->prefix, (*found)->step); !why.empty()) return why;
  if ((*found)->step >= acknowledged) return "";
  return "step " + std::to_string((*found)->step) + " after " + std::to_string(acknowledged);
}

// Why a checkpoint that is newer than `acknowledged` and has an index does not load, or "".
inline std::string torn(const std::string& dir, int64_t acknowledged) {
  for (const CheckpointName& name : list_checkpoints(dir).take())
    if (const std::string why = testing::difference(dir + "/" + name.str(), name.step);
        name.step > acknowledged && !why.empty())
      return name.str() + ": " + why;
  return "";
}

inline void replay_one(const std::map<std::string, std::string>& files, int64_t acknowledged, Tally& tally) {
  testing::Directory dir;
  for (const auto& [name, bytes] : files) testing::spill(dir / name, bytes);
  ++tally.states;
  const std::string lost = loss(dir.path(), acknowledged), half = torn(dir.path(), acknowledged);
  tally.lost += !lost.empty();
  tally.torn += !half.empty();
  if (tally.first.empty()) tally.first = lost.empty() ? half : lost;
}

// Every prefix of the log, with what may have stayed of it. Directories that are equal are looked at once.
inline Tally replay(const std::string& from, const std::vector<Event>& events) {
  constexpr Unsynced kAll[] = {Unsynced::kKept, Unsynced::kDropped, Unsynced::kTorn};
  Disk disk;
  Tally tally;
  std::map<std::pair<int64_t, std::map<std::string, std::string>>, bool> seen;
  for (const Event& event : events) {
    disk.apply(event);
    ++tally.prefixes;
    for (const uint64_t lucky : subsets(disk.pending()))
      for (const Unsynced last : kAll)
        for (const Unsynced others : kAll) {
          std::map<std::string, std::string> files;
          for (const auto& [path, inode] : disk.names(lucky))
            files[path.substr(from.size() + 1)] = disk.bytes(inode, last, others);
          if (seen.emplace(std::pair(disk.acknowledged(), files), true).second)
            replay_one(files, disk.acknowledged(), tally);
        }
  }
  return tally;
}

inline std::vector<Event> without(std::vector<Event> events, Kind kind) {
  std::erase_if(events, [&](const Event& e) { return e.kind == kind; });
  return events;
}

// Each save with the renames of its data and its index exchanged.
inline std::vector<Event> index_before_data(std::vector<Event> events) {
  Event* data = nullptr;
  for (Event& event : events) {
    if (event.kind != Kind::kRename) continue;
    if (event.bytes.find(".data-") != std::string::npos) data = &event;
    if (event.bytes.ends_with(".index") && data) std::swap(event, *data), data = nullptr;
  }
  return events;
}

}  // namespace tenon::power_loss
