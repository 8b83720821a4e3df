#include "optimizer/dealt.h"

#include <algorithm>

#include "base/strings.h"
#include "op/op.h"

namespace tenon {
namespace {

constexpr int64_t kFewest = 1024;  // elements that are worth dealing

bool is_scalar(const Graph& graph, ValueId v) { return v < 0 || graph.type(v).shape.rank() == 0; }

bool treats_each_by_itself(const Graph& graph, const Node& node) {
  if (node.custom) return false;
  const auto scalar = [&](ValueId v) { return is_scalar(graph, v); };
  const bool of_scalars = std::all_of(node.operands.begin(), node.operands.end(), scalar);
  if (node.op == "constant" || (node.op == "broadcast" && of_scalars)) return true;
  const op::Row& row = find_op(node.op, node.version)->row;
  if (row.category == op::Category::kRandom || row.category == op::Category::kSource) return false;
  if (of_scalars && std::all_of(node.results.begin(), node.results.end(), scalar)) return true;
  return row.category == op::Category::kElementwise || row.update.pointwise || node.op == "nadam_update";
}

}  // namespace

bool Dealt::deals(const Graph& graph, const Shape& whole) {
  return graph.between.shard_optimizer_state && graph.replicas > 1 && whole.elements() >= kFewest;
}

Dealt::Dealt(const Graph& graph, const Shape& whole)
    : whole_(whole), part_({(whole.elements() + graph.replicas - 1) / graph.replicas}), replicas_(graph.replicas) {}

Tensor Dealt::row(Tensor whole) const {
  const Tensor row = reshape(whole, {whole_.elements()});
  const int64_t behind = part_[0] * replicas_ - whole_.elements();
  return behind > 0 ? pad(row, {0}, {behind}, {0}, 0) : row;
}

Tensor Dealt::own(Tensor whole) const {
  return gather(reshape(row(whole), {replicas_, part_[0]}), replica_id(*whole.graph()), 0);
}

Tensor Dealt::sum(Tensor whole) const { return reduce_scatter(row(whole), 0); }

Tensor Dealt::joined(Tensor part) const {
  const Tensor row = all_gather(part, 0);
  const bool all = row.elements() == whole_.elements();
  return reshape(all ? row : slice(row, {0}, {whole_.elements()}, {1}), whole_);
}

void fail_at_parts(std::string_view optimizer, std::string_view why) {
  fail(optimizer, ": shard_optimizer_state is for optimizers that update each element by itself; ", why);
}

void expect_pointwise(const Graph& graph, size_t first, std::string_view optimizer) {
  for (size_t n = first; n < graph.nodes.size(); ++n)
    if (const Node& node = graph.nodes[n]; !treats_each_by_itself(graph, node))
      fail_at_parts(optimizer, cat(describe(node), " does not"));
}

}  // namespace tenon
