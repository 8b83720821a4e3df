#include "tenon/plugin/matcher.h"

#include <algorithm>

#include "tenon/op/table.h"

namespace tenon::plugin {
GraphIndex::GraphIndex(const GraphView& graph)
    : graph_(graph),
      readers_(graph.n_values()),
      makers_(graph.n_values(), TENON_NONE),
      constants_(graph.n_values(), TENON_NONE) {
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k)) readers_[node.operand_id(k)].push_back(i);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) makers_[node.result_id(k)] = i;
  }
  for (uint32_t r = 0; r < graph.n_results(); ++r) readers_[graph.result(r).value].push_back(TENON_NONE);
  for (uint32_t i = 0; i < graph.n_constants(); ++i) constants_[graph.constant(i).value] = i;
}

std::optional<NodeView> GraphIndex::only_reader(uint32_t value) const {
  if (readers_[value].size() != 1 || readers_[value][0] == TENON_NONE) return {};
  return graph_.node(readers_[value][0]);
}

std::optional<NodeView> GraphIndex::maker(uint32_t value) const {
  if (value == TENON_NONE || makers_[value] == TENON_NONE) return {};
  return graph_.node(makers_[value]);
}

const tenon_constant* GraphIndex::constant(uint32_t value) const {
  return constants_[value] == TENON_NONE ? nullptr : &graph_.constant(constants_[value]);
}

uint32_t GraphIndex::before_reshape(uint32_t value) const {
  const std::optional<NodeView> node = maker(value);
  return node && node->op() == "reshape" ? node->operand_id(0) : value;
}

bool GraphIndex::changes_between(const NodeView& early, const NodeView& late) const {
  for (int k = 0; k < early.operands(); ++k) {
    if (!early.has(k)) continue;
    for (const uint32_t r : readers_[early.operand_id(k)])
      if (r > early.index() && r < late.index() && op::is_update(graph_.node(r).op())) return true;
  }
  return false;
}

std::optional<NodeView> Matching::sole_maker(uint32_t value, const NodeView& reader) const {
  if (value == TENON_NONE || !is_only_reader(value, reader.index())) return {};
  const std::optional<NodeView> node = maker(value);
  return node && is_free(node->index()) ? node : std::nullopt;
}

bool Matching::claim(Match match) {
  for (const uint32_t node : match.nodes)
    if (taken_[node]) return false;
  for (const uint32_t node : match.nodes) taken_[node] = true;
  matches_.push_back(std::move(match));
  return true;
}

// One rewriting of a graph.
class Rewriting {
 public:
  explicit Rewriting(const GraphView& graph) : matching_(graph), emit_(graph.n_nodes()) {}

  void find(const Pattern& pattern) {
    if (pattern.of_graph) return pattern.of_graph(matching_);
    for (uint32_t i = 0; i < graph().n_nodes(); ++i) {
      const NodeView node = graph().node(i);
      if (node.op() != pattern.op || !matching_.is_free(i)) continue;
      if (std::optional<Match> match = pattern.of_node(matching_, node)) matching_.claim(std::move(*match));
    }
  }

  Rewritten make() {
    if (matching_.matches_.empty()) return {};
    Rewrite to(graph());
    for (const Match& match : matching_.matches_) {
      for (const auto& [node, emit] : match.parts) emit_[node] = &emit;
      for (const auto& [value, other] : match.instead) to.put_instead(value, other);
    }
    for (uint32_t i = 0; i < graph().n_nodes(); ++i) {
      if (emit_[i]) (*emit_[i])(to);
      if (matching_.is_free(i)) to.copy(graph().node(i));
    }
    return to.finish();
  }

 private:
  const GraphView& graph() const { return matching_.graph(); }

  Matching matching_;
  std::vector<const Match::Emit*> emit_;  // of each node
};

Rewritten rewrite(const GraphView& graph, const std::vector<Pattern>& patterns) {
  Rewriting rewriting(graph);
  for (const Pattern& pattern : patterns) rewriting.find(pattern);
  return rewriting.make();
}

Rewritten joined(Rewritten first, Rewritten second) {
  if (second.origins.empty()) return first;
  if (first.origins.empty()) return second;
  const auto through = [](std::vector<uint32_t>& to, const std::vector<uint32_t>& map) {
    for (uint32_t& i : to) i = i == TENON_NONE ? i : map[i];
  };
  through(second.origins, first.origins);
  through(second.values, first.values);
  through(first.done_by, second.done_by);
  second.done_by = std::move(first.done_by);
  return second;
}

GraphView graph_after(const Rewritten& first, const GraphView& given) {
  return first.origins.empty() ? given : GraphView(*first.graph.graph());
}

void copy_attributes(GraphBuilder& to, const NodeView& node) {
  for (int i = 0; i < node.attributes(); ++i) to.attr(node.graph(), node.attribute(i));
}

}  // namespace tenon::plugin
