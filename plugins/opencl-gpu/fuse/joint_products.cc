#include "fuse/joint_products.h"

#include <algorithm>
#include <vector>

#include "fuse/alike.h"
#include "own_nodes.h"
#include "tenon/plugin/geometry.h"

namespace opencl_gpu {
namespace {

using tenon::plugin::GraphBuilder;
using tenon::plugin::Match;
using tenon::plugin::Matching;
using tenon::plugin::NodeView;
using tenon::plugin::Rewrite;
using tenon::plugin::ValueView;

// Nodes between the first and the last of a group: what is computed early waits for its reader in memory.
constexpr uint32_t kFar = 16;

using Products = std::vector<NodeView>;

bool is_joinable_product(const NodeView& node) {
  if ((node.op() != "dot" && node.op() != "dot_bias_act") || node.version() != 1) return false;
  const ValueView c = node.out(own::product::out::c);
  return c.rank() == 2 && c.elements() > 0 && node.in(own::product::a).elements() > 0 &&
         !node.has(own::product::residual);
}

bool same_kind(const ValueView& a, const ValueView& b) {
  return a.dtype() == b.dtype() && a.dims().vec() == b.dims().vec();
}

bool alike(const Matching& m, const NodeView& a, const NodeView& b) {
  const auto what = [&](const NodeView& node, int k) { return m.before_reshape(node.operand_id(k)); };
  return a.op() == b.op() && what(a, own::product::a) == what(b, own::product::a) &&
         same_kind(a.in(own::product::a), b.in(own::product::a)) &&
         same_kind(a.in(own::product::b), b.in(own::product::b)) &&
         a.has(own::product::bias) == b.has(own::product::bias) &&
         a.out(own::product::out::c).dtype() == b.out(own::product::out::c).dtype() && same_attributes(a, b);
}

// What the node reads, but for reshapes, is there before node i.
bool may_stand_at(const Matching& m, const NodeView& node, uint32_t i) {
  for (int k = 0; k < node.operands(); ++k) {
    if (!node.has(k)) continue;
    const auto maker = m.maker(m.before_reshape(node.operand_id(k)));
    if (maker && maker->index() >= i) return false;
  }
  return true;
}

void join_product(const Matching& m, const NodeView& node, std::vector<Products>& groups) {
  for (Products& group : groups) {
    const NodeView& first = group[0];
    if (group.size() < kMostProducts && node.index() - first.index() <= kFar && alike(m, first, node) &&
        may_stand_at(m, node, first.index()))
      return group.push_back(node);
  }
  groups.push_back({node});
}

std::vector<int64_t> sizes_of(const NodeView& node) {
  const ValueView a = node.in(own::product::a), c = node.out(own::product::out::c);
  return {c.dim(0), c.dim(1), a.dim(node.flag("ta") ? 0 : 1)};
}

// Where the first one stood.
void add_group(const Matching& m, const Products& group, Rewrite& to) {
  const auto operand = [&](const NodeView& node, int k) {
    return node.has(k) ? to.value(m.before_reshape(node.operand_id(k))) : TENON_NONE;
  };
  std::vector<uint32_t> operands{operand(group[0], own::product::a)}, results;
  for (const NodeView& member : group) {
    for (int k : {own::product::b, own::product::bias}) operands.push_back(operand(member, k));
    results.push_back(to.result(member, own::product::out::c));
  }
  GraphBuilder& node = to.add(kProducts, operands, results, group[0]);
  tenon::plugin::copy_attributes(node, group[0]);
  node.attr_i64("members", static_cast<int64_t>(group.size())).attr_list("sizes", sizes_of(group[0]));
}

}  // namespace

void join_products(Matching& m) {
  std::vector<Products> groups;
  for (uint32_t i = 0; i < m.graph().n_nodes(); ++i)
    if (const NodeView node = m.graph().node(i); m.is_free(i) && is_joinable_product(node))
      join_product(m, node, groups);
  for (const Products& group : groups) {
    if (group.size() < 2) continue;
    Match match({}, group[0].index(), [&m, group](Rewrite& to) { add_group(m, group, to); });
    for (const NodeView& node : group) match.nodes.push_back(node.index());
    m.claim(std::move(match));
  }
}

}  // namespace opencl_gpu
