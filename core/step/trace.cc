#include "step/trace.h"

#include <algorithm>

#include "base/strings.h"
#include "compile/rewrite.h"
#include "op/op.h"
#include "op/replicas.h"
#include "tenon/variables.h"

namespace tenon {
namespace {

InputAxis axis_of_all_units(const Graph& graph, const GraphInput& input, int axis) {
  const int64_t size = graph.type(input.value).shape[axis];
  return {input.name, axis, axis == 0 && input.split ? size * graph.replicas : size};
}

// The dimension of that name, made when it is not there yet.
int dynamic_dim(Graph& graph, const std::string& name, int64_t bound, const InputAxis& from) {
  for (size_t i = 0; i < graph.dynamic_dims.size(); ++i)
    if (graph.dynamic_dims[i].name == name) return static_cast<int>(i);
  const ValueId size = graph.named_input({DType::kI32, {}}, Role::kScalar, size_input(name));
  graph.inputs.back().scalar = static_cast<double>(bound);
  graph.dynamic_dims.push_back({name, bound, size, from});
  return static_cast<int>(graph.dynamic_dims.size()) - 1;
}

void set_dims(Graph& graph, GraphInput input, const std::map<int, std::string>& dims) {
  Bounds bounds = graph.bounds(input.value);
  for (int axis = 0; axis < static_cast<int>(bounds.size()); ++axis) {
    const int64_t bound = graph.type(input.value).shape[axis];
    const InputAxis from = axis_of_all_units(graph, input, axis);
    const auto dynamic = dims.find(axis);
    int dim = fixed_dim(graph.fixed_axes.size());
    if (dynamic != dims.end())
      dim = dynamic_dim(graph, dynamic->second, bound, from);
    else
      graph.fixed_axes.push_back(from);
    if (bound > 1) bounds[static_cast<size_t>(axis)] = {{bound, dim}};
  }
  graph.set_bounds(input.value, std::move(bounds));
}

Features make_inputs(Graph& graph, const std::vector<TraceInput>& inputs) {
  Features features;
  const bool dynamic = std::any_of(inputs.begin(), inputs.end(), [](const TraceInput& i) { return !i.dims.empty(); });
  for (const TraceInput& input : inputs) {
    const ValueId id = graph.add_input(input.type, Role::kFeed, input.name);
    graph.inputs.back().split = input.split;
    if (dynamic) set_dims(graph, graph.inputs.back(), input.dims);
    features.set(input.name, Tensor(&graph, id));
  }
  return features;
}

void check_output(const Graph& graph, const std::string& name, const OutputValue& value, std::string_view what) {
  if (!value.tensor) fail(what, " gave '", name, "', ", value.tensor.absence());
  if (!value.tensor.is_of(graph)) fail(what, " gave '", name, "', ", foreign_text(value.tensor));
  if (value.mode == ResultMode::kUntil && !(value.tensor.type() == Type{DType::kBool, {}}))
    fail(what, " gave '", name, "' to stop by, which is ", value.tensor.type().str(), ", expected bool[]");
}

// The dynamic axes of a result; a function cannot give what ends in several places.
std::map<int, std::string> result_dims(const Graph& graph, const std::string& name, Tensor x, std::string_view what) {
  std::map<int, std::string> out;
  if (graph.undefined.count(x.id()) != 0)
    fail(what, " gave '", name, "', the state after the last of a dynamic number of steps");
  const Bounds bounds = graph.bounds(x.id());
  for (size_t a = 0; a < bounds.size(); ++a) {
    if (!is_dynamic(bounds[a])) continue;
    if (bounds[a].size() > 1)
      fail(what, " gave '", name, "', ", graph.type_text(x.id()), ", whose dimension ", a,
           " is a dynamic one and another in one; reshape takes them apart");
    out[static_cast<int>(a)] = graph.dynamic_dims[static_cast<size_t>(bounds[a][0].dim)].name;
  }
  return out;
}

void expect_static_variables(const Graph& graph) {
  for (const Variable& v : graph.variables)
    if (v.next != kAbsent && graph.is_dynamic(v.next))
      fail("variable '", v.name, "' was assigned ", graph.type_text(v.next), ", which has a dynamic dimension");
}

// What the units' parts of a result are as one, as Joining says.
class Joiner {
 public:
  Joiner(Graph& graph, const TraceOptions& options, std::vector<TracedResult>& traced)
      : graph_(graph), options_(options), traced_(traced), varying_(varying_values(graph)) {}

