// What training, evaluation and prediction read: a Dataset, or a function that makes one for each input pipeline of the
// device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "tenon/input.h"
#include "tenon/params.h"

namespace tenon {

// How many input pipelines feed a device of several units, and what params["batch_size"] says: one for each unit (1),
// one for each host with batches for all of its units (2) or for one of them (3), one for all (4, 5).
enum class InputPipelineConfig : int { kPerShardV1 = 1, kPerHostV1 = 2, kPerHostV2 = 3, kBroadcast = 4, kSliced = 5 };

// What an input function is told of the pipeline that it makes.
struct InputContext {
  int input_pipeline_id = 0;    // 0 .. num_input_pipelines - 1, in the order of the units that they feed
  int num_input_pipelines = 1;  // as TPUConfig::per_host_input_for_training says; 1 on one unit
  int host = 0;                 // whose units it feeds
  int num_hosts = 1;
  int num_replicas_in_sync = 1;
  int64_t batch_size = 0;  // that its Dataset has to have: params["batch_size"]
};

// Called for each pipeline at the beginning of train(), evaluate() and predict(), on its thread. Which part of the data
// a pipeline reads is the function's to decide: InputOptions::shard_index and shard_count.
using InputFn = std::function<Result<Dataset>(const InputContext& context, const Params& params)>;

// A Dataset, whose batch is that of a step on all units and which one pipeline reads, or a function for as many
// pipelines as the device has, and the batch of a step; 0: that of RunConfig.
class TrainInput {
 public:
  TrainInput(Dataset data) : data_(std::move(data)) {}
  TrainInput(InputFn function, int64_t batch_size = 0) : function_(std::move(function)), batch_size_(batch_size) {}

  const Dataset* data() const { return data_ ? &*data_ : nullptr; }  // or else a function
  const InputFn& function() const { return function_; }
  int64_t batch_size() const { return data_ ? data_->options().batch_size : batch_size_; }

 private:
  std::optional<Dataset> data_;
  InputFn function_;
  int64_t batch_size_ = 0;
};

}  // namespace tenon
