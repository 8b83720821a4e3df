#include "train/mode_program.h"

#include <cstring>
#include <set>

#include "base/half.h"
#include "base/text.h"
#include "compile/rewrite.h"
#include "op/op.h"
#include "op/replicas.h"

namespace tenon {
namespace {

constexpr std::string_view kLabel = "label";

void expect_scalar(const Tensor& t, std::string_view what) {
  if (!t) fail("the model function gave no ", what);
  if (t.rank() != 0 || t.dtype() != DType::kF32)
    fail("the model function's ", what, " is ", t.type().str(), ", expected f32[]");
}

void add_result(Graph& graph, Tensor t, ResultMode mode, std::string name) {
  graph.results.push_back({t.id(), mode, -1, false, std::move(name)});
}

// Next values of variables that replicas would not agree on, as moving averages of their own batches, become the mean.
void agree_on_states(Graph& graph) {
  if (graph.replicas == 1) return;
  const std::vector<bool> varying = varying_values(graph);
  std::vector<size_t> which;
  Tensors next;
  for (size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& v = graph.variables[i];
    if (v.next == kAbsent || !varying[v.next]) continue;
    if (!is_float(graph.type(v.next).dtype))
      fail("variable '", v.name, "' would differ between the ", graph.replicas, " replicas and is ",
           graph.type(v.next).str(), ", expected a float, whose mean is taken");
    which.push_back(i);
    next.emplace_back(&graph, v.next);
  }
  const Tensors means = means_over_replicas(next);
  for (size_t i = 0; i < which.size(); ++i) graph.variables[which[i]].next = means[i].id();
}

void add_training_results(Graph& graph, const EstimatorSpec& spec) {
  expect_scalar(spec.loss, "loss");
  if (!spec.train_op) fail("the model function gave no train_op for training; minimize() makes one");
  const Tensor loss = mean_over_replicas(spec.loss), difference = sub(loss, loss);  // 0, or NaN where it is not finite
  add_result(graph, loss, ResultMode::kEach, "loss");
  add_result(graph, compare(difference, scalar_like(difference, 0), CompareKind::kNe), ResultMode::kUntil, "stop");
  agree_on_states(graph);
  add_state_results(graph);
}

void add_evaluation_results(ModeGraph& mode, const EstimatorSpec& spec) {
  expect_scalar(spec.loss, "loss");
  Tensors values{mean_over_replicas(spec.loss)}, parts;
  std::vector<std::string> names{"loss"};
  for (const auto& [name, metric] : spec.eval_metrics) {
    expect_scalar(metric.total, "metric total");
    expect_scalar(metric.count, "metric count");
    parts.insert(parts.end(), {metric.total, metric.count});
    names.insert(names.end(), {cat("metric/", name, "/total"), cat("metric/", name, "/count")});
    mode.metrics.push_back(name);
  }
  const Tensors sums = sums_over_replicas(parts);
  values.insert(values.end(), sums.begin(), sums.end());
  for (size_t i = 0; i < values.size(); ++i) add_result(*mode.graph, values[i], ResultMode::kEach, names[i]);
}

void add_prediction_results(ModeGraph& mode, const EstimatorSpec& spec) {
  if (spec.predictions.empty()) fail("the model function gave no predictions");
  for (const auto& [name, tensor] : spec.predictions) {
    if (!tensor) fail("the model function's prediction '", name, "' was never set");
    add_result(*mode.graph, tensor, ResultMode::kLast, cat("predict/", name));
    mode.graph->results.back().split = mode.graph->replicas > 1 && tensor.rank() > 0;
    mode.predictions.push_back(name);
  }
}

// What Keras's dtype policy of that name computes in, and keeps variables in.
void set_policy(Graph& graph, const Params& params) {
  const std::string policy = params.get<std::string>("dtype_policy", "float32");
  if (policy != "float32" && policy != "mixed_bfloat16" && policy != "bfloat16")
    fail("dtype_policy is '", policy, "', expected float32, mixed_bfloat16 or bfloat16");
  if (policy != "float32") graph.compute_dtype = DType::kBF16;
  if (policy == "bfloat16") graph.variable_dtype = DType::kBF16;
}

float as_float(DType dtype, const std::byte* p) {
  const auto read = [p](auto value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF32:
      return read(float{});
    case DType::kF64:
      return static_cast<float>(read(double{}));
    case DType::kBF16:
      return from_bf16(read(uint16_t{}));
    case DType::kF16:
      return from_f16(read(uint16_t{}));
    case DType::kI32:
      return static_cast<float>(read(int32_t{}));
    case DType::kI64:
      return static_cast<float>(read(int64_t{}));
    default:
      return static_cast<float>(read(uint8_t{}));
  }
}

}  // namespace

Spread Spread::over(const Device& device, const RunConfig& config) {
  Spread out;
  out.replicas = device.replicas();
  std::set<int> hosts;
  for (const UnitInfo& unit : device.units()) hosts.insert(unit.host);
  out.hosts = static_cast<int>(hosts.size());
  if (config.tpu) out.input = config.tpu->per_host_input_for_training;
  return out;
}

int Spread::pipelines() const {
  switch (input) {
    case InputPipelineConfig::kPerShardV1:
      return replicas;
    case InputPipelineConfig::kPerHostV1:
    case InputPipelineConfig::kPerHostV2:
      return hosts;
    default:
      return 1;
  }
}

Status Spread::check_batch(int64_t batch_size, Mode mode) const {
  if (batch_size % replicas == 0) return {};
  const char* name = mode == Mode::kTrain ? "train" : mode == Mode::kEval ? "eval" : "predict";
  return invalid(name, " batch size ", batch_size, " must be divisible by number of replicas ", replicas);
}

int64_t Spread::params_batch_size(int64_t batch_size) const {
  switch (input) {
    case InputPipelineConfig::kPerShardV1:
    case InputPipelineConfig::kPerHostV2:
      return batch_size / replicas;
    case InputPipelineConfig::kPerHostV1:
      return batch_size / hosts;
    default:
      return batch_size;
  }
}

Result<ModeGraph> build_mode_graph(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                                   int64_t batch_size, Mode mode, const Spread& spread) {
  TENON_TRY(spread.check_batch(batch_size, mode));
  try {
    ModeGraph out;
    out.graph = std::make_unique<Graph>();
    out.graph->replicas = spread.replicas;
    set_policy(*out.graph, params);
    Features features;
    Tensor labels;
    for (const FeatureSpec& spec : specs) {
      const Type share = spec.batch_type(batch_size / spread.replicas);
      const Tensor t(out.graph.get(), out.graph->add_input(share, Role::kFeed, spec.name));
      out.graph->inputs.back().split = true;
      if (spec.name == kLabel)
        labels = t;
      else
        features.set(spec.name, is_float(t.dtype()) ? cast(t, out.graph->compute_dtype) : t);
    }
    Params with_batch = params;
    with_batch.set("batch_size", spread.params_batch_size(batch_size));
    const EstimatorSpec spec = model(features, labels, mode, with_batch);
    if (mode == Mode::kTrain) add_training_results(*out.graph, spec);
    if (mode == Mode::kEval) add_evaluation_results(out, spec);
    if (mode == Mode::kPredict) {
      add_prediction_results(out, spec);
      *out.graph = prune_inputs(*out.graph, true);
    }
    out.indices = index_ranges(*out.graph);
    return out;
  } catch (const Error& e) {
    return e.status();
  } catch (const std::exception& e) {
    return invalid("the model function threw: ", e.what());
  }
}

CompileOptions compile_options(const RunConfig& config, int max_iterations) {
  CompileOptions options;
  options.deterministic = config.deterministic;
  options.trace = config.trace;
  options.max_iterations = max_iterations;
  if (config.soft_placement) options.settings = "soft_placement=1";
  return options;
}

Result<std::unique_ptr<ModeProgram>> ModeProgram::create(ModeGraph graph, const std::shared_ptr<Device>& device,
                                                         const RunConfig& config, int max_iterations) {
  TENON_ASSIGN(Executable executable, compile(*graph.graph, device, compile_options(config, max_iterations)));
  std::unique_ptr<ModeProgram> program(new ModeProgram(std::move(executable)));
  program->mode_graph_ = std::move(graph);
  TENON_TRY(program->allocate_results());
  program->set_scalars(config.seed);
  return program;
}

Status ModeProgram::allocate_results() {
  const Graph& graph = executable_.graph;
  for (size_t r = 0; r < graph.results.size(); ++r) {
    Buffer buffer;
    if (graph.results[r].alias < 0) {
      Type type = joined_type(graph, graph.results[r].value, graph.results[r].split);
      if (graph.results[r].mode == ResultMode::kEach) {
        std::vector<int64_t> dims = type.shape.vec();
        dims.insert(dims.begin(), executable_.max_iterations);
        type.shape = Shape(dims);
      }
      TENON_ASSIGN(buffer, executable_.device->allocate(type, true, graph.results[r].split));
      launch_.set_result(static_cast<int>(r), buffer);
    }
    results_.push_back(std::move(buffer));
  }
  return {};
}

void ModeProgram::set_scalars(uint64_t seed) {
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role != Role::kScalar) continue;
    for (int k = 0; k < executable_.max_iterations; ++k) {
      if (graph.inputs[i].name == "seed")
        launch_.set_scalar(k, executable_.slot[i], static_cast<int64_t>(seed));
      else if (is_float(graph.type(graph.inputs[i].value).dtype))
        launch_.set_scalar(k, executable_.slot[i], graph.inputs[i].scalar);
      else
        launch_.set_scalar(k, executable_.slot[i], static_cast<int64_t>(graph.inputs[i].scalar));
    }
  }
}

