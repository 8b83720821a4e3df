#include "optimizer/update.h"

#include <algorithm>

#include "base/names/name_expression.h"
#include "base/strings.h"
#include "op/rules.h"

namespace tenon {
namespace {

// Row and column means for rank 2 and more, else the plain mean.
Tensors factored_slots(Update::Inside& in) {
  const Type& type = in.value.type();
  if (type.shape.rank() < 2) return {in.slot("Adafactor", type, 0)};
  std::vector<int64_t> rows = type.shape.vec(), columns = rows;
  rows.pop_back();
  columns.erase(columns.end() - 2);
  return {in.slot("Adafactor", {type.dtype, Shape(rows)}, 0), in.slot("Adafactor_1", {type.dtype, Shape(columns)}, 0)};
}

Tensors slots_of(const FusedUpdate& fused, Update::Inside& in) {
  if (fused.op == "adafactor_update") return factored_slots(in);
  const Type& type = in.value.type();
  Tensors slots;
  for (const FusedUpdate::Slot& s : fused.slots)
    slots.push_back(in.slot(s.name, {type.dtype, s.scalar ? Shape() : type.shape}, s.initial));
  return slots;
}

// What was computed, as the tensor that is assigned to takes it.
Tensor rounded(const Update::Inside& in, std::string_view what, Tensor next, Tensor old) {
  if (!next) fail(in.optimizer, ": the next value of ", what, " was never set");
  if (!next.is_of(in.graph)) fail(in.optimizer, ": the next value of ", what, " is ", foreign_text(next));
  if (!is_float(next.dtype()) || next.shape() != old.shape())
    fail(in.optimizer, ": the next value of ", what, " is ", next.type().str(), ", expected ", old.type().str());
  return gated(in.gate, cast(next, old.dtype()), old);
}

}  // namespace

Tensor Update::Inside::slot(std::string_view slot, const Type& type, double initial) {
  const std::string full = names.slot(name, slot);
  const bool part = dealt && type.shape == dealt->part();
  if (dealt && !part && type.shape.rank() > 0)
    fail_at_parts(optimizer, cat("slot '", full, "' is ", type.str(), " of one variable of ", shape().str()));
  const Tensor value =
      part ? own_dealt_slot(graph, full, type.dtype, *dealt, initial) : own_slot(graph, full, type, initial);
  if (dealt && !part) graph.agreed.insert(variable_index(optimizer, value));
  slots[std::string(slot)] = value;
  return value;
}

Tensor gated(Tensor gate, Tensor next, Tensor old) { return gate ? select(gate, next, old) : next; }

Tensor Update::gradient() const {
  const Tensor g = widened(inside_->gradient);
  return inside_->scale ? mul(g, cast(inside_->scale, g.dtype())) : g;
}

Tensor Update::variable() const { return widened(inside_->value); }
Tensor Update::learning_rate() const { return cast(inside_->rate, variable().dtype()); }
Tensor Update::step() const { return cast(inside_->step, variable().dtype()); }
const std::string& Update::name() const { return inside_->name; }

Tensor Update::slot(std::string_view name, double initial) { return slot(name, inside_->value.shape(), initial); }

Tensor Update::slot(std::string_view name, const Shape& shape, double initial) {
  return widened(inside_->slot(name, {inside_->value.dtype(), shape}, initial));
}

void Update::assign(Tensor next) {
  inside_->next = rounded(*inside_, cat("'", inside_->name, "'"), next, inside_->value);
}

void Update::assign(std::string_view slot, Tensor next) {
  const auto it = inside_->slots.find(slot);
  if (it == inside_->slots.end())
    fail(inside_->optimizer, ": slot '", slot, "' of '", inside_->name,
         "' is assigned, and slot() was not called for it before");
  tenon::assign(it->second,
                rounded(*inside_, cat("slot '", it->first, "' of '", inside_->name, "'"), next, it->second));
}

void update_by_op(const FusedUpdate& fused, Update& update) {
  Update::Inside& in = update.inside();
  const Tensors slots = slots_of(fused, in);
  Tensors operands{in.value, in.gradient, in.rate, in.step, in.scale, in.gate, {}};
  operands.insert(operands.end(), slots.begin(), slots.end());
  const Tensors next = emit(in.graph, fused.op, operands, fused.attrs, cat(in.name, "/update"));
  in.next = next[0];
  for (size_t i = 0; i < slots.size(); ++i) assign(slots[i], next[i + 1]);
}

bool any_found(const std::vector<std::string>& patterns, const std::string& name, std::string_view what) {
  for (const std::string& pattern : patterns) {
    const Result<NameExpression> expression = NameExpression::make(pattern);
    if (!expression.ok()) fail(what, ": ", expression.status().message());
    if (expression->is_in(name)) return true;
  }
  return false;
}

Status expect_found(const std::string& pattern, const std::vector<std::string>& names) {
  TENON_ASSIGN(const NameExpression expression, NameExpression::make(pattern));
  const auto found = [&](const std::string& name) { return expression.is_in(name); };
  return std::any_of(names.begin(), names.end(), found) ? Status() : expression.found_in_none_of(names);
}

}  // namespace tenon
