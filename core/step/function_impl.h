// The inside of Strategy and Function: what they share, and a function's programs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "step/batch_feed.h"
#include "step/program.h"
#include "step/trace.h"
#include "step/variable_store.h"
#include "tenon/strategy.h"

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
  Impl(std::shared_ptr<Strategy::Impl> strategy, TensorFunction function, const FunctionOptions& options)
      : strategy_(std::move(strategy)), function_(std::move(function)), options_(options) {}

  Result<Results> take(const Dataset& data, int most_steps);
  Result<Results> repeat(int steps, const Arrays& inputs);
  void next_epoch() {
    if (stream_ && stream_->feed) end_epoch();
  }
  void rewind() { stream_.reset(); }
  int traces() const { return static_cast<int>(programs_.size()); }

 private:
  // Of one signature.
  struct Compiled {
    std::vector<TraceInput> signature;
    std::unique_ptr<StepProgram> program;
    std::vector<Buffer> inputs;  // HOST memory of a FEED input each, where arrays were given
    size_t results = 0;          // of the function; the others are variables'
  };
  // Data that calls take batches from.
  struct Stream {
    Dataset data;
    Compiled* compiled;
    std::unique_ptr<BatchFeed> feed;  // none before an epoch begins
    uint64_t epoch = 0;
  };

  Result<Compiled*> compiled_for(std::vector<TraceInput> signature);
  Result<std::unique_ptr<Compiled>> compile(std::vector<TraceInput> signature) const;
  Status open(const Dataset& data);
  Status begin_epoch();
  void end_epoch();
  Result<int64_t> rows_to_compute(int64_t rows) const;
  Result<Results> run_partial();
  Status write_inputs(Compiled& compiled, const Arrays& inputs) const;
  void use_inputs(Compiled& compiled) const;
  Result<Results> results_of(const Compiled& compiled, uint32_t steps, int64_t rows, int64_t computed) const;

  std::shared_ptr<Strategy::Impl> strategy_;
  TensorFunction function_;
  FunctionOptions options_;
  std::vector<std::unique_ptr<Compiled>> programs_;
  std::optional<Stream> stream_;
};

}  // namespace tenon
