#include "train/model_function.h"

#include <algorithm>

#include "base/strings.h"
#include "op/op.h"
#include "op/replicas.h"
#include "step/program.h"
#include "train/export/export_outputs.h"

namespace tenon {
namespace {

constexpr std::string_view kLabel = "label", kPredict = "predict/", kTensor = "tensor/";

void expect_scalar(const Tensor& t, std::string_view what) {
  if (!t) fail("the model function gave no ", what);
  if (t.rank() != 0 || t.dtype() != DType::kF32)
    fail("the model function's ", what, " is ", t.type().str(), ", expected f32[]");
}

void expect_sums(const std::string& name, const MetricOp& metric) {
  if (metric.sums.size() < (metric.result || metric.several ? 1 : 2))
    fail("the model function's metric '", name, "' has ", metric.sums.size(), " sums, expected a total and a count");
  for (const Tensor& sum : metric.sums)
    if (!sum || sum.dtype() != DType::kF32)
      fail("the model function's metric '", name, "' has a sum ", sum ? sum.type().str() : "that was never set",
           ", expected f32");
}

// One of the training_tensors.
Tensor as_number(const std::string& name, const Tensor& t) {
  if (name.empty() || name == "loss") fail("the model function's training tensor '", name, "': expected another name");
  if (!t) fail("the model function's training tensor '", name, "' was never set");
  if (t.rank() != 0) fail("the model function's training tensor '", name, "' is ", t.type().str(), ", expected rank 0");
  return cast(t, DType::kF32);
}

Outputs training_outputs(const EstimatorSpec& spec) {
  expect_scalar(spec.loss, "loss");
  if (!spec.train_op) fail("the model function gave no train_op for training; minimize() makes one");
  // The units' means, by one exchange.
  Tensors watched{spec.loss};
  for (const auto& [name, tensor] : spec.training_tensors) watched.push_back(as_number(name, tensor));
  watched = means_over_replicas(watched);
  const Tensor loss = watched[0], difference = sub(loss, loss);  // 0, or NaN where it is not finite
  Outputs out{{"loss", each(loss)}};
  for (size_t i = 1; i < watched.size(); ++i)
    out.add(tensor_result(spec.training_tensors[i - 1].first), each(watched[i]));
  out.add("stop", until(compare(difference, scalar_like(difference, 0), CompareKind::kNe)));
  return out;
}

Outputs evaluation_outputs(const EstimatorSpec& spec) {
  expect_scalar(spec.loss, "loss");
  const Tensor loss = mean_over_replicas(spec.loss);
  Tensors parts;
  for (const auto& [name, metric] : spec.eval_metrics) {
    expect_sums(name, metric);
    parts.insert(parts.end(), metric.sums.begin(), metric.sums.end());
  }
  const Tensors sums = sums_over_replicas(parts);
  Outputs out{{"loss", loss}};
  size_t next = 0;
  for (const auto& [name, metric] : spec.eval_metrics)
    for (size_t i = 0; i < metric.sums.size(); ++i) out.add(sum_name(name, i), sums[next++]);
  return out;
}

Outputs prediction_outputs(const EstimatorSpec& spec) {
  if (spec.predictions.empty()) fail("the model function gave no predictions");
  (void)export_outputs(spec);  // throws where they are wrong
  Outputs out;
  for (const auto& [name, tensor] : spec.predictions) {
    if (!tensor) fail("the model function's prediction '", name, "' was never set");
    out.add(cat(kPredict, name), {tensor, ResultMode::kLast, Joining::kRows});
  }
  return out;
}

Outputs outputs_of(const EstimatorSpec& spec, Mode mode) {
  if (mode == Mode::kTrain) return training_outputs(spec);
  return mode == Mode::kEval ? evaluation_outputs(spec) : prediction_outputs(spec);
}

// The model gets its float features in what it computes in.
EstimatorSpec call(const ModelFn& model, const std::vector<FeatureSpec>& specs, const Features& given, Mode mode,
                   const Params& params) {
  Features features;
  Tensor labels;
  for (const FeatureSpec& spec : specs) {
    const Tensor t = given[spec.name];
    if (spec.name == kLabel)
      labels = t;
    else
      features.set(spec.name, is_float(t.dtype()) ? cast(t, t.graph()->compute_dtype) : t);
  }
  return model(features, labels, mode, params);
}

// Examples of a batch on one replica.
int64_t batch_of(const Features& features, const std::vector<FeatureSpec>& specs) {
  return features[specs.at(0).name].dim(specs[0].batch_minor ? -1 : 0);
}

}  // namespace

EstimatorSpec call_model(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                         const Features& features, Mode mode, const Spread& spread) {
  Params with_batch = params;
  with_batch.set("batch_size", spread.params_batch_size(batch_of(features, specs) * spread.replicas));
  return call(model, specs, features, mode, with_batch);
}

TensorFunction model_function(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                              Mode mode, const Spread& spread, EvalMetrics* metrics) {
  return [=](const Features& features) {
    const EstimatorSpec spec = call_model(model, params, specs, features, mode, spread);
    if (metrics) *metrics = spec.eval_metrics;
    return outputs_of(spec, mode);
  };
}

Result<TraceOptions> model_tracing(const Params& params, Mode mode, int replicas, const BetweenReplicas& between) {
  TENON_ASSIGN(const Policy policy, Policy::named(params.get<std::string>("dtype_policy", "float32")));
  return TraceOptions{
      .mode = mode, .replicas = replicas, .policy = policy, .between = between, .what = "the model function"};
}

Result<Trace> trace_model(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                          int64_t batch_size, Mode mode, const Spread& spread, bool bounded_batch,
                          const BetweenReplicas& between) {
  TENON_TRY(spread.check_batch(batch_size, mode));
  TENON_ASSIGN(const TraceOptions tracing, model_tracing(params, mode, spread.replicas, between));
  return trace(model_function(model, params, specs, mode, spread),
               batch_inputs(specs, batch_size, spread.replicas, bounded_batch), tracing);
}

bool are_labelled(const std::vector<FeatureSpec>& specs) {
  return std::any_of(specs.begin(), specs.end(), [](const FeatureSpec& s) { return s.name == kLabel; });
}

std::string sum_name(const std::string& metric, size_t sum) { return cat("metric/", metric, "/", sum); }

std::string tensor_result(const std::string& name) { return cat(kTensor, name); }

std::vector<std::string> training_tensors(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& r : graph.results)
    if (r.name.starts_with(kTensor)) names.push_back(r.name.substr(kTensor.size()));
  return names;
}

std::string prediction_name(std::string_view result) { return std::string(result.substr(kPredict.size())); }

int64_t count_parameters(const Graph& graph) {
  int64_t count = 0;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::kWeight) count += graph.type(graph.inputs[v.input].value).shape.elements();
  return count;
}

BetweenReplicas between_replicas(const RunConfig& config) {
  return {config.all_reduce_dtype, config.shard_optimizer_state};
}

Spread spread_over(const Device& device, const RunConfig& config) {
  return Spread::over(device, config.tpu ? config.tpu->per_host_input_for_training : InputPipelineConfig::kPerHostV1);
}

ProgramOptions compile_options(const RunConfig& config, int max_iterations) {
  ProgramOptions options;
  options.deterministic = config.deterministic;
  options.trace = config.trace;
  options.max_iterations = max_iterations;
  options.soft_placement = config.soft_placement;
  return options;
}

}  // namespace tenon
