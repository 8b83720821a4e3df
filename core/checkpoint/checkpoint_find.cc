// Which checkpoint of a directory is the newest that loads.
#include <filesystem>
#include <set>

#include "base/strings.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

// Where to look, in order of preference, without repetition.
class Candidates {
 public:
  explicit Candidates(const std::string& model_dir) : model_dir_(model_dir) {}

  std::string path(const std::string& name) const {
    return name.starts_with('/') ? name : cat(model_dir_, model_dir_.ends_with('/') ? "" : "/", name);
  }

  void add(const std::string& name) {
    std::string prefix = path(name);
    if (seen_.insert(std::filesystem::path(prefix).lexically_normal()).second) prefixes.push_back(std::move(prefix));
  }

  std::vector<std::string> prefixes;
  std::vector<std::string> warnings;

 private:
  const std::string& model_dir_;
  std::set<std::string> seen_;
};

// What `checkpoint` names besides the newest, where it is there. The directory is listed once: the file may name any number
// of checkpoints that are not.
Status add_named(const std::string& model_dir, const CheckpointState& state, Candidates& out) {
  out.add(state.latest);
  TENON_ASSIGN(const std::vector<std::string> indices, list_files(model_dir, "*.index"));
  const std::set<std::string> here(indices.begin(), indices.end());
  for (auto it = state.all.rbegin(); it != state.all.rend(); ++it)
    if (it->find('/') != std::string::npos ? file_exists(bundle_index_path(out.path(*it)))
                                           : here.contains(bundle_index_path(out.path(*it))))
      out.add(*it);
  return {};
}

Result<Candidates> candidates(const std::string& model_dir) {
  Candidates out(model_dir);
  if (file_exists(checkpoint_state_path(model_dir))) {
    const Result<CheckpointState> state = read_checkpoint_state(model_dir);
    if (state.ok())
      TENON_TRY(add_named(model_dir, *state, out));
    else
      out.warnings.push_back(state.status().message());
  }
  TENON_ASSIGN(const auto present, list_checkpoints(model_dir));
  for (auto it = present.rbegin(); it != present.rend(); ++it) out.add(it->str());
  return out;
}

// The step that the state says, else that of its name.
Result<int64_t> step_of(const BundleReader& reader) {
  if (reader.find("global_step")) return reader.read_scalar("global_step");
  const std::string name = name_of(reader.prefix());
  const size_t dash = name.rfind('-');
  CheckpointName parsed;
  if (dash != std::string::npos && parse_checkpoint_name(cat("model.ckpt", name.substr(dash)), parsed))
    return parsed.step;
  return int64_t{0};
}

Result<FoundCheckpoint> verified(const std::string& prefix) {
  TENON_ASSIGN(BundleReader reader, BundleReader::open(prefix));
  TENON_TRY(reader.verify());
  TENON_TRY(reader.name_by_objects());
  TENON_ASSIGN(const int64_t step, step_of(reader));
  return FoundCheckpoint{prefix, std::move(reader), step, {}};
}

// None where none loads; adds to the warnings.
Result<std::optional<FoundCheckpoint>> first_that_loads(Candidates& found) {
  for (const std::string& prefix : found.prefixes) {
    Result<FoundCheckpoint> checkpoint = verified(prefix);
    if (checkpoint.ok()) return std::optional(checkpoint.take());
    if (checkpoint.status().code() == Code::kOutOfMemory) return checkpoint.status();
    found.warnings.push_back(cat("skipped checkpoint ", prefix, ": ", checkpoint.status().message()));
  }
  return std::optional<FoundCheckpoint>();
}

// A trainer beside us may remove what `checkpoint` named while it is being opened: then it names something newer.
Result<bool> has_changed(const std::string& model_dir, const Candidates& found) {
  TENON_ASSIGN(const Candidates now, candidates(model_dir));
  return now.prefixes != found.prefixes;
}

Result<std::optional<FoundCheckpoint>> find_latest(const std::string& model_dir) {
  constexpr int kTries = 1000;
  if (!file_exists(model_dir)) return std::optional<FoundCheckpoint>();
  for (int tries = 1;; ++tries) {
    TENON_ASSIGN(Candidates found, candidates(model_dir));
    const size_t told = found.warnings.size();
    TENON_ASSIGN(std::optional<FoundCheckpoint> checkpoint, first_that_loads(found));
    if (found.warnings.size() > told && tries < kTries) {
      TENON_ASSIGN(const bool changed, has_changed(model_dir, found));
      if (changed) continue;
    }
    if (checkpoint) checkpoint->warnings = std::move(found.warnings);
    if (checkpoint || found.warnings.empty()) return checkpoint;
    return invalid("no checkpoint in '", model_dir, "' loads: ", found.warnings.front());
  }
}

}  // namespace

Result<std::optional<FoundCheckpoint>> latest_checkpoint(const std::string& model_dir) {
  return within_memory("read the checkpoints in", model_dir, [&] { return find_latest(model_dir); });
}

Result<std::vector<std::string>> CheckpointManager::prefixes() const {
  TENON_ASSIGN(Candidates found, candidates(model_dir_));
  return std::move(found.prefixes);
}

Result<BundleReader> open_checkpoint(const std::string& path, std::vector<std::string>* skipped) {
  constexpr std::string_view kIndex = ".index";
  std::error_code error;
  if (path.ends_with(kIndex) || !std::filesystem::is_directory(path, error)) {
    TENON_ASSIGN(BundleReader reader,
                 BundleReader::open(path.ends_with(kIndex) ? path.substr(0, path.size() - kIndex.size()) : path));
    TENON_TRY(reader.name_by_objects());
    return reader;
  }
  TENON_ASSIGN(std::optional<FoundCheckpoint> found, latest_checkpoint(path));
  if (!found) return Status(Code::kUnavailable, cat(path, ": has no checkpoint"));
  if (skipped) *skipped = std::move(found->warnings);
  return std::move(found->reader);
}

}  // namespace tenon
