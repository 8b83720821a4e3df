#include "runtime/plan/views.h"

#include <algorithm>

#include "tenon/plugin/geometry.h"

namespace tenon::plugin {
namespace {

// Another version may mean something else, and its kernel is to be asked.
bool is(const NodeView& node, std::string_view op) { return node.version() == 1 && node.op() == op; }

// Whether all axes before this one have size 1: what is cut along it lies in one piece.
bool is_outermost(const ValueView& value, int64_t axis) {
  for (int d = 0; d < axis; ++d)
    if (value.dim(d) != 1) return false;
  return true;
}

class Finder {
 public:
  explicit Finder(const GraphView& graph) : graph_(graph) {
    const uint32_t n = graph.n_values();
    views_ = {std::vector<uint32_t>(n), std::vector<uint64_t>(n), std::vector<bool>(graph.n_nodes())};
    for (uint32_t v = 0; v < n; ++v) views_.root[v] = v;
    made_.assign(n, false);
    for_each_node([&](const NodeView& node) {
      for (int k = 0; k < node.results(); ++k)
        if (node.has_result(k)) made_[node.result_id(k)] = true;
    });
  }

  Views find() {
    for_each_node([&](const NodeView& node) {
      if (is(node, "reshape")) lay(node, 0);
    });
    find_shown();
    for_each_node([&](const NodeView& node) {
      if (is(node, "slice") && is_rows(node)) lay(node, first_byte(node));
      if (is(node, "concat") && is_join(node)) join(node);
    });
    for (uint32_t v = 0; v < graph_.n_values(); ++v) resolve(v);
    return std::move(views_);
  }

 private:
  template <class F>
  void for_each_node(F f) const {
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) f(graph_.node(i));
  }

  // The result lies in the operand.
  void lay(const NodeView& node, uint64_t at) {
    views_.root[node.result_id(0)] = node.operand_id(0);
    views_.offset[node.result_id(0)] = at;
    views_.idle[node.index()] = true;
  }

  // What a result of the graph is, by way of reshapes.
  void find_shown() {
    shown_.assign(graph_.n_values(), false);
    for (uint32_t r = 0; r < graph_.n_results(); ++r)
      for (uint32_t v = graph_.result(r).value; !shown_[v]; v = views_.root[v]) shown_[v] = true;
  }

  bool is_rows(const NodeView& node) const {
    const ValueView x = node.in(0), y = node.out(0);
    if (shown_[node.result_id(0)]) return false;
    for (int d = 0; d < x.rank(); ++d)
      if (item(node, "stride", d, 1) != 1 || (x.dim(d) != y.dim(d) && !is_outermost(y, d))) return false;
    return true;
  }
  uint64_t first_byte(const NodeView& node) const {
    const ValueView x = node.in(0);
    uint64_t at = 0;
    for (int d = 0; d < x.rank(); ++d)
      at = at * static_cast<uint64_t>(x.dim(d)) + static_cast<uint64_t>(item(node, "start", d, 0));
    return at * static_cast<uint64_t>(dtype_bytes(x.dtype()));
  }

  // The value that a node makes and that v is, by way of reshapes.
  uint32_t maker(uint32_t v) const {
    while (views_.root[v] != v && graph_.value(v).bytes() == graph_.value(views_.root[v]).bytes()) v = views_.root[v];
    return v;
  }

  // Each operand is made by a node, to be joined here and nowhere else.
  bool is_join(const NodeView& node) const {
    const ValueView y = node.out(0);
    if (!is_outermost(y, node.i64("axis"))) return false;
    std::vector<uint32_t> makers;
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t v = maker(node.operand_id(k));
      if (!made_[v] || views_.root[v] != v || shown_[v]) return false;
      makers.push_back(v);
    }
    std::sort(makers.begin(), makers.end());
    return std::adjacent_find(makers.begin(), makers.end()) == makers.end();
  }
  void join(const NodeView& node) {
    uint64_t at = 0;
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t v = maker(node.operand_id(k));
      views_.root[v] = node.result_id(0);
      views_.offset[v] = at;
      at += static_cast<uint64_t>(node.in(k).bytes());
    }
    views_.idle[node.index()] = true;
  }

  void resolve(uint32_t v) {
    uint64_t at = views_.offset[v];
    uint32_t root = views_.root[v];
    for (; views_.root[root] != root; root = views_.root[root]) at += views_.offset[root];
    resolved_root_.push_back(root);
    resolved_offset_.push_back(at);
    if (v + 1 == graph_.n_values())
      views_.root = std::move(resolved_root_), views_.offset = std::move(resolved_offset_);
  }

  GraphView graph_;
  Views views_;
  std::vector<bool> made_;   // by a node
  std::vector<bool> shown_;  // a result of the graph, or what it is a reshape of
  std::vector<uint32_t> resolved_root_;
  std::vector<uint64_t> resolved_offset_;
};

}  // namespace

Views find_views(const GraphView& graph) { return Finder(graph).find(); }

}  // namespace tenon::plugin
