// Puts nodes of a backend's own in the place of several before a graph is planned (graph_rewrite.h): patterns say which
// nodes one of its nodes can stand for.
//
//   std::optional<Match> conv_norm(const Matching& m, const NodeView& norm) {
//     const auto conv = m.sole_maker(norm.operand_id(op::batch_norm_apply::x), norm);  // tenon/op/names.h
//     if (!conv || conv->op() != "conv") return {};
//     return Match{{conv->index(), norm.index()}, norm.index(), [=](Rewrite& to) { to.add("mine.conv_norm", ..); }};
//   }
//   Rewritten rewrite(const GraphView& graph, const Env&) {
//     return rewrite(graph, {{"batch_norm_apply", conv_norm}, {"add", sum_of_product}});
//   }
//
// A match claims its nodes, all or none; of two patterns that want a node the one that stands first in the list has it.
// C++17.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/plugin/graph_rewrite.h"

namespace tenon::plugin {

// Who makes and who reads the values of a graph.
class GraphIndex {
 public:
  explicit GraphIndex(const GraphView& graph);

  const GraphView& graph() const { return graph_; }
  // Nodes, each as often as it reads the value; TENON_NONE: the value is a result.
  const std::vector<uint32_t>& readers(uint32_t value) const { return readers_[value]; }
  bool is_only_reader(uint32_t value, uint32_t node) const {
    return readers_[value].size() == 1 && readers_[value][0] == node;
  }
  // The node that alone reads the value; none where there are more, or where it is a result.
  std::optional<NodeView> only_reader(uint32_t value) const;
  // The node that makes the value; none of an input, a constant or TENON_NONE.
  std::optional<NodeView> maker(uint32_t value) const;
  // The bytes of a constant's one element that fills it, or all of them; none where the value is no constant.
  const tenon_constant* constant(uint32_t value) const;

  // What `value` is a reshape of, or itself.
  uint32_t before_reshape(uint32_t value) const;
  // Whether a variable that `early` reads is updated before `late` is computed: what stands there instead of both would
  // keep the planner from updating in place.
  bool changes_between(const NodeView& early, const NodeView& late) const;

 private:
  GraphView graph_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<uint32_t> makers_, constants_;
};

// What stands in the place of nodes. `nodes` go, all of them, in any order.
struct Match {
  using Emit = std::function<void(Rewrite&)>;
  std::vector<uint32_t> nodes;
  std::vector<std::pair<uint32_t, Emit>> parts;             // each where this node stood
  std::vector<std::pair<uint32_t, uint32_t>> instead = {};  // who reads or makes the first value has the second

  Match(std::vector<uint32_t> gone, uint32_t at, Emit emit) : nodes(std::move(gone)), parts{{at, std::move(emit)}} {}
  explicit Match(std::vector<uint32_t> gone) : nodes(std::move(gone)) {}
};

// What a pattern sees: the graph, and what the patterns before it have claimed.
class Matching : public GraphIndex {
 public:
  explicit Matching(const GraphView& graph) : GraphIndex(graph), taken_(graph.n_nodes()) {}

  bool is_free(uint32_t node) const { return !taken_[node]; }
  // The free node that makes the value; none where somebody beside `reader` reads it, too.
  std::optional<NodeView> sole_maker(uint32_t value, const NodeView& reader) const;
  // All or none of its nodes.
  bool claim(Match match);

 private:
  friend class Rewriting;
  std::vector<bool> taken_;
  std::vector<Match> matches_;
};

struct Pattern {
  // Asked for each free node of this op, in the order of the graph.
  using OfNode = std::function<std::optional<Match>(const Matching&, const NodeView&)>;
  // Asked once, and claims by itself: what looks at the whole graph.
  using OfGraph = std::function<void(Matching&)>;

  Pattern(std::string_view root, OfNode find) : op(root), of_node(std::move(find)) {}
  explicit Pattern(OfGraph find) : of_graph(std::move(find)) {}

  std::string_view op;
  OfNode of_node;
  OfGraph of_graph;
};

// The graph with what the patterns put in; empty where they match nothing.
Rewritten rewrite(const GraphView& graph, const std::vector<Pattern>& patterns);

// `second` rewrote what `first` gave, or the given graph where that is empty: both as one.
Rewritten joined(Rewritten first, Rewritten second);
// The graph that `first` gave, or `given` where that is empty.
GraphView graph_after(const Rewritten& first, const GraphView& given);

void copy_attributes(GraphBuilder& to, const NodeView& node);

}  // namespace tenon::plugin
