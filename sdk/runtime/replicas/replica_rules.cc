#include "runtime/replicas/replica_rules.h"

#include <algorithm>
#include <unordered_map>

#include "tenon/op/names.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"
#include "tenon/plugin/geometry.h"

namespace tenon::plugin {
namespace {

using Dims = std::vector<int64_t>;
using Facts = ReplicaFacts;
using op::Units;

bool is_same(const NodeView& node, int k, const Facts& facts) { return !node.has(k) || facts.same[node.operand_id(k)]; }
bool is_summed(const NodeView& node, int k, const Facts& facts) {
  return node.has_result(k) && facts.summed[node.result_id(k)];
}
bool has_item(const NodeView& node, std::string_view list, int64_t value) {
  const Span<int64_t> items = node.list(list);
  return std::find(items.begin(), items.end(), value) != items.end();
}

Merging apart() { return {}; }
Merging joined(uint32_t whole = 0, uint32_t sums = 0) { return {Merging::kJoined, whole, sums}; }
Merging stacked(uint32_t whole = 0, uint32_t sums = 0) { return {Merging::kStacked, whole, sums}; }
Merging unless_first(bool first) { return first ? stacked() : joined(); }

// ---- the rules that the table of ops names (tenon/op/row.h), each with the masks of its operands and results ----

struct Rule {
  Merging (*merge)(const Rule& rule, const NodeView& node, const Facts& facts) = nullptr;
  uint32_t whole = 0, sums = 0;
};

// Beside other shapes rank 0 holds for every row.
Merging elementwise(const Rule&, const NodeView& node, const Facts& facts) {
  uint32_t whole = 0;
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k) && node.in(k).rank() == 0 && is_same(node, k, facts)) whole |= 1u << k;  // at most 3 operands
  return joined(whole);
}

// Each row of the results comes from one row of the operands, beside what all units have.
Merging rowwise(const Rule& rule, const NodeView&, const Facts&) { return joined(rule.whole, rule.sums); }

Merging by_axis(const Rule&, const NodeView& node, const Facts&) { return unless_first(node.i64("axis") == 0); }
Merging by_axes(const Rule&, const NodeView& node, const Facts&) { return unless_first(has_item(node, "axes", 0)); }
Merging last_axis(const Rule&, const NodeView& node, const Facts&) {
  using loss_grad = op::softmax_cross_entropy_grad;  // the others have x in front
  return unless_first(node.in(node.op() == "softmax_cross_entropy_grad" ? loss_grad::x : 0).rank() == 1);
}
Merging transpose(const Rule&, const NodeView& node, const Facts&) {
  return unless_first(item(node, "perm", 0, -1) != 0);
}
Merging broadcast(const Rule&, const NodeView& node, const Facts&) {
  const ValueView x = node.in(0);
  return unless_first(x.rank() == 0 || item(node, "dims", 0, -1) != 0 || x.dim(0) != node.out(0).dim(0));
}
Merging slice(const Rule&, const NodeView& node, const Facts&) {
  const bool all = item(node, "start", 0, 0) == 0 && item(node, "limit", 0, 0) == node.in(0).dim(0);
  return unless_first(!all || item(node, "stride", 0, 1) != 1);
}
Merging pad(const Rule&, const NodeView& node, const Facts&) {
  return unless_first(item(node, "low", 0, 0) || item(node, "high", 0, 0) || item(node, "interior", 0, 0));
}

Merging reduce(const Rule&, const NodeView& node, const Facts& facts) {
  const bool first = has_item(node, "axes", 0),
             sums = node.enumerator("kind") == TENON_REDUCE_SUM && is_summed(node, 0, facts);
  if (sums) return first ? joined(0, 1) : stacked(0, 1);
  return unless_first(first);
}

Merging gather(const Rule&, const NodeView& node, const Facts& facts) {
  using from = op::gather;
  const int64_t axis = node.i64("axis"), batch = node.i64("batch");
  if (batch > 0) return joined();
  if (is_same(node, from::x, facts)) return axis == 0 && node.in(from::i).rank() > 0 ? joined(0b01) : apart();
  if (is_same(node, from::i, facts)) return axis > 0 ? joined(0b10) : stacked(0b10);
  return stacked();
}

// Into zeros, what all units add is one sum.
Merging scatter(const Rule&, const NodeView& node, const Facts& facts) {
  using into = op::scatter;
  const int64_t axis = node.i64("axis"), batch = node.i64("batch");
  if (batch > 0) return joined();
  const bool adds = node.enumerator("kind") == TENON_SCATTER_ADD && is_summed(node, into::out::y, facts);
  if (adds && axis == 0 && node.in(into::i).rank() > 0 && facts.zero[node.operand_id(into::x)]) return joined(0b001, 1);
  if (is_same(node, into::i, facts) && axis > 0) return joined(0b010);
  return stacked();
}

// Rows times a matrix; batches of matrices; rows times rows, as a sum.
Merging dot(const Rule& rule, const NodeView& node, const Facts& facts) {
  using product = op::dot;  // dot_bias_act has a, b and y in the same places
  const bool plain = node.op() == "dot", ta = node.flag("ta");
  if (node.in(product::a).rank() > 2) return joined(rule.whole & ~(1u << product::b));
  if (!ta && is_same(node, product::b, facts)) return joined(rule.whole);
  if (!plain || is_same(node, product::a, facts) || is_same(node, product::b, facts)) return apart();
  return ta && !node.flag("tb") && is_summed(node, product::out::y, facts) ? joined(0, 1) : stacked();
}

Merging bias_act_grad(const Rule& rule, const NodeView& node, const Facts&) {
  return node.in(op::bias_act_grad::g).rank() > 1 ? joined(0, rule.sums) : apart();
}

