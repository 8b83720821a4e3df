// Rows 2 to 6 on the checkpoints of a model directory: trust_checkpoint ROW SECONDS. Prints the row's line.
//   trust_checkpoint whole DIR         exits with 0 where every checkpoint in DIR that has an index loads; prints the others
//   trust_checkpoint fill DIR          row 5 on a file system that fills up; prints how many saves were refused
#include <errno.h>
#include "unit/train/checkpoint/allocation_limit.h"

#include <chrono>
#include <iostream>
#include <map>

#include "base/caught.h"
#include "base/strings.h"
#include "unit/train/checkpoint/checkpoint_trials.h"

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
using trials::Killed;
using trials::Outcome;
using trials::save_in_child;
using trials::third_save;
using trials::wrong;
using Clock = std::chrono::steady_clock;

int failures = 0;
void fail_line(const std::string& what) {
  if (++failures <= 20) std::cerr << what << '\n';
}

// Further rounds begin while there is time; the first is always done.
class Rounds {
 public:
  explicit Rounds(double seconds)
      : end_(Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 800))) {}
  bool another() { return count_++ == 0 || Clock::now() < end_; }
  int64_t count() const { return count_; }

 private:
  Clock::time_point end_;
  int64_t count_ = 0;
};

// A kill at call 0, 1, .. until none comes. Returns how many left a directory that is wrong; counts the kills.
int kill_everywhere(Action action, bool in_place, int64_t& kills) {
  int bad = 0;
  for (int at = 0;; ++at) {
    Directory dir;
    const Killed run = save_in_child(dir.path(), {action, at, 0, false}, in_place);
    if (!run.killed) return bad;
    ++kills;
    std::string why = wrong(dir.path(), run.acknowledged);
    Result<CheckpointManager> next = CheckpointManager::open(dir.path(), 2);
    if (why.empty() && (!next.ok() || !save_state(*next, 9).ok())) why = "no further save";
    if (why.empty()) why = wrong(dir.path(), 9);
    if (why.empty()) continue;
    ++bad;
    if (!in_place) fail_line(cat("killed at call ", at, action == Action::kTornKill ? " (torn)" : "", ": ", why));
  }
}

std::string row_2(double seconds) {
  int64_t kills = 0, bad = 0, unprotected = 0, caught = 0;
  for (Rounds rounds(seconds); rounds.another();)
    for (const Action action : {Action::kKill, Action::kTornKill}) bad += kill_everywhere(action, false, kills);
  for (const Action action : {Action::kKill, Action::kTornKill}) caught += kill_everywhere(action, true, unprotected);
  if (bad > 0 || caught == 0) ++failures;
  return cat("kill -9 at every I/O call of a save | asked: every call | seen: ", kills, " kills, ", bad,
             " directories that lost or tore a checkpoint | control: files written in place, torn in ", caught, " of ",
             unprotected, " kills");
}

std::string row_3(double seconds) {
  using namespace power_loss;
  int64_t prefixes = 0, states = 0, lost = 0;
  int64_t saves = 5;
  int keep = 3;
  const auto record = [&] {
    Directory dir;
    return std::pair(dir.path(), record_training(dir.path(), saves, keep));
  };
  for (Rounds rounds(seconds * 0.7); rounds.another(); ++saves, keep = keep % 4 + 1) {
    const auto [dir, events] = record();
    const Tally tally = replay(dir, events);
    prefixes += tally.prefixes, states += tally.states, lost += tally.lost + tally.torn;
    if (!tally.first.empty()) fail_line(cat(saves, " saves, ", keep, " kept: ", tally.first));
  }
  saves = 5, keep = 3;
  const auto [dir, events] = record();
  const Tally file = replay(dir, without(events, Kind::kSync)),
              entry = replay(dir, without(events, Kind::kSyncDirectory)),
              order = replay(dir, index_before_data(events));
  if (lost > 0 || file.lost == 0 || entry.lost == 0 || order.torn == 0) ++failures;
  return cat("power lost after every prefix of the I/O log | asked: 0 acknowledged saves lost | seen: ", prefixes,
             " prefixes, ", states, " different disks, ", lost, " lost or torn | control: without fsync of files ",
             file.lost, " of ", file.states, " lost, of the directory ", entry.lost, " of ", entry.states,
             " lost, index before data ", order.torn, " of ", order.states, " torn");
}

constexpr int64_t kDamagedStep = 7;

Status fill_damaged(BundleWriter& out, std::vector<float> more) {
  TENON_TRY(testing::fill_state(out, kDamagedStep));
  return out.add("more", {DType::kF32, {static_cast<int64_t>(more.size())}}, testing::bytes_of(more));
}

