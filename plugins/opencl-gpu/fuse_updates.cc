#include "fuse_updates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "tenon/abi/optimizer.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::GraphView;
using tenon::plugin::NodeView;
using tenon::plugin::Rewrite;

constexpr int64_t kMostElements = 1 << 16;  // of a variable: larger ones fill a device, and gradients should not wait
constexpr size_t kMostBytes = 1024;         // of a kernel's arguments, which every device takes

bool has_slot(const NodeView& node, int k) { return node.has(TENON_UPDATE_SLOTS + k); }

// Of arguments: memory and its offset are 16.
size_t bytes_of(const NodeView& node) {
  size_t bytes = 3 * 16 + 8;
  for (int k = 0; k < kMostSlots; ++k) bytes += has_slot(node, k) ? 2 * 16 : 0;
  return bytes;
}
constexpr size_t kSharedBytes = 4 * 16 + 3 * 4 + 16 * 8;

// Attributes that say what a node computes: "tenon.*" are hints.
std::vector<int> telling_attributes(const NodeView& node) {
  std::vector<int> found;
  for (int i = 0; i < node.attributes(); ++i)
    if (node.attribute_name(i).substr(0, 6) != "tenon.") found.push_back(i);
  return found;
}

bool same_attributes(const NodeView& a, const NodeView& b) {
  const std::vector<int> of_a = telling_attributes(a), of_b = telling_attributes(b);
  if (of_a.size() != of_b.size()) return false;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const tenon_attr &x = a.attribute(of_a[i]), &y = b.attribute(of_b[i]);
    if (a.attribute_name(of_a[i]) != b.attribute_name(of_b[i]) || x.type != y.type || x.count != y.count) return false;
    const uint64_t bytes = x.type == TENON_ATTR_BYTES ? x.count : x.count * 8;
    if (std::memcmp(a.graph().attr_data(x), b.graph().attr_data(y), bytes) != 0) return false;
  }
  return true;
}

bool alike(const NodeView& a, const NodeView& b) {
  if (a.op() != b.op() || a.out(0).dtype() != b.out(0).dtype()) return false;
  for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE})
    if (a.has(i) != b.has(i) || (a.has(i) && a.operand_id(i) != b.operand_id(i))) return false;
  for (int k = 0; k < kMostSlots; ++k)
    if (has_slot(a, k) != has_slot(b, k)) return false;
  return same_attributes(a, b);
}

class UpdateJoiner : public tenon::plugin::Fuser {
 public:
  explicit UpdateJoiner(const GraphView& graph) : graph_(graph), readers_(tenon::plugin::readers_of(graph)) {
    for (uint32_t i = 0; i < graph.n_nodes(); ++i)
      if (suits(graph.node(i))) join(i);
    for (const std::vector<uint32_t>& group : groups_)
      if (group.size() > 1)
        for (uint32_t node : group) group_of_[node] = &group;
  }

  bool empty() const override { return group_of_.empty(); }
  bool replaces(uint32_t node) const override { return group_of_.count(node) != 0; }

  // Where the last one stood.
  void replace(uint32_t node, Rewrite& rewrite) override {
    const std::vector<uint32_t>& group = *group_of_.at(node);
    if (node != group.back()) return;
    std::vector<uint32_t> operands, results;
    const NodeView last = graph_.node(node);
    for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE})
      operands.push_back(last.has(i) ? rewrite.value(last.operand_id(i)) : TENON_NONE);
    for (uint32_t i : group) {
      const NodeView member = graph_.node(i);
      for (int k : {TENON_UPDATE_P, TENON_UPDATE_G}) operands.push_back(rewrite.value(member.operand_id(k)));
      results.push_back(rewrite.value(member.result_id(0)));
      for (int k = 0; k < kMostSlots; ++k) {
        const bool there = has_slot(member, k);
        operands.push_back(there ? rewrite.value(member.operand_id(TENON_UPDATE_SLOTS + k)) : TENON_NONE);
        results.push_back(there ? rewrite.value(member.result_id(1 + k)) : TENON_NONE);
      }
    }
    tenon::plugin::GraphBuilder& to = rewrite.add(kUpdates, operands, results, last);
    tenon::plugin::copy_attributes(to, last);
    to.attr_bytes("op", last.op().data(), last.op().size()).attr_i64("members", static_cast<int64_t>(group.size()));
  }

 private:
  static bool suits(const NodeView& node) {
    return is_update_by_element(node.op()) && node.version() == 1 && !node.has(TENON_UPDATE_ROWS) &&
           node.out(0).elements() <= kMostElements && !node.out(0).has_extents();
  }

  // Nothing before node i reads what the group's members make.
  bool may_move_to(const std::vector<uint32_t>& group, uint32_t i) const {
    for (uint32_t member : group) {
      const NodeView node = graph_.node(member);
      for (int r = 0; r < node.results(); ++r)
        if (node.has_result(r))
          for (uint32_t reader : readers_[node.result_id(r)])
            if (reader <= i) return false;
    }
    return true;
  }

  void join(uint32_t i) {
    const NodeView node = graph_.node(i);
    for (std::vector<uint32_t>& group : groups_) {
      const bool room = kSharedBytes + (group.size() + 1) * bytes_of(node) <= kMostBytes;
      if (room && alike(graph_.node(group[0]), node) && may_move_to(group, i)) return group.push_back(i);
    }
    groups_.push_back({i});
  }

  GraphView graph_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<std::vector<uint32_t>> groups_;
  std::map<uint32_t, const std::vector<uint32_t>*> group_of_;
};

}  // namespace

std::unique_ptr<tenon::plugin::Fuser> fuse_updates(const GraphView& graph) {
  return std::make_unique<UpdateJoiner>(graph);
}

}  // namespace opencl_gpu
