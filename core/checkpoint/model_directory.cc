#include "checkpoint/model_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/strings.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

// Index first: what is half removed must not look whole.
Status remove_checkpoint(const std::string& prefix) {
  TENON_TRY(remove_file(bundle_index_path(prefix)));
  return remove_file(bundle_data_path(prefix));
}

// Seconds since 1970; 0 where it is gone.
int64_t time_of(const std::string& prefix) {
  struct stat info {};
  return ::stat(bundle_index_path(prefix).c_str(), &info) == 0 ? static_cast<int64_t>(info.st_mtim.tv_sec) : 0;
}

CheckpointState state_of(const std::string& model_dir) {
  Result<CheckpointState> read = read_checkpoint_state(model_dir);
  return read.ok() ? read.take() : CheckpointState();
}

// Names oldest first: those that `checkpoint` does not list, but for what it keeps for good, then its list.
Result<std::vector<std::string>> names_by_age(const std::string& model_dir) {
  TENON_ASSIGN(const auto present, list_checkpoints(model_dir));
  const CheckpointState state = state_of(model_dir);
  std::set<std::string> unlisted, left;
  for (const CheckpointName& name : present) left.insert(name.str());
  for (const std::string& name : state.preserved) left.erase(name);
  unlisted = left;
  for (const std::string& name : state.all) unlisted.erase(name);
  std::vector<std::string> names;
  for (const CheckpointName& name : present)
    if (unlisted.contains(name.str())) names.push_back(name.str());
  for (const std::string& name : state.all)
    if (left.erase(name) > 0) names.push_back(name);
  return names;
}

// A second name for a file; false when something has it already. Never takes the place of anything.
Result<bool> link_new(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  return file_error(cat("cannot link '", from, "' to"), to, errno);
}

// "diverged.ckpt-30" for "model.ckpt-30".
std::string set_aside_name(std::string_view name) { return cat("diverged.", name.substr(name.find('.') + 1)); }

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::string> fingerprint_of(const std::string& prefix) {
  TENON_ASSIGN(const BundleReader reader, BundleReader::open(prefix));
  return reader.fingerprint();
}

bool same_state(const std::string& prefix, const std::string& fingerprint) {
  Result<BundleReader> reader = BundleReader::open(prefix);
  return reader.ok() && reader->fingerprint() == fingerprint && reader->verify().ok();
}

}  // namespace

