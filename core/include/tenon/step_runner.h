// Steps of a model on one batch that stays where it is: what benchmarks time. No input pipeline, no checkpoints:
// weights begin with first values. One thread at a time.
//
//   TENON_ASSIGN(StepRunner runner, StepRunner::create(model, params, batch, 64, {.device = "cpu"}, 100));
//   TENON_ASSIGN(float loss, runner.run(100));   // 100 steps in one call of the device
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/estimator.h"

namespace tenon {

// What one node of the step costs, a mean over the steps of a profile.
struct NodeTime {
  std::string name, op;         // "dense/kernel/update", "adam_update"; op "-": moves of results between buffers
  double ms = 0;                // on the thread that took longest
  double flops = 0, bytes = 0;  // arithmetic, and operands and results once each; 0: the device does not say
  bool is_backward = false;     // of the backward pass
};

struct StepProfile {
  // The device stands for another machine, whose times these are: nothing was measured.
  bool predicted = false;
  double step_ms = 0;  // by the clock, of the steps that were profiled; of what is predicted, the sum of `nodes`
  std::vector<NodeTime> nodes;  // in the order in which they run; their times add up to a little less than step_ms

  double backward_share() const;  // of the nodes' time; 0 where it took none
};

class StepRunner {
 public:
  // `batch` holds batch_size examples of each feature in HOST memory ("label" among them); each step reads the same
  // ones. On a device of several units each has its share; of batch-minor features the shares stand one after the
  // other. At most max_steps in one call of run(). Of the configuration device, seed, deterministic, trace and
  // what is of several replicas count. A step trains,
  // evaluates or predicts, by `mode`.
  static Result<StepRunner> create(const ModelFn& model, const Params& params, const std::vector<MemoryFeature>& batch,
                                   int64_t batch_size, const RunConfig& config, int max_steps,
                                   Mode mode = Mode::kTrain);
  StepRunner(StepRunner&&) noexcept;
  ~StepRunner();

  // Does `steps` steps in one call of the device and returns the last one's loss; 0 when it predicts. REQUIRED: 1 <=
  // steps <= max_steps.
  Result<float> run(int steps);

  // Does `calls` calls of `steps` steps while the device is traced. kUnsupported: the device cannot be. REQUIRED: the
  // configuration's `trace`.
  Result<StepProfile> profile(int calls, int steps);

  const std::string& device() const;  // "cpu"
  int64_t parameters() const;         // all of them, moving averages included
  uint64_t peak_bytes() const;        // what the device says it used at most; 0: it does not say

 private:
  struct Impl;
  explicit StepRunner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