void ModeProgram::bind(const StateStore& states) {
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kState)
      launch_.set_input(executable_.slot[i], states.buffer(graph.inputs[i].name));
  for (size_t r = 0; r < graph.results.size(); ++r)
    if (const int alias = graph.results[r].alias; alias >= 0)
      launch_.set_result(static_cast<int>(r), states.buffer(graph.inputs[alias].name));
}

void ModeProgram::bind_feeds(const std::vector<const Buffer*>& feeds) {
  size_t next = 0;
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kFeed) launch_.set_input(executable_.slot[i], *feeds[next++]);
}

const Type& ModeProgram::result_type(std::string_view result) const {
  return executable_.graph.type(executable_.graph.results[executable_.find_result(result)].value);
}

Status ModeProgram::read_rows(Queue& queue, std::string_view result, uint32_t n, std::vector<float>& out) const {
  out.resize(n);
  return queue.read(results_[executable_.find_result(result)], out.data(), n * sizeof(float));
}

Status ModeProgram::read_floats(Queue& queue, std::string_view result, std::vector<float>& out) const {
  const Buffer& buffer = results_[executable_.find_result(result)];
  const Type& type = buffer.type();
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  TENON_TRY(queue.read(buffer, bytes.data(), bytes.size()));
  const auto size = static_cast<size_t>(dtype_bytes(type.dtype));
  out.resize(bytes.size() / size);
  for (size_t i = 0; i < out.size(); ++i) out[i] = as_float(type.dtype, &bytes[i * size]);
  return {};
}

}  // namespace tenon
