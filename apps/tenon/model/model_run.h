// What train, evaluate, predict and inspect share: a model's flags, its data, its Estimator.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "data/model_data.h"
#include "model/model_flags.h"
#include "model/model_record.h"
#include "models/models.h"

namespace tenon::runner {

// A model with everything that its flags and the model directory say.
class ModelRun {
 public:
  // The model is the only word, or the one that the model directory remembers.
  ModelRun(const Flags& flags, const std::vector<std::string>& words,
           Contradiction contradiction = Contradiction::kRefuse);
  // The only thing of it that later runs in the directory need.
  ModelRecord record() const;
  bool remembers() const { return record_.has_value(); }  // whether the model directory has one

  const models::ModelInfo& info() const { return *info_; }
  const Params& params() const { return params_; }
  const ModelData& data() const { return *data_; }
  const DataKind& kind() const { return *kind_; }

  int64_t train_batch() const;  // examples in a step
  Dataset train_data(int64_t batch_size) const;
  // One line where examples are too long for the model.
  void say_left_out(const Dataset& data, const char* what,
                    const std::function<void(const std::string& line)>& say) const;
  // What is trained on: these data, or where the device has several pipelines a part of them for each.
  TrainInput train_input(const Dataset& all) const;
  using Say = std::function<void(const std::string& line)>;
  // The batch is --eval_batch_size, or min(1024, what there is), rounded down to a multiple of the device's units, at
  // least one for each; `say` hears it when that changes what was asked for. In order: files one after the other, so that
  // the n-th example is the n-th record; else they are read in turn.
  Dataset eval_data(const Say& say, bool in_order = false) const;
  // Files that are named one by one, in order, without labels.
  Dataset file_data(const std::vector<std::string>& paths, const Say& say) const;
  // All that --num_eval_examples asks for; on a TPU without the last ones that its cores cannot share, as the original does,
  // unless there are fewer than cores, or --eval_drop_remainder says otherwise.
  EvalSpec eval_spec(const Dataset& data) const;
  // Random examples: shapes without data, for benchmarks and for looking at a model.
  Dataset synthetic(int64_t batch_size, bool training) const;

  ExportOptions export_options() const;  // of what this model is exported with: class names, how files of images are read
  Estimator estimator(const RunConfig& config,
                      std::optional<WarmStartSettings> warm_start = {}) const;  // which tells nothing
  RunConfig run_config() const;
  // Tells about devices, restored checkpoints and the like, in text or JSON; lines of the Estimator's log, and with --json
  // those of the device, on standard error.
  RunEvents events() const;
  bool estimator_log() const;
  bool quiet() const;  // the result alone is printed, and warnings on standard error
  // With `step`, where it is printed as the loss of training.
  void print_info(const std::string& line) const;

 private:
  Params::Value value_of(const Flags::Flag& flag) const;
  void check_kind(const std::string& directory) const;
  void check_optimizer() const;
  void check_dtypes() const;
  void check_units(const std::string& device) const;
  void try_device() const;  // before the pool has threads
  Dataset train_part(const InputContext& context) const;
  Dataset made_up(const InputOptions& options) const;
  InputOptions input_options(int64_t batch_size, bool training) const;
  InputOptions places(const char* path_flag, InputOptions options) const;
  int64_t eval_batch(int64_t examples, const Say& say) const;

  const Flags& flags_;
  Contradiction contradiction_;
  std::optional<ModelRecord> record_;
  const models::ModelInfo* info_;
  Params params_;
  const DataKind* kind_ = nullptr;
  std::unique_ptr<ModelData> data_;
  bool json_;
};

}  // namespace tenon::runner
