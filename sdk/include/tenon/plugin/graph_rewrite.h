// Rewrites a graph before it is planned: a backend puts nodes of its own in the place of several. Such nodes never
// cross the ABI: the core neither sees them nor could ask for them. C++17, header only.
//
//   Rewrite rewrite(graph);
//   for (uint32_t i = 0; i < graph.n_nodes(); ++i)
//     if (... the node is part of what is fused ...)
//       rewrite.add("mine.fused", {rewrite.value(a), rewrite.value(b)}, {rewrite.value(y)}, graph.node(i));
//     else
//       rewrite.copy(graph.node(i));
//   Rewritten out = rewrite.finish();
#pragma once

#include <vector>

#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin {

struct Rewritten {
  FlatGraph graph;  // empty: the given graph stays as it is
  // For each node of the new graph, the node of the given one that stands for it in messages, traces and memory
  // reports.
  std::vector<uint32_t> origins;
  // For each node of the given graph, the new one that does its work. TENON_NONE: nothing is left to do.
  std::vector<uint32_t> done_by;
  // For each value of the new graph, that of the given one. TENON_NONE: it has none.
  std::vector<uint32_t> values;
};

class Rewrite {
 public:
  explicit Rewrite(const GraphView& from)
      : from_(from), ids_(from.n_values(), TENON_NONE), renamed_(from.n_values(), false) {
    for (uint32_t i = 0; i < from.n_inputs(); ++i) {
      const tenon_input& input = from.input(i);
      ids_[input.value] = to_.input(from.value(input.value).dtype(), from.value(input.value).dims().vec(),
                                    static_cast<tenon_role>(input.role), from.value_name(input.value), input.placement);
    }
    for (uint32_t i = 0; i < from.n_constants(); ++i) {
      const tenon_constant& c = from.constant(i);
      const ValueView v = from.value(c.value);
      ids_[c.value] = to_.constant(v.dtype(), v.dims().vec(), from.constant_data(c), c.bytes);
    }
  }

  // The new graph's value for one of the given graph.
  uint32_t value(uint32_t old) {
    if (old == TENON_NONE) return TENON_NONE;
    if (ids_[old] != TENON_NONE) return ids_[old];
    const ValueView v = from_.value(old);
    ids_[old] = to_.value(v.dtype(), v.dims().vec(), from_.value_name(old));
    return ids_[old];
  }
  // The new value of an operand or result of the given graph, which may be absent.
  uint32_t operand(const NodeView& node, int k) { return node.has(k) ? value(node.operand_id(k)) : TENON_NONE; }
  uint32_t result(const NodeView& node, int k) { return node.has_result(k) ? value(node.result_id(k)) : TENON_NONE; }
  // Who reads or makes `old` has `other`, another value of the given graph, from here on. Before either was asked for.
  void put_instead(uint32_t old, uint32_t other) {
    ids_[old] = value(other);
    renamed_[old] = true;
  }
  // A value that the given graph does not have.
  uint32_t fresh(int32_t dtype, const std::vector<int64_t>& dims) { return to_.value(dtype, dims); }
  // A constant that it does not have, as GraphBuilder takes one.
  uint32_t constant(int32_t dtype, const std::vector<int64_t>& dims, const void* data, uint64_t bytes) {
    return to_.constant(dtype, dims, data, bytes);
  }

  void copy(const NodeView& node) {
    std::vector<uint32_t> operands, results;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(value(node.operand_id(k)));
    for (int k = 0; k < node.results(); ++k) results.push_back(value(node.result_id(k)));
    add(node.op(), operands, results, node, node.version());
    for (int i = 0; i < node.attributes(); ++i) to_.attr(from_, node.attribute(i));
  }
  // A node of the new graph, named after `origin`; attributes may follow by what it returns.
  GraphBuilder& add(std::string_view op, const std::vector<uint32_t>& operands, const std::vector<uint32_t>& results,
                    const NodeView& origin, uint32_t version = 1) {
    for (const uint32_t made : results) {
      if (made == TENON_NONE) continue;
      if (makers_.size() <= made) makers_.resize(made + size_t{1}, TENON_NONE);
      makers_[made] = static_cast<uint32_t>(origins_.size());
    }
    origins_.push_back(origin.index());
    return to_.node(op, operands, results, version).name_after(origin.name());
  }

  Rewritten finish() {
    for (uint32_t i = 0; i < from_.n_results(); ++i) {
      const tenon_result& r = from_.result(i);
      to_.result(value(r.value), static_cast<tenon_mode>(r.mode), r.alias, r.placement);
    }
    Rewritten out{to_.build(), std::move(origins_), find_doers(), {}};
    out.values.assign(GraphView(*out.graph.graph()).n_values(), TENON_NONE);
    for (uint32_t old = 0; old < from_.n_values(); ++old)
      if (ids_[old] != TENON_NONE && !renamed_[old]) out.values[ids_[old]] = old;
    return out;
  }

 private:
  uint32_t maker_of(uint32_t old) const {
    const uint32_t id = renamed_[old] ? TENON_NONE : ids_[old];
    return id < makers_.size() ? makers_[id] : TENON_NONE;
  }
  // A node is done by the one that makes its result; where that is in no memory, by what does its first reader.
  std::vector<uint32_t> find_doers() const {
    std::vector<uint32_t> done_by(from_.n_nodes(), TENON_NONE), read_by(from_.n_values(), TENON_NONE);
    for (uint32_t i = from_.n_nodes(); i-- > 0;) {
      const NodeView node = from_.node(i);
      for (int k = 0; k < node.results() && done_by[i] == TENON_NONE; ++k)
        if (node.has_result(k)) done_by[i] = maker_of(node.result_id(k));
      for (int k = 0; k < node.results() && done_by[i] == TENON_NONE; ++k)
        if (node.has_result(k)) done_by[i] = read_by[node.result_id(k)];
      for (int k = 0; k < node.operands() && done_by[i] != TENON_NONE; ++k)
        if (node.has(k)) read_by[node.operand_id(k)] = done_by[i];
    }
    return done_by;
  }

  GraphView from_;
  GraphBuilder to_;
  std::vector<uint32_t> ids_;
  std::vector<bool> renamed_;  // of the given graph
  std::vector<uint32_t> origins_;
  std::vector<uint32_t> makers_;  // of values of the new graph
};

}  // namespace tenon::plugin