Merging layer_norm(const Rule& rule, const NodeView& node, const Facts&) {
  const bool forward = node.op() == "layer_norm";
  const int x = forward ? +op::layer_norm::x : +op::layer_norm_grad::x;
  const int gamma = forward ? +op::layer_norm::gamma : +op::layer_norm_grad::gamma;
  const bool first = has_item(node, "axes", 0) || node.in(gamma).rank() == node.in(x).rank();
  return first ? stacked(rule.whole, rule.sums) : joined(rule.whole, rule.sums);
}

// A bias of one example is every example's.
Merging attention(const Rule& rule, const NodeView& node, const Facts&) {
  const bool forward = node.op() == "attention";
  const int q = forward ? +op::attention::q : +op::attention_grad::q;
  const int bias = forward ? +op::attention::bias : +op::attention_grad::bias;
  const bool repeats = node.has(bias) && node.in(bias).dim(0) != node.in(q).dim(0);
  if (!repeats) return joined(rule.whole);
  return joined(rule.whole | 1u << bias, node.flag("dbias") ? rule.sums : 0);
}

// Never merged: the units' parts are another's to join.
Merging never(const Rule&, const NodeView&, const Facts&) { return apart(); }

using MergeFunction = decltype(Rule::merge);

MergeFunction function_of(Units::Rule rule) {
  switch (rule) {
    case Units::kApart:
      return never;
    case Units::kElements:
      return elementwise;
    case Units::kRows:
      return rowwise;
    case Units::kAxis:
      return by_axis;
    case Units::kAxes:
      return by_axes;
    case Units::kLastAxis:
      return last_axis;
    case Units::kTranspose:
      return transpose;
    case Units::kBroadcast:
      return broadcast;
    case Units::kSlice:
      return slice;
    case Units::kPad:
      return pad;
    case Units::kReduce:
      return reduce;
    case Units::kGather:
      return gather;
    case Units::kScatter:
      return scatter;
    case Units::kDot:
      return dot;
    case Units::kBiasActGrad:
      return bias_act_grad;
    case Units::kLayerNorm:
      return layer_norm;
    case Units::kAttention:
      return attention;
  }
  return never;
}

// Bit k: entry k is named, "w bias".
template <class Entries>
uint32_t mask_of(std::string_view names, const Entries& entries) {
  uint32_t mask = 0;
  for (const std::string_view name : op::words(names))
    for (size_t k = 0; k < entries.size(); ++k)
      if (entries[k].name == name) mask |= 1u << k;
  return mask;
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto* all = [] {
    auto* table = new std::unordered_map<std::string_view, Rule>;
    for (const op::Row* row : op::kRows) {
      const op::Signature s = op::parse(row->signature);
      const Units& units = row->units;
      table->emplace(row->name,
                     Rule{function_of(units.rule), mask_of(units.whole, s.operands), mask_of(units.sums, s.results)});
    }
    return table;
  }();
  return *all;
}

bool fits(const NodeView& node, const Merging& m, const Facts& facts) {
  const auto has_room = [&](const ValueView& v) { return m.form != Merging::kStacked || v.rank() < TENON_MAX_RANK; };
  for (int k = 0; k < node.operands(); ++k) {
    if (!node.has(k)) continue;
    if (m.is_whole(k) ? !is_same(node, k, facts) : !has_room(node.in(k))) return false;
  }
  for (int k = 0; k < node.results(); ++k) {
    if (!node.has_result(k)) continue;
    if (m.is_sum(k) ? !is_summed(node, k, facts) : !has_room(node.out(k))) return false;
  }
  return true;
}

// ---- attributes ----

Dims put_before(int64_t first, Dims list) {
  list.insert(list.begin(), first);
  return list;
}
Dims shifted(Dims axes) {
  for (int64_t& a : axes) ++a;
  return axes;
}

// A list of a stacked node.
Dims stacked_list(const NodeView& node, std::string_view name, const Merging& m, uint32_t units) {
  const Dims list = node.list(name).vec();
  if (name == "axes") return m.sums && node.op() == "reduce" ? put_before(0, shifted(list)) : shifted(list);
  if (name == "perm" || name == "dims") return put_before(0, shifted(list));
  if (list.empty() && (name == "stride" || name == "interior")) return list;
  if (name == "shape" || name == "limit") return put_before(units, list);
  return put_before(name == "stride" ? 1 : 0, list);  // start, low, high, interior
}

}  // namespace

Merging merging_of(const NodeView& node, const ReplicaFacts& facts) {
  if (node.version() != 1) return apart();
  const auto rule = rules().find(node.op());
  if (rule == rules().end()) return apart();
  const Merging m = rule->second.merge(rule->second, node, facts);
  return fits(node, m, facts) ? m : apart();
}

void write_attributes(GraphBuilder& builder, const NodeView& node, const Merging& m, uint32_t units) {
  const bool stacks = m.form == Merging::kStacked;
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    const tenon_attr& a = node.attribute(i);
    if (a.type == TENON_ATTR_LIST && stacks && name.substr(0, 6) != "tenon.") {
      builder.attr_list(name, stacked_list(node, name, m, units));
    } else if (stacks && (name == "axis" || (name == "batch" && !m.whole))) {
      builder.attr_i64(name, node.i64(name) + 1);
    } else if (name == "first" && draws(node)) {
      builder.attr_i64(name, node.i64(name) / units);  // of arrays of all units
    } else if (!stacks && (name == "shape" || (name == "limit" && node.op() == "slice"))) {
      Dims dims = node.list(name).vec();
      if (dims.empty()) dims.push_back(1);
      dims[0] *= units;
      builder.attr_list(name, dims);
    } else {
      builder.attr(node.graph(), a);
    }
  }
}

}  // namespace tenon::plugin
