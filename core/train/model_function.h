// An Estimator's model function as a function of tensors.
#pragma once

#include <string>
#include <vector>

#include "compile/compile.h"
#include "step/feed/spread.h"
#include "step/trace.h"
#include "tenon/estimator.h"

namespace tenon {

// The model function as a function of tensors, for batches of these features, of which each replica gets its share. Its
// results, each the same on all replicas but for predictions: training "loss", "tensor/NAME" (each step) and "stop" (until);
// evaluation "loss" and the sums of metrics, "metric/NAME/0", .. (each batch); prediction "predict/NAME".
// With `metrics` they are told what the model function measures.
using EvalMetrics = std::vector<std::pair<std::string, MetricOp>>;
TensorFunction model_function(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                              Mode mode, const Spread& spread, EvalMetrics* metrics = nullptr);
// The model function itself on the inputs of a graph.
EstimatorSpec call_model(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                         const Features& features, Mode mode, const Spread& spread);
// How it is traced, on so many replicas.
Result<TraceOptions> model_tracing(const Params& params, Mode mode, int replicas, const BetweenReplicas& between = {});
BetweenReplicas between_replicas(const RunConfig& config);
// Its graph alone.
Result<Trace> trace_model(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                          int64_t batch_size, Mode mode, const Spread& spread = {}, bool bounded_batch = false,
                          const BetweenReplicas& between = {});

// Whether there is something to train on among them.
bool are_labelled(const std::vector<FeatureSpec>& specs);

std::string sum_name(const std::string& metric, size_t sum);
// The name of the result of one of EstimatorSpec::training_tensors.
std::string tensor_result(const std::string& name);
// Those that a training graph has, by name.
std::vector<std::string> training_tensors(const Graph& graph);
// The name of a prediction, of that of its result.
std::string prediction_name(std::string_view result);

// The elements of all weights, moving averages among them.
int64_t count_parameters(const Graph& graph);

Spread spread_over(const Device& device, const RunConfig& config);
ProgramOptions compile_options(const RunConfig& config, int max_iterations);

}  // namespace tenon
