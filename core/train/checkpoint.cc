#include "train/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/text.h"
#include "train/checkpoint_state.h"

namespace tenon {
namespace {

constexpr int64_t kMaxStateBytes = 16 << 20;

std::string state_path(const std::string& model_dir) { return cat(model_dir, "/checkpoint"); }

bool exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

// There may be no memory for the long message either; the short one needs none.
Status no_memory(const char* doing, const std::string& where) {
  try {
    return Status(Code::kOutOfMemory, cat("no memory to ", doing, " '", where, "'"));
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "out of memory");
  }
}

// Runs `body`; memory that runs out becomes a Status.
template <class Body>
auto within_memory(const char* doing, const std::string& where, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return no_memory(doing, where);
  }
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error("cannot remove", path, errno);
  return {};
}

// Index first: what is half removed must not look whole.
Status remove_checkpoint(const std::string& prefix) {
  TENON_TRY(remove_file(bundle_index_path(prefix)));
  return remove_file(bundle_data_path(prefix));
}

Result<CheckpointState> read_state(const std::string& model_dir) {
  TENON_ASSIGN(const std::string text, read_file(state_path(model_dir), kMaxStateBytes));
  return parse_checkpoint_state(text, state_path(model_dir));
}

// Names oldest first: those that `checkpoint` does not list, then its list.
Result<std::vector<std::string>> names_by_age(const std::string& model_dir) {
  TENON_ASSIGN(const auto present, list_checkpoints(model_dir));
  CheckpointState state;
  if (Result<CheckpointState> read = read_state(model_dir); read.ok()) state = read.take();
  std::vector<std::string> names, listed;
  for (const CheckpointName& name : present) names.push_back(name.str());
  for (const std::string& name : state.all)
    if (auto it = std::find(names.begin(), names.end(), name); it != names.end()) {
      names.erase(it);
      listed.push_back(name);
    }
  names.insert(names.end(), listed.begin(), listed.end());
  return names;
}

Status rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) return file_error("cannot rename", from, errno);
  return {};
}

bool same_state(const std::string& prefix, const std::string& fingerprint) {
  Result<BundleReader> reader = BundleReader::open(prefix);
  return reader.ok() && reader->fingerprint() == fingerprint && reader->verify().ok();
}

}  // namespace

Result<CheckpointManager> CheckpointManager::open(const std::string& model_dir, int keep) {
  return within_memory("open model directory", model_dir, [&]() -> Result<CheckpointManager> {
    TENON_TRY(make_directories(model_dir));
    TENON_ASSIGN(DirectoryLock lock, DirectoryLock::take(model_dir, "model directory", "trainer"));
    CheckpointManager manager(model_dir, keep, std::move(lock));
    TENON_TRY(manager.clean());
    return manager;
  });
}

// Under the lock every temporary is a dead trainer's, whoever has its process number by now.
Status CheckpointManager::clean() const {
  for (const char* pattern : {".model.ckpt-*.tmp-*", ".checkpoint.tmp-*"}) {
    TENON_ASSIGN(const auto files, list_files(model_dir_, pattern));
    for (const std::string& file : files) TENON_TRY(remove_file(file));
  }
  return remove_orphans();
}

// Data without an index: killed, or failed, between the two renames.
Status CheckpointManager::remove_orphans() const {
  const std::string suffix = bundle_data_path("");
  TENON_ASSIGN(const auto files, list_files(model_dir_, cat("model.ckpt-*", suffix)));
  for (const std::string& file : files) {
    const std::string prefix = file.substr(0, file.size() - suffix.size());
    CheckpointName name;
    if (parse_checkpoint_name(prefix.substr(prefix.rfind('/') + 1), name) && !exists(bundle_index_path(prefix)))
      TENON_TRY(remove_file(file));
  }
  return {};
}

// Returns the name of the new checkpoint, or of one that holds the very same state.
Result<std::string> CheckpointManager::write(int64_t step, const FillBundle& fill) const {
  CheckpointName name{step, 0};
  std::string before;
  for (; exists(bundle_index_path(cat(model_dir_, "/", name.str()))); ++name.copy) before = name.str();
  TENON_ASSIGN(BundleWriter writer, BundleWriter::create(cat(model_dir_, "/", name.str())));
  TENON_TRY(fill(writer));
  if (!writer.has("global_step")) TENON_TRY(writer.add_scalar("global_step", step));
  TENON_ASSIGN(const std::string fingerprint, writer.finish());
  if (!before.empty() && same_state(cat(model_dir_, "/", before), fingerprint)) return before;
  TENON_TRY(writer.commit());
  return name.str();
}

// Names it in `checkpoint`, then removes what is too old.
Status CheckpointManager::acknowledge(const std::string& name) const {
  TENON_ASSIGN(std::vector<std::string> names, names_by_age(model_dir_));
  names.erase(std::remove(names.begin(), names.end(), name), names.end());
  names.push_back(name);
  const size_t excess = keep_ > 0 && names.size() > static_cast<size_t>(keep_) ? names.size() - keep_ : 0;
  const CheckpointState state{name, {names.begin() + static_cast<int64_t>(excess), names.end()}};
  TENON_TRY(atomic_write(state_path(model_dir_), format_checkpoint_state(state)));
  // The state is safe; what cannot be removed now is tried again at the next save.
  for (size_t i = 0; i < excess; ++i) (void)remove_checkpoint(cat(model_dir_, "/", names[i])).ok();
  return {};
}

