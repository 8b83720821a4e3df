// What holds for all units, and of what only the sum over them is read.
#include <algorithm>

#include "runtime/replicas/replica_rules.h"
#include "tenon/op/names.h"
#include "tenon/plugin/replicas.h"

namespace tenon::plugin {
namespace {

using Facts = ReplicaFacts;

bool all_same(const NodeView& node, const Facts& facts) {
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k) && !facts.same[node.operand_id(k)]) return false;
  return true;
}

void find_same(const GraphView& graph, uint32_t units, Facts& facts) {
  for (uint32_t i = 0; i < graph.n_inputs(); ++i)
    facts.same[graph.input(i).value] = units == 1 || graph.input(i).placement != TENON_SPLIT;
  for (uint32_t i = 0; i < graph.n_constants(); ++i) facts.same[graph.constant(i).value] = true;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    const bool same = asks_replicas(node.op()) ? joins_all(node, units) : !draws(node) && all_same(node, facts);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) facts.same[node.result_id(k)] = same;
  }
}

void find_zeros(const GraphView& graph, Facts& facts) {
  for (uint32_t i = 0; i < graph.n_constants(); ++i) {
    const tenon_constant& c = graph.constant(i);
    const uint8_t* data = graph.constant_data(c);
    facts.zero[c.value] = std::all_of(data, data + c.bytes, [](uint8_t byte) { return byte == 0; });
  }
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    if (node.op() == "broadcast" || node.op() == "reshape")
      facts.zero[node.result_id(0)] = facts.zero[node.operand_id(0)];
  }
}

bool sums_all(const NodeView& node, uint32_t units) {
  const int64_t group = node.i64("group");
  const bool sums =
      node.op() == "reduce_scatter" || (node.op() == "all_reduce" && node.enumerator("kind") == TENON_REDUCE_SUM);
  return sums && (units == 1 || group == 0 || group == units);
}

bool all_summed(const NodeView& node, const Facts& facts) {
  for (int k = 0; k < node.results(); ++k)
    if (node.has_result(k) && !facts.summed[node.result_id(k)]) return false;
  return true;
}

void find_summed(const GraphView& graph, uint32_t units, Facts& facts) {
  for (uint32_t i = 0; i < graph.n_results(); ++i) facts.summed[graph.result(i).value] = false;
  for (uint32_t i = graph.n_nodes(); i-- > 0;) {
    const NodeView node = graph.node(i);
    const bool sums = sums_all(node, units);
    const bool goes_on = !sums && all_summed(node, facts);
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k) && !sums && !(goes_on && is_linear(node, k, facts))) facts.summed[node.operand_id(k)] = false;
  }
}

bool is_f16(const NodeView& node) { return node.in(0).dtype() == TENON_F16 || node.out(0).dtype() == TENON_F16; }

}  // namespace

bool draws(const NodeView& node) {
  if (node.op() == "attention" || node.op() == "attention_grad") return node.f64("rate") > 0;
  return (node.op() == "random" && node.flag("per_replica")) || node.op() == "dropout";
}

bool joins_all(const NodeView& node, uint32_t units) {
  const int64_t group = node.i64("group");
  return units == 1 || ((node.op() == "all_gather" || node.op() == "all_reduce") && (group == 0 || group == units));
}

bool is_linear(const NodeView& node, int k, const ReplicaFacts& facts) {
  const std::string_view op = node.op();
  for (const char* any : {"add", "sub", "neg", "reshape", "transpose", "broadcast", "slice", "reverse", "concat"})
    if (op == any) return is_float(node.in(k).dtype());
  if (op == "pad") return node.f64("value") == 0;
  if (op == "reduce") return node.enumerator("kind") == TENON_REDUCE_SUM;
  if (op == "cast") return is_float(node.in(op::cast::x).dtype()) && is_float(node.out(0).dtype()) && !is_f16(node);
  // the sum of f16s must not leave their range where what it is scaled to would not have
  if (op == "mul") return is_float(node.in(op::mul::a).dtype()) && !is_f16(node) && facts.same[node.operand_id(1 - k)];
  if (op == "div")
    return k == op::div::a && is_float(node.in(k).dtype()) && !is_f16(node) && facts.same[node.operand_id(op::div::b)];
  return false;
}

ReplicaFacts find_facts(const GraphView& graph, uint32_t units) {
  const uint32_t n = graph.n_values();
  Facts facts{std::vector<bool>(n), std::vector<bool>(n), std::vector<bool>(n, true)};
  find_same(graph, units, facts);
  find_zeros(graph, facts);
  find_summed(graph, units, facts);
  return facts;
}

}  // namespace tenon::plugin
