// BackupAndRestore. Each state has a name of its own: DIR/state-N, with what the run puts behind it.
#include <charconv>
#include <filesystem>

#include "base/file/file.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "tenon/callbacks.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

constexpr std::string_view kState = "state-";

// {"epoch": 2, "batch": 0, "state": 3}
struct BackupMetadata {
  int64_t epoch = 0, batch = 0, state = 0;
};

std::string json_of(const BackupMetadata& m) {
  return cat("{\"epoch\": ", m.epoch, ", \"batch\": ", m.batch, ", \"state\": ", m.state, "}\n");
}

std::optional<int64_t> number_of(const std::string& json, std::string_view key) {
  const std::string quoted = cat("\"", key, "\": ");
  const size_t at = json.find(quoted);
  if (at == std::string::npos) return std::nullopt;
  int64_t value = -1;
  std::from_chars(json.data() + at + quoted.size(), json.data() + json.size(), value);
  return value >= 0 ? std::optional(value) : std::nullopt;
}

BackupMetadata read_metadata(const std::string& path) {
  const std::string json = read_file(path).take();
  const auto epoch = number_of(json, "epoch"), batch = number_of(json, "batch"), state = number_of(json, "state");
  if (!epoch || !batch || !state || *epoch > std::numeric_limits<int>::max())
    fail("BackupAndRestore: ", path, " is damaged: expected epoch, batch and state, found '", abbreviated(json),
         "'; remove its directory to begin anew");
  return {*epoch, *batch, *state};
}

// state-N and what stands behind a point after it.
bool belongs_to(const std::string& file, const std::string& state) {
  return file == state || file.starts_with(state + ".");
}

}  // namespace

BackupAndRestore::BackupAndRestore(std::string backup_dir, BackupAndRestoreOptions options)
    : directory_(std::move(backup_dir)),
      options_(std::move(options)),
      count_("BackupAndRestore: save_freq", options_.save_freq) {
  if (directory_.empty()) fail("BackupAndRestore: backup_dir is '', expected a directory");
}

void BackupAndRestore::on_train_begin(TrainingRun& run) {
  check(make_directories(directory_));
  count_ = BatchCount("BackupAndRestore: save_freq", options_.save_freq);
  if (!file_bytes(metadata()).ok()) return;
  const BackupMetadata found = read_metadata(metadata());
  saved_ = found.state;
  run.load(cat(directory_, "/", kState, found.state));
  if (found.epoch > 0) run.set_initial_epoch(static_cast<int>(found.epoch));
}

void BackupAndRestore::on_epoch_begin(TrainingRun&, int epoch) {
  epoch_ = epoch;
  count_.begin_epoch();
}

void BackupAndRestore::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs&) {
  if (count_.due(batch)) back_up(run, epoch_, batch + 1);
}

void BackupAndRestore::on_epoch_end(TrainingRun& run, int epoch, Logs&) {
  if (count_.by_epoch()) back_up(run, epoch + 1, 0);
}

void BackupAndRestore::on_train_end(TrainingRun&, const Logs&) {
  if (!options_.delete_checkpoint) return;
  if (!is_first_process()) return;
  check(remove_file(metadata()));
  remove_all_but({});
  std::error_code not_empty;
  std::filesystem::remove(directory_, not_empty);
}

void BackupAndRestore::back_up(TrainingRun& run, int epoch, int64_t batch) {
  const std::string state = cat(kState, ++saved_);
  run.save(cat(directory_, "/", state));
  check(as_first_does([&] { return atomic_write(metadata(), json_of({epoch, batch, saved_})); }));
  remove_all_but(state);
}

void BackupAndRestore::remove_all_but(const std::string& state) const {
  if (!is_first_process()) return;
  for (const std::string& name : list_names(directory_, cat(kState, "*")).take())
    if (state.empty() || !belongs_to(name, state)) std::filesystem::remove_all(cat(directory_, "/", name));
}

}  // namespace tenon