Result<CheckpointManager> CheckpointManager::open(const std::string& model_dir, int keep, double every_n_hours) {
  return within_memory("open model directory", model_dir, [&]() -> Result<CheckpointManager> {
    TENON_TRY(make_directories(model_dir));
    // Told now, and not when the first checkpoint is due.
    if (::faccessat(AT_FDCWD, model_dir.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
      return file_error("cannot write in model directory", model_dir, errno);
    TENON_ASSIGN(DirectoryLock lock, DirectoryLock::take(model_dir, "model directory", "trainer"));
    CheckpointManager manager(model_dir, keep, every_n_hours, std::move(lock));
    TENON_TRY(manager.clean());
    TENON_TRY(AtomicFile::create(checkpoint_state_path(model_dir)).status());
    return manager;
  });
}

Result<CheckpointManager> CheckpointManager::follow(const std::string& model_dir) {
  if (!file_bytes(cat(model_dir, "/.lock")).ok())
    return Status(Code::kUnavailable, cat("model directory '", model_dir,
                                          "' is not the one of process 0, which has locked it; "
                                          "processes of a job share it"));
  return CheckpointManager(model_dir, 0, 0, std::nullopt);
}

// Under the lock every temporary is a dead trainer's, whoever has its process number by now.
Status CheckpointManager::clean() const {
  for (const char* pattern : {"model.ckpt-*", "checkpoint", "model.json"})
    TENON_TRY(remove_temporaries(model_dir_, pattern));
  return remove_orphans();
}

// Data without an index: killed, or failed, between the two renames.
Status CheckpointManager::remove_orphans() const {
  const std::string suffix = bundle_data_path("");
  TENON_ASSIGN(const auto files, list_files(model_dir_, cat("model.ckpt-*", suffix)));
  for (const std::string& file : files) {
    const std::string prefix = file.substr(0, file.size() - suffix.size());
    CheckpointName name;
    if (parse_checkpoint_name(name_of(prefix), name) && !file_exists(bundle_index_path(prefix)))
      TENON_TRY(remove_file(file));
  }
  return {};
}

// Returns the name of the new checkpoint, or of one that holds the very same state.
Result<std::string> CheckpointManager::write(int64_t step, const FillBundle& fill) const {
  CheckpointName name{step, 0};
  std::string before;
  for (; file_exists(bundle_index_path(cat(model_dir_, "/", name.str()))); ++name.copy) before = name.str();
  TENON_ASSIGN(BundleWriter writer, BundleWriter::create(cat(model_dir_, "/", name.str())));
  TENON_TRY(fill(writer));
  if (!writer.has("global_step")) TENON_TRY(writer.add_scalar("global_step", step));
  TENON_ASSIGN(const std::string fingerprint, writer.finish());
  if (!before.empty() && same_state(cat(model_dir_, "/", before), fingerprint)) return before;
  TENON_TRY(writer.commit());
  return name.str();
}

// Takes out of `old` the checkpoints that are kept for good. Time counts from the first checkpoint that was made.
void CheckpointManager::preserve(std::vector<std::string>& old, CheckpointState& state) const {
  if (every_n_hours_ <= 0) return;
  if (state.last_preserved == 0) state.last_preserved = time_of(cat(model_dir_, "/", state.latest));
  std::erase_if(old, [&](const std::string& name) {
    if (has(state.suspect, name)) return false;
    const int64_t time = time_of(cat(model_dir_, "/", name));
    if (static_cast<double>(time - state.last_preserved) < every_n_hours_ * 3600) return false;
    state.last_preserved = time;
    state.preserved.push_back(name);
    return true;
  });
}

// Names it in `checkpoint`, then removes what is too many beside it: those that need not be sound, then the oldest.
Status CheckpointManager::acknowledge(const std::string& name, bool sound) const {
  TENON_ASSIGN(std::vector<std::string> names, names_by_age(model_dir_));
  std::erase(names, name);
  CheckpointState state = state_of(model_dir_);
  std::erase(state.suspect, name);
  std::vector<std::string> gone = names;
  std::stable_partition(gone.begin(), gone.end(), [&](const std::string& n) { return has(state.suspect, n); });
  gone.resize(keep_ > 0 && gone.size() >= static_cast<size_t>(keep_) ? gone.size() + 1 - static_cast<size_t>(keep_)
                                                                     : 0);
  std::erase_if(names, [&](const std::string& n) { return has(gone, n); });
  names.push_back(name);
  if (!sound) state.suspect.push_back(name);
  state.latest = name;
  state.all = names;
  preserve(gone, state);
  std::erase_if(state.suspect, [&](const std::string& n) { return !has(names, n); });
  TENON_TRY(atomic_write(checkpoint_state_path(model_dir_), format_checkpoint_state(state)));
  // The state is safe; what cannot be removed now is tried again at the next save.
  for (const std::string& old : gone) (void)remove_checkpoint(cat(model_dir_, "/", old)).ok();
  return {};
}

Result<std::string> CheckpointManager::save(int64_t step, const FillBundle& fill, bool sound) {
  if (step < 0) return invalid("checkpoint in '", model_dir_, "': step is ", step, ", expected 0 or more");
  return within_memory("save a checkpoint in", model_dir_, [&]() -> Result<std::string> {
    TENON_TRY(lock_->check());
    Result<std::string> name = write(step, fill);
    TENON_TRY(lock_->check());
    if (!name.ok()) {
      (void)remove_orphans().ok();
      return name;
    }
    TENON_TRY(acknowledge(*name, sound));
    return cat(model_dir_, "/", *name);
  });
}

// Both files have their new names before they lose the old ones, so that a kill at any point leaves a checkpoint whole.
// One that was set aside before, by the same training on the same data, needs no second copy.
Result<std::string> CheckpointManager::set_aside(const std::string& name) const {
  const std::string from = cat(model_dir_, "/", name);
  TENON_ASSIGN(const std::string fingerprint, fingerprint_of(from));
  for (int copy = 1;; ++copy) {
    const std::string now = copy == 1 ? set_aside_name(name) : cat(set_aside_name(name), ".", copy);
    const std::string to = cat(model_dir_, "/", now);
    TENON_ASSIGN(const bool data, link_new(bundle_data_path(from), bundle_data_path(to)));
    if (data) {
      TENON_ASSIGN(const bool index, link_new(bundle_index_path(from), bundle_index_path(to)));
      if (!index) {
        TENON_TRY(remove_file(bundle_data_path(to)));
        continue;
      }
      TENON_TRY(sync_directory(model_dir_));
    } else if (!same_state(to, fingerprint)) {
      continue;
    }
    TENON_TRY(remove_checkpoint(from));
    return now;
  }
}

// First `checkpoint` stops naming them, so that whatever happens behind that leaves a directory that is right.
Result<std::vector<std::string>> CheckpointManager::set_aside(const std::vector<std::string>& prefixes) {
  TENON_TRY(lock_->check());
  TENON_ASSIGN(std::vector<std::string> names, names_by_age(model_dir_));
  CheckpointState state = state_of(model_dir_);
  std::vector<std::string> gone, now;
  for (const std::string& prefix : prefixes) {
    const auto it = std::find(names.begin(), names.end(), name_of(prefix));
    if (it == names.end()) continue;
    gone.push_back(*it);
    names.erase(it);
  }
  std::erase_if(state.suspect, [&](const std::string& n) { return has(gone, n); });
  state.latest = names.empty() ? "" : names.back();
  state.all = names;
  if (names.empty())
    TENON_TRY(remove_file(checkpoint_state_path(model_dir_)));
  else
    TENON_TRY(atomic_write(checkpoint_state_path(model_dir_), format_checkpoint_state(state)));
  for (const std::string& name : gone) {
    TENON_ASSIGN(std::string moved, set_aside(name));
    now.push_back(std::move(moved));
  }
  TENON_TRY(sync_directory(model_dir_));
  return now;
}

}  // namespace tenon
