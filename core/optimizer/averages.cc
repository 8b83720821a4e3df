#include "optimizer/averages.h"

#include "base/strings.h"
#include "op/rules.h"
#include "optimizer/update.h"

namespace tenon {
namespace {

// In f32 for variables of 16 bits, in which most steps of an average are lost.
Tensor average_of(Graph& graph, const OptimizerNames& names, int variable) {
  const Variable& v = graph.variables[static_cast<size_t>(variable)];
  const Type& type = graph.type(graph.inputs[static_cast<size_t>(v.input)].value);
  const DType dtype = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return own_slot(graph, average_name(names, v.name), {dtype, type.shape}, 0);
}

Tensor is_zero(Tensor count) { return compare(count, scalar_like(count, 0), CompareKind::kEq); }

struct Averaged {
  Tensor value, average, slot;  // of the variable's dtype; the slot is what the average is kept in
};

std::vector<Averaged> averaged(const Optimizer& optimizer, const Tensors& variables) {
  if (!optimizer.options.use_ema) fail(optimizer.name, ": keeps no averages, as use_ema is not set");
  std::vector<Averaged> out;
  for (const Tensor& variable : variables) {
    if (!variable) fail(optimizer.name, ": a variable was never set");
    Graph& graph = *variable.graph();
    const Updating updating(graph, optimizer);
    const OptimizerNames names(graph, optimizer);
    const int index = variable_index(optimizer.name, variable);
    const Tensor value = current(variable), slot = average_of(graph, names, index);
    const Tensor none = is_zero(updates_of(optimizer.options, own_counter(graph, names)));
    out.push_back({value, select(none, value, cast(slot, value.dtype())), slot});
  }
  return out;
}

}  // namespace

Tensor is_multiple(Tensor count, int n) {
  const Tensor divisor = scalar_like(count, n);
  return is_zero(sub(count, mul(div(count, divisor), divisor)));
}

Tensor updates_of(const OptimizerOptions& options, Tensor calls) {
  const int each = options.gradient_accumulation_steps;
  return each > 1 ? div(calls, scalar_like(calls, each)) : calls;
}

void move_average(Graph& graph, const OptimizerNames& names, const OptimizerOptions& options, int variable,
                  Tensor updates, Tensor gate) {
  const Tensor average = average_of(graph, names, variable);
  const Tensor next(&graph, graph.variables[static_cast<size_t>(variable)].next);
  const Tensor momentum = select(is_zero(updates), scalar_like(average, 0), scalar_like(average, options.ema_momentum));
  const Tensor moved = gated(gate, momentum * average + (1.0 - momentum) * widened(next), average);
  assign(average, moved);
  if (options.ema_overwrite_frequency == 0) return;
  Tensor due = is_multiple(updates + 1, options.ema_overwrite_frequency);
  if (gate) due = minimum(due, gate);
  assign(Tensor(&graph, graph.variable_value(variable)), select(due, cast(moved, next.dtype()), next));
}

Tensors Optimizer::averages(const Tensors& variables) const {
  Tensors out;
  for (const Averaged& a : averaged(*this, variables)) out.push_back(a.average);
  return out;
}

void Optimizer::assign_averages(const Tensors& variables) const {
  for (const Averaged& a : averaged(*this, variables)) assign(a.value, a.average);
}

void Optimizer::swap_averages(const Tensors& variables) const {
  for (const Averaged& a : averaged(*this, variables)) {
    assign(a.slot, cast(a.value, a.slot.dtype()));
    assign(a.value, a.average);
  }
}

}  // namespace tenon