  void add(const std::string& name, const OutputValue& value) {
    Tensor x = value.tensor;
    const bool several = graph_.replicas > 1, varies = several && varying_[static_cast<size_t>(x.id())];
    const bool rows = several && x.rank() > 0 && (varies || value.joining == Joining::kRows);
    if (varies && x.rank() == 0) x = joined(name, x);
    traced_.push_back({rows, value.mode == ResultMode::kEach, result_dims(graph_, name, x, options_.what)});
    if (!rows || value.mode != ResultMode::kEach) return push(name, x, value.mode, rows);
    if (options_.one_step) return push(name, x, ResultMode::kLast, true);
    push(name, all_gather(x, 0), ResultMode::kEach, false);  // devices keep the steps of what is the same on all units
  }

 private:
  void push(const std::string& name, Tensor x, ResultMode mode, bool split) {
    graph_.results.push_back({x.id(), mode, -1, split, name});
  }

  Tensor joined(const std::string& name, Tensor x) const {
    if (is_float(x.dtype())) return mean_over_replicas(x);
    fail(options_.what, " gave '", name, "', ", x.type().str(), ", which would differ between the ", graph_.replicas,
         " units; expected a float, whose mean is taken, or one value for each example");
  }

  Graph& graph_;
  const TraceOptions& options_;
  std::vector<TracedResult>& traced_;
  std::vector<bool> varying_;
};

std::vector<TracedResult> add_results(Graph& graph, const Outputs& outputs, const TraceOptions& options) {
  const std::string_view what = options.what;
  for (const auto& [name, value] : outputs.all()) check_output(graph, name, value, what);
  for (size_t i = 0; i < outputs.all().size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (outputs.all()[i].first == outputs.all()[k].first)
        fail(what, " gave two results '", outputs.all()[i].first, "'");
  std::vector<TracedResult> traced;
  Joiner joiner(graph, options, traced);
  for (const auto& [name, value] : outputs.all()) joiner.add(name, value);
  return traced;
}

// A step that drew is counted, where no optimizer does.
void count_draws(Graph& graph) {
  const Variable* draws = graph.find_variable(graph.draws_by);
  if (!draws || draws->kind != VariableKind::kCounter || graph.draws_by == "global_step") return;
  const Tensor now(&graph, graph.inputs[static_cast<size_t>(draws->input)].value);
  assign(now, now + scalar_like(now, 1));
}

// Next values of variables that replicas would not agree on become the mean.
void agree_on_states(Graph& graph) {
  if (graph.replicas == 1) return;
  const std::vector<bool> varying = varying_values(graph);
  std::vector<size_t> which;
  Tensors next;
  for (size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& v = graph.variables[i];
    if (v.next == kAbsent || !varying[v.next] || v.dealt || graph.agreed.count(static_cast<int>(i)) > 0) continue;
    if (!is_float(graph.type(v.next).dtype))
      fail("variable '", v.name, "' would differ between the ", graph.replicas, " replicas and is ",
           graph.type(v.next).str(), ", expected a float, whose mean is taken");
    which.push_back(i);
    next.emplace_back(&graph, v.next);
  }
  const Tensors means = means_over_replicas(next);
  for (size_t i = 0; i < which.size(); ++i) graph.variables[which[i]].next = means[i].id();
}

bool names_a_size(const std::string& message) {
  for (size_t at = message.find('['); at != std::string::npos; at = message.find('[', at + 1))
    if (const char next = message[at + 1]; next == '<' || (next >= '0' && next <= '9')) return true;
  return false;
}

// What of the message is a shape is one of a unit, and the user gave that of all.
Status of_all_units(const Status& status, const std::vector<TraceInput>& inputs, int replicas) {
  const auto shared = std::find_if(inputs.begin(), inputs.end(), [](const TraceInput& i) { return i.split; });
  if (replicas == 1 || shared == inputs.end() || !names_a_size(status.message())) return status;
  Type whole = shared->type;
  whole.shape.set(0, whole.shape[0] * replicas);
  return Status(status.code(), cat(status.message(), " (on each of ", replicas, " units, where input '", shared->name,
                                   "' is ", shared->type.str(), " of ", whole.str(), ")"));
}

}  // namespace

Result<Policy> Policy::named(std::string_view name) {
  if (name == "float32") return Policy{};
  if (name == "mixed_bfloat16") return Policy{DType::kBF16, DType::kF32};
  if (name == "mixed_float16") return Policy{DType::kF16, DType::kF32};
  if (name == "bfloat16") return Policy{DType::kBF16, DType::kBF16};
  return invalid("dtype_policy is '", name, "', expected float32, mixed_bfloat16, mixed_float16 or bfloat16");
}

Status check_between(const BetweenReplicas& between, std::string_view owner) {
  if (between.all_reduce_dtype == DType::kNone || between.all_reduce_dtype == DType::kBF16) return {};
  return invalid(owner, ".all_reduce_dtype is ", dtype_name(between.all_reduce_dtype), ", expected bf16, or none");
}

std::vector<TraceInput> batch_inputs(const std::vector<FeatureSpec>& features, int64_t batch_size, int replicas,
                                     bool dynamic) {
  std::vector<TraceInput> out;
  for (const FeatureSpec& spec : features) {
    out.push_back({spec.name, spec.batch_type(batch_size / replicas), true, {}});
    if (dynamic) out.back().dims[spec.batch_minor ? spec.type.shape.rank() : 0] = "batch";
  }
  return out;
}

std::string size_input(const std::string& dim) { return cat("size of ", dim); }

std::vector<TraceInput> whole_inputs(const std::vector<FeatureSpec>& features, int64_t rows) {
  std::vector<TraceInput> out;
  for (const FeatureSpec& spec : features) out.push_back({spec.name, spec.batch_type(rows), false, {}});
  return out;
}

Result<Trace> trace(const TensorFunction& function, const std::vector<TraceInput>& inputs,
                    const TraceOptions& options) {
  try {
    Trace out;
    out.graph = std::make_unique<Graph>();
    Graph& graph = *out.graph;
    graph.replicas = options.replicas;
    graph.between = options.between;
    graph.mode = options.mode;
    graph.draws_by = options.draws_by;
    graph.same_draws = options.same_draws;
    if (options.objects) graph.objects = options.objects;
    graph.compute_dtype = options.policy.compute;
    graph.variable_dtype = options.policy.variable;
    graph.casts_inputs = options.casts_inputs;
    const Building building(graph);
    const Outputs outputs = function(make_inputs(graph, inputs));
    count_draws(graph);
    out.results = add_results(graph, outputs, options);
    expect_static_variables(graph);
    out.watched = add_watches(graph);
    agree_on_states(graph);
    add_state_results(graph);
    if (options.mode == Mode::kPredict) graph = prune_inputs(graph, true);
    out.indices = index_ranges(graph);
    graph.serial.renew();  // a tensor that the function kept is of none
    return out;
  } catch (const Error& e) {
    return of_all_units(e.status(), inputs, options.replicas);
  } catch (const std::exception& e) {
    return invalid(options.what, " threw: ", e.what());
  }
}

}  // namespace tenon
