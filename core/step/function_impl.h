// The inside of Strategy and Function: what they share, and a function's data.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "step/dynamic_inputs.h"
#include "step/traced_function.h"

namespace tenon {

struct Strategy::Impl {
  StrategyOptions options;
  Policy policy;
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<VariableStore> variables;
  std::shared_ptr<ObjectNames> objects = std::make_shared<ObjectNames>();

  // How its functions are traced. `what`, for messages, has to live until they were.
  TraceOptions tracing(Mode mode, std::string_view what, bool one_step) const {
    return {.mode = mode,
            .replicas = device->replicas(),
            .policy = policy,
            .draws_by = "draws",
            .one_step = one_step,
            .objects = objects,
            .what = what};
  }
};

struct Function::Impl {
 public:
  Impl(const std::shared_ptr<Strategy::Impl>& strategy, TensorFunction function, const FunctionOptions& options);

  Result<Results> take(const Dataset& data, int most_steps);
  Result<Results> repeat(int steps, const Arrays& inputs);
  Result<std::optional<PredictedStep>> forecast(const Arrays& inputs);
  void next_epoch(uint64_t least) {
    if (traced_.feed()) end_epoch();
    if (stream_) stream_->epoch = std::max(stream_->epoch, least);
    least_ = least;
  }
  void rewind() {
    traced_.close();
    stream_.reset();
  }
  int traces() const { return traced_.programs(); }
  Throughput throughput() const { return traced_.throughput(); }

 private:
  // Data that calls take batches from.
  struct Stream {
    Dataset data;
    uint64_t epoch = 0;
  };
  Status open(const Dataset& data);
  Result<Results> results_of(const StepCall& call);
  void end_epoch() {
    traced_.close();
    ++stream_->epoch;
  }

  std::shared_ptr<Strategy::Impl> strategy_;
  FunctionOptions options_;
  TracedFunction traced_;
  std::optional<Stream> stream_;
  uint64_t least_ = 0;  // the first epoch of other data
  int64_t steps_done_ = 0;
};

}  // namespace tenon
