#include "fuse/joint_updates.h"

#include <algorithm>
#include <vector>

#include "fuse/alike.h"
#include "tenon/abi/optimizer.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::Match;
using tenon::plugin::Matching;
using tenon::plugin::NodeView;
using tenon::plugin::Rewrite;

constexpr int64_t kMostElements = 1 << 16;  // of a variable: larger ones fill a device, and gradients should not wait
constexpr size_t kMostBytes = 1024;         // of a kernel's arguments, which every device takes

bool has_slot(const NodeView& node, int k) { return node.has(TENON_UPDATE_SLOTS + k); }

// The size of a variable's arguments: memory and its offset are 16.
size_t bytes_of(const NodeView& node) {
  size_t bytes = 3 * 16 + 8;
  for (int k = 0; k < kMostSlots; ++k) bytes += has_slot(node, k) ? 2 * 16 : 0;
  return bytes;
}
constexpr size_t kSharedBytes = 4 * 16 + 3 * 4 + 16 * 8;

bool alike(const NodeView& a, const NodeView& b) {
  if (a.op() != b.op() || a.out(0).dtype() != b.out(0).dtype()) return false;
  for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE})
    if (a.has(i) != b.has(i) || (a.has(i) && a.operand_id(i) != b.operand_id(i))) return false;
  for (int k = 0; k < kMostSlots; ++k)
    if (has_slot(a, k) != has_slot(b, k)) return false;
  return same_attributes(a, b);
}

using Group = std::vector<NodeView>;

bool may_be_joined(const NodeView& node) {
  return is_update_by_element(node.op()) && node.version() == 1 && !node.has(TENON_UPDATE_ROWS) &&
         node.out(0).elements() <= kMostElements;
}

// Nothing before node i reads what the group's members make.
bool may_move_to(const Matching& m, const Group& group, uint32_t i) {
  for (const NodeView& node : group)
    for (int r = 0; r < node.results(); ++r)
      if (node.has_result(r))
        for (const uint32_t reader : m.readers(node.result_id(r)))
          if (reader <= i) return false;
  return true;
}

void join(const Matching& m, const NodeView& node, std::vector<Group>& groups) {
  for (Group& group : groups) {
    const bool room = kSharedBytes + (group.size() + 1) * bytes_of(node) <= kMostBytes;
    if (room && alike(group[0], node) && may_move_to(m, group, node.index())) return group.push_back(node);
  }
  groups.push_back({node});
}

// Where the last one stood.
void add_group(const Group& group, Rewrite& to) {
  std::vector<uint32_t> operands, results;
  const NodeView& last = group.back();
  for (int i : {TENON_UPDATE_LR, TENON_UPDATE_STEP, TENON_UPDATE_SCALE, TENON_UPDATE_GATE})
    operands.push_back(to.operand(last, i));
  for (const NodeView& member : group) {
    for (int k : {TENON_UPDATE_P, TENON_UPDATE_G}) operands.push_back(to.operand(member, k));
    results.push_back(to.result(member, 0));
    for (int k = 0; k < kMostSlots; ++k) {
      operands.push_back(to.operand(member, TENON_UPDATE_SLOTS + k));
      results.push_back(has_slot(member, k) ? to.result(member, 1 + k) : TENON_NONE);
    }
  }
  tenon::plugin::GraphBuilder& node = to.add(kUpdates, operands, results, last);
  tenon::plugin::copy_attributes(node, last);
  node.attr_bytes("op", last.op().data(), last.op().size()).attr_i64("members", static_cast<int64_t>(group.size()));
}

}  // namespace

void join_updates(Matching& m) {
  std::vector<Group> groups;
  for (uint32_t i = 0; i < m.graph().n_nodes(); ++i)
    if (const NodeView node = m.graph().node(i); m.is_free(i) && may_be_joined(node)) join(m, node, groups);
  for (const Group& group : groups) {
    if (group.size() < 2) continue;
    Match match({}, group.back().index(), [group](Rewrite& to) { add_group(group, to); });
    for (const NodeView& node : group) match.nodes.push_back(node.index());
    m.claim(std::move(match));
  }
}

}  // namespace opencl_gpu
