#include "base/text.h"
#include "callback/event_file.h"
#include "tenon/callbacks.h"

namespace tenon {
namespace {

constexpr std::string_view kValidated = "val_";

Logs renamed(const Logs& logs, std::string_view before, std::string_view behind = {}) {
  Logs out;
  for (const auto& [name, value] : logs) out[cat(before, name, behind)] = value;
  return out;
}

}  // namespace

TensorBoard::TensorBoard(TensorBoardOptions options)
    : options_(std::move(options)), count_("TensorBoard: update_freq", options_.update_freq) {
  if (options_.log_dir.empty()) fail("TensorBoard: log_dir is '', expected a directory");
}

void TensorBoard::on_train_begin(TrainingRun&) {
  train_.reset();
  validation_.reset();
  count_ = BatchCount("TensorBoard: update_freq", options_.update_freq);
}

void TensorBoard::on_epoch_begin(TrainingRun&, int) { count_.begin_epoch(); }

void TensorBoard::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  if (count_.due(batch)) write(train_, "train", run.step(), renamed(logs, "batch_"));
}

void TensorBoard::on_test_end(TrainingRun& run, const Logs& logs) {
  write(validation_, "validation", run.step(), renamed(logs, "evaluation_", "_vs_iterations"));
}

void TensorBoard::on_epoch_end(TrainingRun&, int epoch, Logs& logs) {
  Logs trained, validated;
  for (const auto& [name, value] : logs) {
    const bool by_validation = name.starts_with(kValidated);
    (by_validation ? validated : trained)[by_validation ? name.substr(kValidated.size()) : name] = value;
  }
  write(train_, "train", epoch, renamed(trained, "epoch_"));
  write(validation_, "validation", epoch, renamed(validated, "epoch_"));
}

void TensorBoard::write(std::shared_ptr<EventFile>& file, const std::string& folder, int64_t step,
                        const Logs& scalars) {
  if (scalars.empty()) return;
  if (!file) file = std::make_shared<EventFile>(cat(options_.log_dir, "/", folder));
  file->add(step, scalars);
}

}  // namespace tenon
