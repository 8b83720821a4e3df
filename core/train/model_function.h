// An Estimator's model function as a function of tensors.
#pragma once

#include <string>
#include <vector>

#include "compile/compile.h"
#include "step/spread.h"
#include "step/trace.h"
#include "tenon/estimator.h"

namespace tenon {

// The trace of the model function for batches of `batch_size` of these features, of which each replica gets its share. Its
// results, each the same on all replicas but for predictions: training "loss" (each step) and "stop" (until);
// evaluation "loss" and the sums of metrics, "metric/NAME/0", .. (each batch); prediction "predict/NAME".
// With `metrics` they are told what the model function measures.
using EvalMetrics = std::vector<std::pair<std::string, MetricOp>>;
Result<Trace> trace_model(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                          int64_t batch_size, Mode mode, const Spread& spread = {}, EvalMetrics* metrics = nullptr);

std::string sum_name(const std::string& metric, size_t sum);
// The names of the predictions, in the model function's order.
std::vector<std::string> prediction_names(const Graph& graph);

// The elements of all weights, moving averages among them.
int64_t count_parameters(const Graph& graph);

Spread spread_over(const Device& device, const RunConfig& config);
ProgramOptions compile_options(const RunConfig& config, int max_iterations);

}  // namespace tenon
