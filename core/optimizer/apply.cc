// What is done around the update of each variable: gradients become those that it takes, and what it gave is kept or not.
#include <algorithm>
#include <map>

#include "base/named_throw.h"
#include "base/strings.h"
#include "op/rules.h"
#include "optimizer/averages.h"
#include "optimizer/constrained_update.h"
#include "optimizer/loss_scale.h"
#include "optimizer/update.h"

namespace tenon {
namespace {

constexpr size_t kMostNames = 4;  // in a message

Tensor learning_rate_tensor(Graph& graph, const LearningRate& rate, Tensor calls, const std::string& name) {
  if (rate.is_variable()) return own_slot(graph, name, {DType::kF32, {}}, rate.initial());
  if (rate.is_fixed()) {
    const ValueId id = graph.named_input({DType::kF32, {}}, Role::kScalar, name);
    graph.inputs[graph.values[id].index].scalar = rate.fixed();
    return Tensor(&graph, id);
  }
  const Tensor steps = cast(calls, DType::kF32);
  const Tensor lr = named_throw([&] { return rate(steps); }, [] { return "the learning rate schedule"; });
  if (!(lr.type() == Type{DType::kF32, {}})) fail("learning rate schedule gave ", lr.type().str(), ", expected f32[]");
  return lr;
}

// min(1, limit / norm), 1 for a zero norm; an f32 scalar, as updates take it.
Tensor clip_scale(Tensor norm, double limit) {
  return cast(div(scalar_like(norm, limit), maximum(norm, scalar_like(norm, limit))), DType::kF32);
}

// a b, where either may be absent and counts as 1.
Tensor product(Tensor a, Tensor b) { return a && b ? mul(a, b) : a ? a : b; }

// a and b, where either may be absent and counts as true.
Tensor both(Tensor a, Tensor b) { return a && b ? minimum(a, b) : a ? a : b; }

struct Trained {
  int variable;
  Tensor value, gradient;
  std::optional<Dealt> dealt = {};  // where a replica updates a part
  bool has_part = false;            // the gradient is that part's
};

Tensors gradients_of(const std::vector<Trained>& all) {
  Tensors out;
  for (const Trained& t : all) out.push_back(t.gradient);
  return out;
}

class Applier {
 public:
  Applier(Graph& graph, const Optimizer& optimizer)
      : graph_(graph), optimizer_(optimizer), options_(optimizer.options), names_(graph, optimizer) {}

  void update_all(std::vector<Trained> all) {
    calls_ = own_counter(graph_, names_);
    updates_ = updates_of(options_, calls_);
    lr_ = learning_rate_tensor(graph_, optimizer_.learning_rate, calls_, names_.of("learning_rate"));
    deal(all);
    if (optimizer_.cross_shard || graph_.replicas > 1) sum_over_replicas(all);
    unscale(all);
    if (options_.gradient_accumulation_steps > 1) accumulate(all);
    const Tensor scale = global_scale(all);
    for (Trained& t : all) update(t, scale);
    assign(calls_, gated(finite_, add(calls_, scalar_like(calls_, 1)), calls_));
  }

 private:
  const std::string& name_of(const Trained& t) const { return graph_.variables[static_cast<size_t>(t.variable)].name; }

  void deal(std::vector<Trained>& all) const {
    if (graph_.between.shard_optimizer_state && graph_.replicas > 1 && optimizer_.averages_itself)
      fail_at_parts(optimizer_.name, "its averages are what is evaluated");
    for (Trained& t : all)
      if (Dealt::deals(graph_, t.value.shape())) t.dealt.emplace(graph_, t.value.shape());
  }

  // Whether something is made of all of a gradient's elements.
  bool needs_whole_gradients() const {
    return options_.clipnorm > 0 || options_.global_clipnorm > 0 || optimizer_.loss_scale;
  }

  // Gradients become sums, and scale_ has what makes a mean of a sum: the updates' scale does it without a pass.
  void sum_over_replicas(std::vector<Trained>& all) {
    Tensors sent;
    const std::string origin = graph_.origin;
    for (Trained& t : all) {
      graph_.origin = name_of(t);
      t.has_part = t.dealt && !needs_whole_gradients();
      if (t.has_part)
        t.gradient = cast(t.dealt->sum(as_sent(t.gradient)), t.gradient.dtype());
      else
        sent.push_back(as_sent(t.gradient));
    }
    graph_.origin = origin;
    const Tensors sums = sent.empty() ? Tensors() : all_reduce(sent, ReduceKind::kSum);
    size_t next = 0;
    for (Trained& t : all)
      if (!t.has_part) t.gradient = cast(sums[next++], t.gradient.dtype());
    scale_ = full(graph_, DType::kF32, {}, 1.0 / graph_.replicas);
  }