Result<std::string> CheckpointManager::save(int64_t step, const FillBundle& fill) {
  if (step < 0) return invalid("checkpoint in '", model_dir_, "': step is ", step, ", expected 0 or more");
  return within_memory("save a checkpoint in", model_dir_, [&]() -> Result<std::string> {
    Result<std::string> name = write(step, fill);
    if (!name.ok()) {
      (void)remove_orphans().ok();
      return name;
    }
    TENON_TRY(acknowledge(*name));
    return cat(model_dir_, "/", *name);
  });
}

std::string set_aside_name(std::string_view name) { return cat("diverged.", name.substr(name.find('.') + 1)); }

// First `checkpoint` stops naming them, so that whatever happens behind that leaves a directory that is right.
Status CheckpointManager::set_aside(const std::vector<std::string>& prefixes) {
  TENON_ASSIGN(std::vector<std::string> names, names_by_age(model_dir_));
  std::vector<std::string> gone;
  for (const std::string& prefix : prefixes) {
    const auto it = std::find(names.begin(), names.end(), prefix.substr(prefix.rfind('/') + 1));
    if (it == names.end()) continue;
    gone.push_back(*it);
    names.erase(it);
  }
  if (names.empty())
    TENON_TRY(remove_file(state_path(model_dir_)));
  else
    TENON_TRY(atomic_write(state_path(model_dir_), format_checkpoint_state({names.back(), names})));
  for (const std::string& name : gone) {
    const std::string from = cat(model_dir_, "/", name), to = cat(model_dir_, "/", set_aside_name(name));
    TENON_TRY(rename_file(bundle_index_path(from), bundle_index_path(to)));
    TENON_TRY(rename_file(bundle_data_path(from), bundle_data_path(to)));
  }
  return sync_directory(model_dir_);
}

namespace {

// Where to look, in order of preference, without repetition.
struct Candidates {
  std::vector<std::string> prefixes;
  std::vector<std::string> warnings;

  void add(const std::string& model_dir, const std::string& name) {
    std::string prefix = name.starts_with('/') ? name : cat(model_dir, "/", name);
    if (std::find(prefixes.begin(), prefixes.end(), prefix) == prefixes.end()) prefixes.push_back(std::move(prefix));
  }
};

Result<Candidates> candidates(const std::string& model_dir) {
  Candidates out;
  if (exists(state_path(model_dir))) {
    Result<CheckpointState> state = read_state(model_dir);
    if (state.ok()) {
      out.add(model_dir, state->latest);
      for (auto it = state->all.rbegin(); it != state->all.rend(); ++it) out.add(model_dir, *it);
    } else {
      out.warnings.push_back(state.status().message());
    }
  }
  TENON_ASSIGN(const auto present, list_checkpoints(model_dir));
  for (auto it = present.rbegin(); it != present.rend(); ++it) out.add(model_dir, it->str());
  return out;
}

// The step that the state says, else that of its name.
Result<int64_t> verified_step(const std::string& prefix) {
  TENON_ASSIGN(const BundleReader reader, BundleReader::open(prefix));
  TENON_TRY(reader.verify());
  if (reader.find("global_step")) return reader.read_scalar("global_step");
  const std::string name = prefix.substr(prefix.rfind('/') + 1);
  const size_t dash = name.rfind('-');
  CheckpointName parsed;
  if (dash != std::string::npos && parse_checkpoint_name(cat("model.ckpt", name.substr(dash)), parsed))
    return parsed.step;
  return int64_t{0};
}

Result<std::optional<FoundCheckpoint>> find_latest(const std::string& model_dir) {
  if (!exists(model_dir)) return std::optional<FoundCheckpoint>();
  TENON_ASSIGN(Candidates found, candidates(model_dir));
  for (const std::string& prefix : found.prefixes) {
    const Result<int64_t> step = verified_step(prefix);
    if (step.ok()) return std::optional(FoundCheckpoint{prefix, *step, std::move(found.warnings)});
    if (step.status().code() == Code::kOutOfMemory) return step.status();
    found.warnings.push_back(cat("skipped checkpoint ", prefix, ": ", step.status().message()));
  }
  if (found.warnings.empty()) return std::optional<FoundCheckpoint>();
  return invalid("no checkpoint in '", model_dir, "' loads: ", found.warnings.front());
}

}  // namespace

Result<std::optional<FoundCheckpoint>> latest_checkpoint(const std::string& model_dir) {
  return within_memory("read the checkpoints in", model_dir, [&] { return find_latest(model_dir); });
}

Result<std::vector<std::string>> CheckpointManager::prefixes() const {
  TENON_ASSIGN(Candidates found, candidates(model_dir_));
  return std::move(found.prefixes);
}

Status check_variable(const BundleReader& checkpoint, std::string_view name, const Type& type) {
  const BundleEntry* entry = checkpoint.find(name);
  if (!entry) return invalid("checkpoint ", checkpoint.prefix(), " has no variable '", name, "'");
  if (!entry->sliced && entry->dtype == type.dtype && entry->shape == type.shape) return {};
  return invalid("checkpoint ", checkpoint.prefix(), ": variable '", name, "' is ",
                 entry->sliced ? "a partitioned " : "", entry->str(), ", model expects ", type.str());
}

Status restore(const BundleReader& checkpoint, std::span<const RestoreTarget> targets) {
  for (const RestoreTarget& target : targets) TENON_TRY(check_variable(checkpoint, target.name, target.type));
  for (const RestoreTarget& target : targets) TENON_TRY(checkpoint.read(target.name, target.bytes));
  return {};
}

}  // namespace tenon
