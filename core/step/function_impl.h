// The inside of Strategy and Function: what they share, and a function's data.
#pragma once

#include <algorithm>
#include <list>
#include <memory>

#include "step/feed/dynamic_inputs.h"
#include "step/traced_function.h"

namespace tenon {

struct Strategy::Impl : ObjectNames, std::enable_shared_from_this<Strategy::Impl> {
  bool keeps_variables() const override { return true; }
  void set_variable(const std::string& name, const Array& value) override;

  StrategyOptions options;
  Policy policy;
  std::shared_ptr<Device> device;
  Queue queue;
  std::unique_ptr<VariableStore> variables;
  // What each optimizer trains models with: shared by these models.
  std::map<const void*, std::weak_ptr<const void>> optimizers;

  // Whether the device's programs can read inputs of that type, of which it is asked once.
  bool takes(DType dtype);

  // How its functions are traced. `what`, for messages, has to live until they were.
  TraceOptions tracing(Mode mode, std::string_view what, bool one_step) {
    return {.mode = mode,
            .replicas = device->replicas(),
            .policy = policy,
            .between = {options.all_reduce_dtype, options.shard_optimizer_state},
            .draws_by = "draws",
            .one_step = one_step,
            .objects = shared_from_this(),
            .what = what};
  }

 private:
  std::map<DType, bool> taken_;
};

struct Function::Impl {
 public:
  // Data that calls take batches from.
  struct Stream {
    Dataset data;
    uint64_t epoch = 0;
    TracedFunction::Taking taking = {};  // empty while the last call was of it
  };

  Impl(const std::shared_ptr<Strategy::Impl>& strategy, TensorFunction function, const FunctionOptions& options);

  Result<Results> take(const Dataset& data, int most_steps) { return take(stream_of(data), most_steps); }
  Result<Results> take(Stream& stream, int most_steps);
  // Whether its epoch, which it begins where there is none, has a batch left; ends it where it has none.
  Result<bool> more(Stream& stream);
  Result<Results> repeat(int steps, const Arrays& inputs);
  Result<std::optional<PredictedStep>> forecast(const Arrays& inputs);
  Result<std::optional<PredictedStep>> forecast() const;
  void next_epoch(uint64_t least);
  void rewind();
  // Where a call has begun an epoch of it.
  void end_epoch(Stream& stream);
  // REQUIRED: before the stream goes.
  void leave(Stream& stream);
  int traces() const { return traced_.programs(); }
  Throughput throughput() const { return traced_.throughput(); }
  const std::vector<GraphNode>& graph() const { return traced_.graph(); }

 private:
  Stream& stream_of(const Dataset& data);
  void turn_to(Stream& stream);
  Status open(Stream& stream);
  // Whether each unit gets all of arrays that cannot be shared.
  bool takes_whole() const {
    const bool is_static = options_.max_batch <= 0 && options_.dynamic_shapes.empty();
    return is_static && options_.remainder != Remainder::kRefuse && options_.remainder != Remainder::kDrop;
  }
  Result<Results> results_of(const StepCall& call);

  std::shared_ptr<Strategy::Impl> strategy_;
  FunctionOptions options_;
  TracedFunction traced_;
  std::list<Stream> streams_;  // of calls with a Dataset, the last one's first
  Stream* of_last_ = nullptr;  // the stream of the last call; one of these or of a DataPass
  uint64_t least_ = 0;         // the first epoch of other data
  int64_t steps_done_ = 0;
};

// Takes batches of data for itself, whatever else takes from them: a call within a callback leaves the place of the one
// around it.
class DataPass {
 public:
  DataPass(const Function& function, const Dataset& data, uint64_t epoch = 0)
      : impl_(function.impl_), stream_{data, epoch} {}
  ~DataPass() { impl_->leave(stream_); }
  DataPass(const DataPass&) = delete;
  DataPass& operator=(const DataPass&) = delete;

  // Whether a call will have a batch. At the end of an epoch that is false once.
  bool more() { return impl_->more(stream_).take(); }
  // As Function's.
  Results operator()(int most_steps = 0) { return impl_->take(stream_, most_steps).take(); }
  // Ends the epoch; the first that no call has begun.
  uint64_t next_epoch() {
    impl_->end_epoch(stream_);
    return stream_.epoch;
  }

 private:
  std::shared_ptr<Function::Impl> impl_;
  Function::Impl::Stream stream_;
};

}  // namespace tenon
