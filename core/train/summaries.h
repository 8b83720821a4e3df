// What TensorBoard shows of an Estimator: the loss of training, and the results of evaluation.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "callback/event_file.h"
#include "tenon/estimator.h"

namespace tenon {

// Files begin with their first scalar. What cannot be written is an error to tell; it ends nothing.
class Summaries {
 public:
  // Writes by RunConfig's save_summary_steps and model_dir, without which there is nothing to write.
  Status after_call(const RunConfig& config, int64_t step, std::span<const float> losses);
  Status evaluated(const RunConfig& config, const std::string& name, int64_t step, const EvalResult& results);
  // What was written of evaluations of this name, by step.
  static std::map<int64_t, Logs> evaluations(const RunConfig& config, const std::string& name);

 private:
  Status add(const std::string& directory, int64_t step, const Logs& scalars);
  std::map<std::string, std::unique_ptr<EventFile>> files_;  // by directory
  int64_t saved_ = -1;                                       // the last step with a loss
  int64_t losses_ = 0, doubled_ = 1;                         // that were written; the distance, in save_summary_steps
};

}  // namespace tenon
