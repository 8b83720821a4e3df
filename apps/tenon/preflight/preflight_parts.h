// The parts of `tenon preflight`: one model, a sweep over batch sizes, a file of jobs, a cluster.
#pragma once

#include <functional>
#include <optional>

#include "model/model_run.h"
#include "tenon/preflight.h"

namespace tenon::runner {

// What the run as a whole is to be reckoned for.
struct PlannedRun {
  int64_t steps = 0;
  double price_per_hour = 0;  // 0: unknown
  int top = 10;               // rows of tables

  double seconds(double step_ms) const { return static_cast<double>(steps) * step_ms * 1e-3; }
  double cost(double step_ms) const { return seconds(step_ms) / 3600 * price_per_hour; }
};

// What was found of a program for batches of one size and, where it was asked for, of one for all up to that size.
struct BothForms {
  Preflight fixed;
  std::optional<Preflight> bounded = {};
};
// Prints what was found, in text or as one JSON object. The message of a refusal is not part of the text.
void print_preflight(const std::string& title, const BothForms& found, const PlannedRun& run);
void print_preflight_json(const std::string& model, const std::string& device, const BothForms& found,
                          const PlannedRun& run);
// "v3-8 as TensorFlow 1.12 drove it (not held against measurements)"
std::string machine_text(const PredictedStep& step);

// Lines of advice and of warnings; empty ones are left out.
std::vector<std::string> lines_of(const std::string& text);

// "12.3 s", "1:02:03"; "0.034", "1234.50"
std::string time_text(double seconds);
std::string cost_text(double cost);

// Each returns the exit code: 0 when the machine takes the model, or one of the batch sizes, or all rows were answered.
int run_sweep(const Flags& flags, const ModelRun& model, const Preflighter& machine, const PlannedRun& run);
int run_jobs(const Flags& flags, const ModelRun& model, const Preflighter& machine);
// --cluster FILE: a step in many processes.
int run_cluster(const Flags& flags, const std::vector<std::string>& words);

// "batch=256,512" or "batch=256..4096", which doubles. Throws UsageError.
std::vector<int64_t> sweep_sizes(const std::string& text);

// fn(0) .. fn(n - 1) on all cores. Throws what the first of them threw, in order.
void for_each_core(size_t n, const std::function<void(size_t i)>& fn);

// Looks at one model and batch, or batches of up to that size; mistakes of the model throw.
Preflight preflight_batch(const Flags& flags, const ModelRun& model, const Preflighter& machine, int64_t batch,
                          bool bounded = false);

}  // namespace tenon::runner
