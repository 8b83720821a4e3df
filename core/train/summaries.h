// What TensorBoard shows of an Estimator: the graph, the loss and what else of training, and the results of evaluation.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "tenon/estimator.h"
#include "tenon/summary.h"

namespace tenon {

// Files begin with their first scalar. What cannot be written is an error to tell; it ends nothing.
class Summaries {
 public:
  // Each writes by RunConfig's save_summary_steps and model_dir, without which there is nothing to write.
  static bool wanted(const RunConfig& config) { return !config.model_dir.empty() && config.save_summary_steps > 0; }
  // Before the first step of a call of train(), with the graph of it.
  Status begin(const RunConfig& config, int64_t step, const std::vector<GraphNode>& nodes);
  // After a call of the device that did the steps behind `step`; `values` are numbers of each step, by name.
  using Values = std::map<std::string, std::vector<float>, std::less<>>;
  Status after_call(const RunConfig& config, int64_t step, std::span<const float> losses, const Values& values = {});
  Status evaluated(const RunConfig& config, const std::string& name, int64_t step, const EvalResult& results);
  // What was written of evaluations of this name, by step.
  static std::map<int64_t, Logs> evaluations(const RunConfig& config, const std::string& name);

 private:
  template <class Write>
  Status write(const std::string& directory, const Write& write);
  Logs rate_at(int64_t step);
  std::map<std::string, SummaryWriter> files_;  // by directory
  bool begun_ = false, noticed_ = false;        // noticed_: that another run writes there
  int64_t saved_ = -1;                          // the last step with a loss
  std::optional<std::pair<int64_t, std::chrono::steady_clock::time_point>>
      rated_;                         // the step before the last rate, and when
  int64_t losses_ = 0, doubled_ = 1;  // that were written; the distance, in save_summary_steps
};

}  // namespace tenon