  // What a gradient is on its way between replicas.
  Tensor as_sent(Tensor gradient) const {
    const DType to = graph_.between.all_reduce_dtype;
    const bool narrows = to != DType::kNone && graph_.replicas > 1 && dtype_bytes(gradient.dtype()) > dtype_bytes(to);
    return narrows ? cast(gradient, to) : gradient;
  }

  void unscale(const std::vector<Trained>& all) {
    if (options_.loss_scale_factor > 0)
      scale_ = product(scale_, full(graph_, DType::kF32, {}, 1 / options_.loss_scale_factor));
    if (!optimizer_.loss_scale) return;
    const DynamicLossScale loss_scale(graph_, names_, *optimizer_.loss_scale);
    gate_ = finite_ = all_finite(gradients_of(all));
    scale_ = product(scale_, 1.0 / loss_scale.scale());
    loss_scale.adjust(finite_);
  }

  // Gradients become the mean of this call's and those before it, and updates are made in each n-th call.
  void accumulate(std::vector<Trained>& all) {
    const int n = options_.gradient_accumulation_steps;
    const Tensor due = is_multiple(add(calls_, scalar_like(calls_, 1)), n);
    for (Trained& t : all) {
      graph_.origin = name_of(t);
      Tensor g = widened(t.gradient);
      if (scale_) g = mul(g, cast(scale_, g.dtype()));
      const std::string slot = names_.slot(name_of(t), "gradient_accumulator");
      const Tensor before =
          t.has_part ? own_dealt_slot(graph_, slot, g.dtype(), *t.dealt, 0) : own_slot(graph_, slot, g.type(), 0);
      const Tensor sum = add(before, g);
      assign(before, gated(finite_, select(due, scalar_like(sum, 0), sum), before));
      t.gradient = cast(div(sum, scalar_like(sum, n)), t.gradient.dtype());
    }
    scale_ = {};
    gate_ = both(gate_, due);
  }

  // What the norm of gradients is once they are scaled.
  Tensor scaled(Tensor norm) const { return scale_ ? mul(norm, cast(scale_, norm.dtype())) : norm; }

  Tensor global_scale(const std::vector<Trained>& all) const {
    if (options_.global_clipnorm <= 0) return scale_;
    return product(scale_, clip_scale(scaled(global_norm(gradients_of(all))), options_.global_clipnorm));
  }

  // The learning rate of a variable.
  Tensor rate_of(const std::string& name) {
    for (const auto& [pattern, multiplier] : options_.learning_rate_multipliers) {
      if (!any_found({pattern}, name, cat(optimizer_.name, ": learning_rate_multipliers"))) continue;
      Tensor& rate = multiplied_[multiplier];
      if (!rate) rate = mul(lr_, scalar_like(lr_, multiplier));
      return rate;
    }
    return lr_;
  }

  void update(const Trained& t, Tensor scale) {
    Update::Inside in{.graph = graph_,
                      .names = names_,
                      .optimizer = optimizer_.name,
                      .name = name_of(t),
                      .value = t.value,
                      .gradient = t.gradient,
                      .rate = rate_of(name_of(t)),
                      .step = updates_,
                      .scale = scale,
                      .gate = gate_};
    graph_.origin = in.name;
    clip(in);
    if (t.dealt) take_part(in, t);
    decay(in);
    Update update(in);
    const size_t first = graph_.nodes.size();
    named_throw([&] { optimizer_.update(update); },
                [&] { return cat(optimizer_.name, ": the update of '", in.name, "'"); });
    if (!in.next) fail(optimizer_.name, ": the update of '", in.name, "' assigns no next value to it");
    if (t.dealt) expect_pointwise(graph_, first, optimizer_.name);
    assign(t.value, t.dealt ? t.dealt->joined(in.next) : in.next);
    if (options_.use_ema && !optimizer_.averages_itself)
      move_average(graph_, names_, options_, t.variable, updates_, gate_);
    constrain(t);
  }