// Whether a damaged checkpoint gives what was saved, or an error; anything else is a silent difference.
enum class Read { kSame, kError, kDifferent };
Read read_damaged(const std::string& prefix) {
  Result<BundleReader> reader = BundleReader::open(prefix);
  if (!reader.ok() || !reader->verify().ok()) return Read::kError;
  const BundleEntry* entry = reader->find("more");
  if (!entry || entry->dtype != DType::kF32) return Read::kDifferent;
  std::vector<float> more(static_cast<size_t>(entry->size) / sizeof(float));
  if (!reader->read("more", std::as_writable_bytes(std::span(more))).ok()) return Read::kError;
  const bool same = std::all_of(more.begin(), more.end(), [](float v) { return v == 0.5f; });
  return same && difference(prefix, kDamagedStep).empty() ? Read::kSame : Read::kDifferent;
}

struct Damages {
  int64_t tried = 0, refused = 0, silent = 0;
};

// Bytes change where they stand and the file grows shorter: writing all of it anew would take most of the time.
void damage(const std::string& path, const std::string& prefix, Damages& tally) {
  const std::string whole = testing::slurp(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, int byte) {
    if (!file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte)).flush())
      fail_line(cat(path, ": byte ", at, " cannot be written"));
  };
  const auto hold = [&](const char* what, size_t where) {
    const Read read = read_damaged(prefix);
    ++tally.tried;
    tally.refused += read == Read::kError;
    tally.silent += read == Read::kDifferent;
    if (read == Read::kDifferent) fail_line(cat(path, ", ", what, " ", where, ": loads with other values"));
  };
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    put(bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
    hold("flipped bit", bit);
    put(bit / 8, whole[bit / 8]);
  }
  if (read_damaged(prefix) != Read::kSame) fail_line(path + ": is not what it was before bits were flipped");
  for (size_t size = whole.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    hold("cut to bytes:", size);
  }
  testing::spill(path, whole);
}

