// A function of tensors that runs on a device: the one way to trace, compile, bind, feed and read. Function is the handle of
// one; the Estimator's modes and StepRunner have theirs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "step/feed/batch_feed.h"
#include "step/feed/host_watch.h"
#include "step/program.h"
#include "step/program_plan.h"
#include "step/trace.h"
#include "step/variables/variable_store.h"
#include "tenon/strategy.h"

namespace tenon {

struct TracedFunctionOptions {
  TraceOptions tracing = {};
  ProgramOptions compile = {};         // max_iterations: the most steps of a call
  uint64_t seed = 0;                   // keys what is drawn at random
  VariableStore* variables = nullptr;  // or bind() says before the first step
  Remainder remainder = Remainder::kRefuse;
  bool bounded_batch = false;  // batches with fewer rows run in the program of whole ones
  std::function<void(const Graph& traced, const Executable&)> compiled = {};  // told of each program
};

// A value that an input keeps for all steps of a call.
struct GivenInput {
  TraceInput input;  // on one unit
  Type type;         // of all units together, their shares one after the other
  std::span<const std::byte> bytes;
  int64_t batch_if_minor = 0;  // examples of a share where they are the last axis
};

// What one call of the device did.
struct StepCall {
  const StepProgram* program = nullptr;
  uint32_t steps = 0;
  int64_t rows = 0;      // examples of a step
  int64_t computed = 0;  // rows of a result that has one for each: more than `rows` where the units needed them
  int64_t left_out = 0;  // examples that the units could not share
};

class TracedFunction {
  struct Compiled;

 public:
  TracedFunction(TensorFunction function, std::shared_ptr<Device> device, Queue& queue, TracedFunctionOptions options);

  // Compiles it for batches of these features, unless it was.
  Status prepare(const std::vector<FeatureSpec>& features, int64_t batch_size);
  // For whole batches. REQUIRED: prepare() or open().
  const Executable& executable() const { return taking_.whole->program->executable(); }
  int programs() const { return static_cast<int>(programs_.size()); }
  // As it was traced for the first of them.
  const std::vector<GraphNode>& graph() const { return nodes_; }

  // What the host gives each step, as a fixed learning rate, in all programs from now on.
  void set_number(const std::string& scalar, double value);

  // The store has its variables from now on: those of the programs that there are, and it makes what others need.
  Status bind(VariableStore& variables);

  // Takes batches from there on; prepares for them. `interrupted` as of BatchFeed::create.
  Status open(const StepInput& input, const PipelineState& from, std::function<bool()> interrupted = {});
  void close() {
    past_ = throughput();
    taking_.feed.reset();
  }
  // Data that batches are taken from, and how far.
  struct Taking {
    std::vector<FeatureSpec> specs;
    int64_t batch_size = 0;
    Compiled* whole = nullptr;
    std::unique_ptr<BatchFeed> feed;
  };
  // Takes from nothing until open() or go_on(); what is given may be dropped, or gone on with.
  Taking set_aside();
  void go_on(Taking taking);
  // Null where it is not open. Its status says why a call did fewer steps than were asked for.
  BatchFeed* feed() { return taking_.feed.get(); }
  const BatchFeed* feed() const { return taking_.feed.get(); }
  // Counts all whole batches so far.
  Throughput throughput() const { return taking_.feed ? past_ + taking_.feed->throughput() : past_; }
  // Up to `steps` steps on whole batches.
  Result<StepCall> take_whole(uint32_t steps, HostWatch* watch = nullptr);
  // The same, or one step on the smaller batch that comes next. No steps: the input is at its end, or what it still has is
  // left out.
  Result<StepCall> take(uint32_t steps);

  // Steps on the inputs that are placed: memory for them is made once.
  // Those with dynamic dimensions are of their bounds, and have these sizes and so many rows. `repeated`: each unit has all.
  Status place(const std::vector<GivenInput>& inputs, const DimensionSizes& sizes = {}, int64_t rows = 0,
               bool repeated = false);
  Result<StepCall> repeat(uint32_t steps);

  // What the device would make of a program with such inputs, which is not kept. REQUIRED: the device predicts.
  Result<ProgramPlan> plan(const std::vector<TraceInput>& signature) const;
  // Predicts a step of that program, or of the one that there is already.
  Result<PredictedStep> forecast(const std::vector<TraceInput>& signature) const;
  // REQUIRED: there is a program, whose step is predicted.
  Result<PredictedStep> forecast() const { return predicted_step(programs_.front()->program->executable()); }

  // What a call gave: rows of results kept each step are of its steps. REQUIRED: it was the program's last.
  Result<Array> result(const StepCall& call, std::string_view name) const;
  // What print() and check_numerics() have to say of its steps, which are those behind step `before`.
  Status show_watched(const StepCall& call, int64_t before) const;
  // All but those that end a call; of a function that does one step a call, without the axis of steps.
  Result<Results> results(const StepCall& call) const;
  // What calls of repeat() gave, one after the other. REQUIRED: there is one.
  Result<Results> joined(std::vector<Results> calls) const;
  // Whether a result ended the call with its last step.
  Result<bool> said_stop(const StepCall& call) const;

 private:
  // For one signature.
  struct Compiled {
    std::vector<TraceInput> signature;
    int steps;
    bool repeated;  // each unit has all rows
    std::unique_ptr<StepProgram> program;
    std::vector<Buffer> inputs;  // HOST memory of a FEED input each, where they do not come from a feed
  };
  Compiled* find(const std::vector<TraceInput>& signature, int steps, bool repeated) const;
  Result<Compiled*> compiled_for(const std::vector<TraceInput>& signature, int steps, bool repeated = false);
  Status after_change(const Status& status, const std::vector<TraceInput>& signature) const;
  Result<std::unique_ptr<Compiled>> compile(const std::vector<TraceInput>& signature, int steps, bool repeated);
  Result<int64_t> rows_to_compute(int64_t rows) const;
  bool gives_rows_alone() const;
  Result<StepCall> take_partial();
  Status run_partial(StepCall& call, bool repeated);
  DimensionSizes batch_of(int64_t rows) const;
  Array as_it_is(Array value, const StepCall& call, size_t result) const;
  static void use_inputs(Compiled& compiled);

  TensorFunction function_;
  std::shared_ptr<Device> device_;
  Queue& queue_;
  TracedFunctionOptions options_;
  int most_;  // steps of a call
  VariableStore* variables_;
  std::map<std::string, double> numbers_ = {};  // of scalars that were set
  std::vector<std::unique_ptr<Compiled>> programs_;
  std::vector<GraphNode> nodes_;
  Taking taking_;
  Throughput past_;  // of feeds that are closed or set aside
  // The program whose inputs are placed on the device.
  Compiled* placed_ = nullptr;
  int64_t placed_rows_ = 0;
};

}  // namespace tenon