  void take_part(Update::Inside& in, const Trained& t) const {
    in.dealt = &*t.dealt;
    in.value = t.dealt->own(in.value);
    if (!t.has_part) in.gradient = t.dealt->own(in.gradient);
  }

  void clip(Update::Inside& in) const {
    if (options_.clipvalue > 0) {
      if (scale_) in.gradient = mul(in.gradient, cast(scale_, in.gradient.dtype()));
      in.gradient = clamp(in.gradient, -options_.clipvalue, options_.clipvalue);
      in.scale = {};
    }
    if (options_.clipnorm > 0)
      in.scale = product(scale_, clip_scale(scaled(global_norm({in.gradient})), options_.clipnorm));
  }

  void decay(Update::Inside& in) const {
    in.decays =
        !any_found(options_.exclude_from_weight_decay, in.name, cat(optimizer_.name, ": exclude_from_weight_decay"));
    if (!in.decays || options_.weight_decay <= 0) return;
    const Tensor p = in.value, rate = cast(mul(in.rate, scalar_like(in.rate, options_.weight_decay)), p.dtype());
    in.value = gated(gate_, sub(p, mul(p, rate)), p);
  }

  void constrain(const Trained& t) const {
    const Tensor next(&graph_, graph_.variables[static_cast<size_t>(t.variable)].next);
    const Tensor kept = constrained(graph_, t.variable, next);
    if (kept.id() != next.id()) assign(t.value, gated(gate_, kept, next));
  }

  Graph& graph_;
  const Optimizer& optimizer_;
  const OptimizerOptions& options_;
  OptimizerNames names_;
  Tensor calls_, updates_, lr_;
  std::map<double, Tensor> multiplied_;  // the learning rate times that
  Tensor scale_, finite_, gate_;         // absent: 1, true, true
};

Trained checked(const Optimizer& optimizer, Tensor gradient, Tensor variable) {
  Graph& graph = *variable.graph();
  const int index = variable_index(optimizer.name, variable);
  const std::string& name = graph.variables[static_cast<size_t>(index)].name;
  if (!gradient.is_of(graph)) fail(optimizer.name, ": the gradient of '", name, "' is ", foreign_text(gradient));
  if (!(gradient.type() == variable.type()))
    fail(optimizer.name, ": the gradient of '", name, "' is ", gradient.type().str(), ", expected ",
         variable.type().str());
  return {index, current(variable), gradient};
}

std::string without_gradient_text(const std::string& optimizer, const Tensors& variables) {
  if (variables.empty()) return "there are no variables to train";
  std::vector<std::string> names;
  for (const Tensor& v : variables)
    names.push_back(cat("'", v.graph()->variables[static_cast<size_t>(variable_index(optimizer, v))].name, "'"));
  return cat(names.size() > 1 ? "none of " : "", join_first(names, kMostNames), " has ", names.size() > 1 ? "a" : "no",
             " gradient: the loss does not depend on ", names.size() > 1 ? "them" : "it");
}

}  // namespace

void Optimizer::apply(const Tensors& gradients, const Tensors& variables) const {
  if (!update) fail("an optimizer is applied that was never set");
  if (gradients.size() != variables.size())
    fail(name, ": ", gradients.size(), " gradients are given for ", variables.size(), " variables");
  std::vector<Trained> all;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!variables[i]) fail(name, ": variable ", i, " was never set");
    if (gradients[i]) all.push_back(checked(*this, gradients[i], variables[i]));
  }
  if (all.empty()) fail(name, ": ", without_gradient_text(name, variables));
  Graph& graph = *variables[0].graph();
  const Updating updating(graph, *this);
  Applier(graph, *this).update_all(std::move(all));
}

Tensor Optimizer::iterations(Graph& graph) const {
  const Updating updating(graph, *this);
  return own_counter(graph, OptimizerNames(graph, *this));
}

Tensor Optimizer::current_learning_rate(Graph& graph) const {
  const Updating updating(graph, *this);
  const OptimizerNames names(graph, *this);
  return learning_rate_tensor(graph, learning_rate, own_counter(graph, names), names.of("learning_rate"));
}

std::string Optimizer::learning_rate_name(Graph& graph) const {
  return OptimizerNames(graph, *this).of("learning_rate");
}

}  // namespace tenon
