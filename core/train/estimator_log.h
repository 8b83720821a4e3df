// The lines that TensorFlow's Estimator and TPUEstimator log, in their words (RunConfig::log_lines). The order is that in
// which training.cc and inference.cc say them; a TPU's own lines come from its backend.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "tenon/estimator.h"

namespace tenon::estimator_log {

// A f32 as NumPy prints it: its shortest digits.
std::string number(double value);
// "{'_model_dir': '/tmp/m', ...}"
std::string config(const RunConfig& config);
// "WarmStartSettings(ckpt_to_initialize_from='/tmp/m', ..)"
std::string warm_start(const WarmStartSettings& settings);
// Local time: "2026-11-21T02:59:34"; with another separator before the hours.
std::string now(char separator = 'T');
// "Saving dict for global step 30: global_step = 30, loss = 0.29, mae = 0.44"
std::string saving(const EvalResult& result);

// The loss lines of one training: of the first step and of each `every` after it, with the rates between them; on a TPU
// of whole calls.
class Losses {
 public:
  Losses(int64_t every, bool tpu, int64_t batch) : every_(every), tpu_(tpu), batch_(batch) {}
  // After a call that did the steps behind `step`.
  std::vector<std::string> after_call(int64_t step, std::span<const float> losses);

 private:
  void add(int64_t step, float loss, std::vector<std::string>& out);
  int64_t every_;
  bool tpu_;
  int64_t batch_, said_ = -1;
  std::chrono::steady_clock::time_point said_at_;
};

// "Evaluation [1/5]" of the evaluations `before` to `done` of `all` (0: unknown), each tenth from 20 on.
std::vector<std::string> evaluations(int64_t before, int64_t done, int64_t all);

}  // namespace tenon::estimator_log
