#include "base/strings.h"
#include "callback/weight_image.h"
#include "tenon/callbacks.h"
#include "tenon/graph_node.h"
#include "tenon/run_writer.h"

namespace tenon {
namespace {

constexpr std::string_view kValidated = "val_";
constexpr const char* kTrain = "train";
constexpr const char* kValidation = "validation";

Logs renamed(const Logs& logs, std::string_view before, std::string_view behind = {}) {
  Logs out;
  for (const auto& [name, value] : logs) out[cat(before, name, behind)] = value;
  return out;
}

// A schedule within an Estimator's model function has none that could be read.
void add_learning_rate(const TrainingRun& run, Logs& logs) {
  try {
    logs.try_emplace("learning_rate", run.learning_rate());
  } catch (const Error&) {
    return;
  }
}

}  // namespace

TensorBoard::TensorBoard(TensorBoardOptions options)
    : options_(std::move(options)), count_("TensorBoard: update_freq", options_.update_freq) {
  if (options_.log_dir.empty()) fail("TensorBoard: log_dir is '', expected a directory");
  if (options_.histogram_freq < 0)
    fail("TensorBoard: histogram_freq is ", options_.histogram_freq, ", expected 0 or more");
}

void TensorBoard::on_train_begin(TrainingRun& run) {
  writer_ = std::make_shared<RunWriter>("TensorBoard", options_.log_dir);
  has_graph_ = false;
  count_ = BatchCount("TensorBoard: update_freq", options_.update_freq);
  writer_->open(run, kTrain);
  writer_->write(run, kTrain, [&](SummaryWriter& writer) { writer.text("device", run.device(), run.step()); });
}

void TensorBoard::on_epoch_begin(TrainingRun& run, int) {
  count_.begin_epoch();
  first_step_ = last_step_ = run.step();
  begun_ = trained_ = Clock::now();
}

void TensorBoard::on_train_batch_end(TrainingRun& run, int64_t batch, const Logs& logs) {
  const Clock::time_point now = Clock::now();
  if (options_.write_graph && !std::exchange(has_graph_, true))
    if (const std::vector<GraphNode> nodes = run.graph(); !nodes.empty())
      writer_->write(run, kTrain, [&](SummaryWriter& writer) { writer.graph(nodes); });
  if (count_.due(batch)) {
    Logs scalars = renamed(logs, "batch_");
    if (options_.write_steps_per_second && now > trained_)
      scalars["batch_steps_per_second"] =
          static_cast<double>(run.step() - last_step_) / std::chrono::duration<double>(now - trained_).count();
    writer_->scalars(run, kTrain, scalars, run.step());
  }
  last_step_ = run.step();
  trained_ = Clock::now();
}

void TensorBoard::on_test_end(TrainingRun& run, const Logs& logs) {
  if (!writer_) writer_ = std::make_shared<RunWriter>("TensorBoard", options_.log_dir);  // of evaluate()
  writer_->scalars(run, kValidation, renamed(logs, "evaluation_", "_vs_iterations"), run.step());
}

void TensorBoard::on_epoch_end(TrainingRun& run, int epoch, Logs& logs) {
  Logs trained, validated;
  for (const auto& [name, value] : logs) {
    const bool by_validation = name.starts_with(kValidated);
    (by_validation ? validated : trained)[by_validation ? name.substr(kValidated.size()) : name] = value;
  }
  add_learning_rate(run, trained);
  writer_->scalars(run, kTrain, renamed(trained, "epoch_"), epoch);
  writer_->scalars(run, kValidation, renamed(validated, "epoch_"), epoch);
  write_speed(run, epoch);
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) write_weights(run, epoch);
}

void TensorBoard::write_speed(TrainingRun& run, int epoch) {
  const double seconds = std::chrono::duration<double>(trained_ - begun_).count();
  if (last_step_ == first_step_ || seconds <= 0) return;
  Logs scalars{{"epoch_seconds", seconds}};
  if (const double ms = run.predicted_step_ms(); ms > 0)
    scalars["epoch_seconds_predicted"] = ms * 1e-3 * static_cast<double>(last_step_ - first_step_);
  if (options_.write_steps_per_second)
    scalars["epoch_steps_per_second"] = static_cast<double>(last_step_ - first_step_) / seconds;
  writer_->scalars(run, kTrain, scalars, epoch);
}

void TensorBoard::write_weights(TrainingRun& run, int epoch) {
  for (const std::string& name : run.weights()) {
    const Array weight = run.read(name);
    const std::optional<Array> image = options_.write_images ? weight_image(weight) : std::nullopt;
    writer_->write(run, kTrain, [&](SummaryWriter& writer) {
      writer.histogram(name + "/histogram", weight, epoch);
      if (image) writer.image(name + "/image", *image, epoch);
    });
  }
}

void TensorBoard::on_train_end(TrainingRun&, const Logs&) { writer_.reset(); }
void TensorBoard::on_train_error(TrainingRun&, const Status&) { writer_.reset(); }

HParamsCallback::HParamsCallback(std::string log_dir, Params hparams, HParamsCallbackOptions options)
    : log_dir_(std::move(log_dir)), hparams_(std::move(hparams)), options_(std::move(options)) {
  if (log_dir_.empty()) fail("HParamsCallback: log_dir is '', expected a directory");
}

void HParamsCallback::on_train_begin(TrainingRun& run) {
  writer_ = std::make_shared<RunWriter>("HParamsCallback", log_dir_);
  writer_->open(run);
  writer_->write(run, "", [&](SummaryWriter& writer) { writer.hparams(hparams_, options_.trial_id); });
}

void HParamsCallback::on_train_end(TrainingRun& run, const Logs&) { end(run, true); }
void HParamsCallback::on_train_error(TrainingRun& run, const Status&) { end(run, false); }

void HParamsCallback::end(TrainingRun& run, bool success) {
  if (!writer_) return;
  writer_->write(run, "", [&](SummaryWriter& writer) { writer.hparams_end(success); });
  writer_.reset();
}

}  // namespace tenon