// Bits of a tensor that flip before its checksum is made, as if there were none. Returns how many give other values.
int64_t silent_without_checksums(int64_t& tried) {
  int64_t silent = 0;
  for (size_t bit = 0; bit < 8 * 64; ++bit, ++tried) {
    Directory dir;
    std::vector<float> more(16, 0.5f);
    reinterpret_cast<unsigned char*>(more.data())[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    BundleWriter writer = BundleWriter::create(dir / "flipped").take();
    (void)fill_damaged(writer, more).ok();
    (void)writer.add_scalar("global_step", kDamagedStep).ok();
    (void)writer.commit().ok();
    silent += read_damaged(dir / "flipped") == Read::kDifferent;
  }
  return silent;
}

std::string row_4(double seconds) {
  Damages tally;
  int64_t bytes = 0, tried = 0;
  Rounds rounds(seconds * 0.2);
  // Each round has a larger checkpoint, up to 64 KiB and its index; it takes about ten times as long as the one before.
  for (int64_t floats = 64; floats <= (64 << 10) / 4 && rounds.another(); floats *= 4) {
    Directory dir;
    CheckpointManager manager = CheckpointManager::open(dir.path()).take();
    const std::vector<float> more(static_cast<size_t>(floats - 32), 0.5f);
    const std::string prefix =
        manager.save(kDamagedStep, [&](BundleWriter& out) { return fill_damaged(out, more); }).take();
    damage(bundle_index_path(prefix), prefix, tally);
    damage(bundle_data_path(prefix), prefix, tally);
    bytes = static_cast<int64_t>(testing::slurp(bundle_data_path(prefix)).size());
  }
  const int64_t control = silent_without_checksums(tried);
  if (tally.silent > 0 || control != tried) ++failures;
  return cat(
      "every bit of a checkpoint flipped, cut everywhere | asked: up to 64 KiB, 0 silent differences, 0 crashes | "
      "seen: up to ",
      bytes, " bytes and index, ", tally.tried, " damaged files, ", tally.refused, " refused, ", tally.silent,
      " silent, 0 crashes | control: flipped before the checksum is made, ", control, " of ", tried,
      " load with other values");
}

std::string row_5(double seconds) {
  const int calls = calls_of_a_save();
  std::map<std::string, int64_t> reported;
  int64_t faults = 0, lies = 0, caught = 0;
  const auto inject = [&](const Plan& plan) {
    Directory dir;
    const Outcome outcome = third_save(dir.path(), plan);
    ++faults;
    if (!outcome.status.ok()) ++reported[outcome.call];
    if (const std::string why = after_fault(dir.path(), plan, outcome); !why.empty())
      fail_line(cat(outcome.call, ", call ", plan.at, ", errno ", plan.error, ": ", why));
  };
  for (Rounds rounds(seconds); rounds.another();)
    for (int at = 0; at < calls; ++at) {
      for (const int error : {ENOSPC, EIO, EDQUOT, EINTR})
        for (const bool and_after : {false, true})
          if (error != EINTR || !and_after) inject({Action::kFail, at, error, and_after});
      inject({Action::kShortWrite, at, 0, false});
    }
  for (int at = 0; at < calls; ++at) {
    Directory dir;
    const Outcome outcome = third_save(dir.path(), {Action::kLie, at, 0, false});
    if (outcome.call != "write" && outcome.call != "rename") continue;
    ++lies;
    caught += outcome.status.ok() && !wrong(dir.path(), 3).empty();
  }
  std::vector<std::string> names;
  for (const auto& [call, count] : reported) names.push_back(cat(call, " ", count));
  for (const char* call : {"open", "write", "fsync", "close", "rename"})
    if (reported[call] == 0) fail_line(cat("no fault of ", call, " was reported"));
  if (caught == 0) ++failures;
  return cat(
      "a fault at every I/O call of a save | asked: error names file and errno, previous checkpoint loads | seen: ",
      faults, " faults at ", calls, " calls (ENOSPC, EIO, EDQUOT, EINTR, short write, fsync, close), refused by ",
      join(names), " | control: errors of write and rename swallowed, ", caught, " of ", lies, " lose the save");
}

// Runs `body` with ever more allocations until it succeeds. Returns how often it was refused; adds what leaked.
template <class Body>
int64_t refusals(const char* what, int64_t& leaked, Body body) {
  for (int n = 0; n < 1'000'000; ++n) {
    const int64_t before = memory::live;
    int64_t after = 0;
    Code code = Code::kOk;
    {
      const Status status = [&] {
        const memory::Limit limit(n);
        return body();
      }();
      code = status.code();
    }
    after = memory::live;
    if (code == Code::kOk) return n;
    if (code != Code::kOutOfMemory) fail_line(cat(what, ", allocation ", n, ": code ", code_name(code)));
    if (n > 0 && after != before) fail_line(cat(what, ", allocation ", n, ": ", after - before, " allocations leaked"));
    if (n > 0) leaked += after - before;
  }
  return -1;
}

std::string row_6(double seconds) {
  int64_t saves = 0, loads = 0, leaked = 0, control = 0;
  for (Rounds rounds(seconds); rounds.another();) {
    Directory dir;
    CheckpointManager manager = CheckpointManager::open(dir.path()).take();
    (void)save_state(manager, 1).ok();
    const std::string before = dir / "model.ckpt-1";
    saves += refusals("save", leaked, [&] { return save_state(manager, 2).status(); });
    if (!difference(before, 1).empty() || !wrong(dir.path(), 2).empty()) fail_line("a refused save lost a checkpoint");
    loads += refusals("latest", leaked, [&] { return latest_checkpoint(dir.path()).status(); });
    loads += refusals("open", leaked, [&] { return BundleReader::open(before).status(); });
    const BundleReader reader = BundleReader::open(before).take();
    loads += refusals("verify", leaked, [&] { return caught([&] { return reader.verify(); }); });
    loads += refusals("strings", leaked, [&] { return reader.read_strings("tenon/input").status(); });
  }
  // The count sees an allocation that an error path forgets.
  const int64_t before = memory::live;
  static int* forgotten = new int(0);
  control = memory::live - before;
  if (leaked != 0 || control != 1 || !forgotten) ++failures;
  return cat("no memory at the n-th allocation, all n, in save and load | asked: clean error, 0 leaks | seen: ", saves,
             " saves and ", loads, " loads refused, ", leaked, " leaks | control: a forgotten allocation, counted ",
             control, " of 1");
}

// Saves until the disk is full, then on; prints how many were refused. 0 when each left the checkpoint before.
int fill(const std::string& dir) {
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 0);
  if (!manager.ok()) return std::cerr << manager.status().message() << '\n', 1;
  int64_t saved = 0, refused = 0;
  for (int64_t step = 1; refused < 20 && step < 100000; ++step) {
    const Status status = save_state(*manager, step).status();
    if (status.ok()) saved = step;
    if (!status.ok() && ++refused > 0 && status.message().find(strerror(ENOSPC)) == std::string::npos)
      fail_line("step " + std::to_string(step) + ": " + status.message());
    if (!status.ok() && status.message().find(dir) == std::string::npos)
      fail_line("names no file: " + status.message());
    if (!status.ok() && !power_loss::loss(dir, saved).empty()) fail_line("lost: " + power_loss::loss(dir, saved));
  }
  std::cout << refused << '\n';
  return failures > 0 || refused == 0 || saved == 0;
}

int whole(const std::string& dir) {
  int bad = 0;
  for (const CheckpointName& name : list_checkpoints(dir).take()) {
    const Result<BundleReader> reader = BundleReader::open(dir + "/" + name.str());
    const Status status = reader.ok() ? reader->verify() : reader.status();
    if (!status.ok()) std::cout << status.message() << '\n', ++bad;
  }
  return bad > 0;
}

int run(const std::string& what, const std::string& argument) {
  if (what == "fill") return fill(argument);
  if (what == "whole") return whole(argument);
  const double seconds = std::stod(argument);
  const std::map<std::string, std::string (*)(double)> rows = {
      {"2", row_2}, {"3", row_3}, {"4", row_4}, {"5", row_5}, {"6", row_6}};
  std::cout << "row " << what << ": " << rows.at(what)(seconds) << '\n';
  return failures > 0;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return tenon::run(argv[1], argv[2]);
}
