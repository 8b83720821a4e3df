// Gradients, clipping and one update op a variable.
#include "autodiff/gradient.h"
#include "base/text.h"
#include "graph/graph.h"
#include "op/rules.h"
#include "tenon/optimizers.h"

namespace tenon {
namespace {

Tensor learning_rate_tensor(Graph& graph, const LearningRate& rate) {
  if (rate.is_fixed()) {
    const ValueId id = graph.named_input({DType::kF32, {}}, Role::kScalar, "learning_rate");
    graph.inputs[graph.values[id].index].scalar = rate.fixed();
    return Tensor(&graph, id);
  }
  const Tensor lr = rate(cast(global_step(graph), DType::kF32));
  if (!(lr.type() == Type{DType::kF32, {}})) fail("learning rate schedule gave ", lr.type().str(), ", expected f32[]");
  return lr;
}

// min(1, limit / norm), 1 for a zero norm; an f32 scalar, as updates take it.
Tensor clip_scale(Tensor norm, double limit) {
  return cast(div(scalar_like(norm, limit), maximum(norm, scalar_like(norm, limit))), DType::kF32);
}

// a b, where either may be absent and counts as 1.
Tensor product(Tensor a, Tensor b) { return a && b ? mul(a, b) : a ? a : b; }

struct Trained {
  int variable;
  Tensor value, gradient;
};

std::vector<Trained> trainable(const Tensors& values, const Tensors& grads, const std::vector<int>& which) {
  std::vector<Trained> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (grads[i]) out.push_back({which[i], values[i], grads[i]});
  if (out.empty()) fail("minimize: the loss depends on no trainable variable");
  return out;
}

Tensor add_slot(Graph& graph, const std::string& owner, const std::string& name, const Shape& shape, DType dtype,
                double initial) {
  const int slot = graph.add_variable(cat(owner, "/", name), {dtype, shape}, constant_initializer(initial), false);
  graph.variables[slot].kind = VariableKind::kSlot;
  return Tensor(&graph, graph.variable_value(slot));
}

// Row and column means for rank 2 and more, else the plain mean.
Tensors adafactor_slots(Graph& graph, const std::string& owner, Tensor value) {
  if (value.rank() < 2) return {add_slot(graph, owner, "Adafactor", value.shape(), value.dtype(), 0)};
  std::vector<int64_t> rows = value.shape().vec(), columns = rows;
  rows.pop_back();
  columns.erase(columns.end() - 2);
  return {add_slot(graph, owner, "Adafactor", Shape(rows), value.dtype(), 0),
          add_slot(graph, owner, "Adafactor_1", Shape(columns), value.dtype(), 0)};
}

class Minimizer {
 public:
  Minimizer(Graph& graph, const Optimizer& optimizer) : graph_(graph), optimizer_(optimizer) {}

  void update_all(std::vector<Trained> all) {
    graph_.phase = Phase::kUpdate;
    step_ = global_step(graph_);
    lr_ = learning_rate_tensor(graph_, optimizer_.learning_rate);
    if (optimizer_.cross_shard || graph_.replicas > 1) sum_over_replicas(all);
    const Tensor scale = global_scale(all);
    for (Trained& t : all) update(t, scale);
    assign(step_, add(step_, scalar_like(step_, 1)));
  }

 private:
  // Gradients become sums, and share_ what makes a mean of a sum: the updates' scale does it without a pass.
  void sum_over_replicas(std::vector<Trained>& all) {
    Tensors grads;
    for (const Trained& t : all) grads.push_back(t.gradient);
    grads = all_reduce(grads, ReduceKind::kSum);
    for (size_t i = 0; i < all.size(); ++i) all[i].gradient = grads[i];
    share_ = full(graph_, DType::kF32, {}, 1.0 / graph_.replicas);
  }

  // What the norm of sums is as one of means.
  Tensor shared(Tensor norm) const { return share_ ? mul(norm, cast(share_, norm.dtype())) : norm; }

  Tensor global_scale(const std::vector<Trained>& all) const {
    if (optimizer_.global_clipnorm <= 0) return share_;
    Tensors grads;
    for (const Trained& t : all) grads.push_back(t.gradient);
    return product(share_, clip_scale(shared(global_norm(grads)), optimizer_.global_clipnorm));
  }

  void update(Trained& t, Tensor scale) {
    const std::string name = graph_.variables[t.variable].name;
    graph_.origin = name;
    Tensor g = t.gradient, p = t.value;
    if (optimizer_.clipvalue > 0) {
      if (share_) g = mul(g, cast(share_, g.dtype()));
      g = clamp(g, -optimizer_.clipvalue, optimizer_.clipvalue);
      scale = {};
    }
    if (optimizer_.clipnorm > 0) scale = product(share_, clip_scale(shared(global_norm({g})), optimizer_.clipnorm));
    if (optimizer_.weight_decay > 0)
      p = sub(p, mul(p, cast(mul(lr_, scalar_like(lr_, optimizer_.weight_decay)), p.dtype())));
    const Tensors slots = make_slots(t.variable, t.value);
    Tensors operands{p, g, lr_, step_, scale, {}, {}};
    operands.insert(operands.end(), slots.begin(), slots.end());
    const Tensors next = emit(graph_, optimizer_.rule.op, operands, attributes(), cat(name, "/update"));
    assign(t.value, next[0]);
    for (size_t i = 0; i < slots.size(); ++i) assign(slots[i], next[i + 1]);
  }

  Tensors make_slots(int variable, Tensor value) {
    const std::string owner = graph_.variables[variable].name;  // a copy: the list of variables grows
    if (optimizer_.rule.op == "adafactor_update") return adafactor_slots(graph_, owner, value);
    Tensors slots;
    for (const UpdateRule::Slot& s : optimizer_.rule.slots)
      slots.push_back(add_slot(graph_, owner, s.name, s.scalar ? Shape() : value.shape(), value.dtype(), s.initial));
    return slots;
  }

  Attrs attributes() const {
    Attrs out;
    for (const UpdateRule::Hyper& h : optimizer_.rule.hyper) {
      if (h.is_flag)
        out.push_back({h.name, h.value != 0});
      else
        out.push_back({h.name, h.value});
    }
    return out;
  }

  Graph& graph_;
  const Optimizer& optimizer_;
  Tensor step_, lr_, share_;
};

}  // namespace

TrainOp minimize(const Optimizer& optimizer, Tensor loss) {
  if (!loss) fail("minimize: the loss was never set");
  Graph& graph = *loss.graph();
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::kSlot || (v.kind == VariableKind::kCounter && v.next != kAbsent))
      fail("minimize: the graph has an optimizer already");
  if (const Tensor extra = added_losses(graph)) loss = add(loss, extra);
  Tensors values;
  std::vector<int> which;
  for (size_t i = 0; i < graph.variables.size(); ++i) {
    if (!graph.variables[i].trainable || graph.variables[i].kind != VariableKind::kWeight) continue;
    values.emplace_back(&graph, graph.variable_value(static_cast<int>(i)));
    which.push_back(static_cast<int>(i));
  }
  const Tensors grads = gradients(loss, values);
  const std::string scope = graph.scope(), origin = graph.origin;
  const Phase phase = graph.phase;
  graph.set_scope("");
  Minimizer(graph, optimizer).update_all(trainable(values, grads, which));
  graph.set_scope(scope);
  graph.origin = origin;
  graph.phase = phase;
  return {&graph};
}

}  // namespace tenon
