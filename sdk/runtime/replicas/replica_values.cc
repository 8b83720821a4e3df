#include "runtime/replicas/replica_values.h"

#include <algorithm>
#include <utility>

#include "tenon/plugin/element.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/graph_rewrite.h"

namespace tenon::plugin {
namespace {

using Ids = ReplicaValues::Ids;
using Dims = ReplicaValues::Dims;

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// Without what nobody reads: of a value that is wanted in one form, others.
UnrolledGraph without_idle(UnrolledGraph unrolled) {
  const GraphView graph(*unrolled.graph.graph());
  std::vector<bool> read(graph.n_values()), keep(graph.n_nodes());
  for (uint32_t r = 0; r < graph.n_results(); ++r) read[graph.result(r).value] = true;
  for (uint32_t i = graph.n_nodes(); i-- > 0;) {
    const NodeView node = graph.node(i);
    for (int k = 0; k < node.results(); ++k) keep[i] = keep[i] || (node.has_result(k) && read[node.result_id(k)]);
    for (int k = 0; k < node.operands() && keep[i]; ++k)
      if (node.has(k)) read[node.operand_id(k)] = true;
  }
  if (std::count(keep.begin(), keep.end(), false) == 0) return unrolled;
  Rewrite rewrite(graph);
  for (uint32_t i = 0; i < graph.n_nodes(); ++i)
    if (keep[i]) rewrite.copy(graph.node(i));
  Rewritten live = rewrite.finish();
  UnrolledGraph out{std::move(live.graph), {}};
  for (uint32_t i : live.origins) out.origins.push_back(unrolled.origins[i]);
  return out;
}

}  // namespace

ReplicaValues::ReplicaValues(const GraphView& graph, uint32_t units)
    : graph_(graph), n_(units), values_(graph.n_values()), constant_of_(graph.n_values(), TENON_NONE) {
  for (uint32_t i = 0; i < graph.n_constants(); ++i) constant_of_[graph.constant(i).value] = i;
}

UnrolledGraph ReplicaValues::finish() {
  UnrolledGraph out;
  out.graph = builder_.build();
  out.origins = std::move(origins_);
  return without_idle(std::move(out));
}

Dims ReplicaValues::joined_dims(uint32_t v) const {
  Dims joined = dims(v);
  if (joined.empty()) return {n_};
  joined[0] *= n_;
  return joined;
}

Dims ReplicaValues::stacked_dims(uint32_t v) const {
  Dims stacked = dims(v);
  stacked.insert(stacked.begin(), n_);
  return stacked;
}

// ---- nodes ----

uint32_t ReplicaValues::make(uint32_t v, const Dims& dims) {
  return builder_.value(dtype(v), dims, graph_.value_name(v));
}

GraphBuilder& ReplicaValues::start(std::string_view op, const Ids& operands, const Ids& results, uint32_t unit) {
  origins_.push_back({source_, unit});
  if (source_ == TENON_NONE) return builder_.node(op, operands, results);
  const NodeView node = graph_.node(source_);
  return builder_.node(op, operands, results, op == node.op() ? node.version() : 1).name_after(node.name());
}

uint32_t ReplicaValues::reshaped(uint32_t id, uint32_t v, const Dims& dims) {
  const uint32_t y = builder_.value(dtype(v), dims);
  start("reshape", {id}, {y}).attr_list("shape", dims);
  return y;
}

uint32_t ReplicaValues::cut(uint32_t id, uint32_t v, Dims dims, int64_t axis, int64_t first, int64_t size,
                            uint32_t unit) {
  Dims begin(dims.size()), end = dims, step(dims.size(), 1);
  begin[axis] = first;
  end[axis] = first + size;
  dims[axis] = size;
  const uint32_t y = builder_.value(dtype(v), dims);
  start("slice", {id}, {y}, unit).attr_list("start", begin).attr_list("limit", end).attr_list("stride", step);
  return y;
}

uint32_t ReplicaValues::concat(const Ids& parts, uint32_t v, const Dims& dims, int64_t axis) {
  const uint32_t y = builder_.value(dtype(v), dims);
  start("concat", parts, {y}).attr_i64("axis", axis);
  return y;
}

uint32_t ReplicaValues::broadcast(uint32_t id, uint32_t v, const Dims& dims, const Dims& to) {
  const uint32_t y = builder_.value(dtype(v), to);
  start("broadcast", {id}, {y}).attr_list("shape", to).attr_list("dims", dims);
  return y;
}

// ---- forms ----

uint32_t ReplicaValues::part(uint32_t v, uint32_t unit) {
  if (v == TENON_NONE) return TENON_NONE;
  Value& value = values_[v];
  if (is_same(v)) return value.same;
  if (value.parts.empty())
    for (uint32_t u = 0; u < n_; ++u) value.parts.push_back(part_of(value.joined, v, u));
  return value.parts[unit];
}

uint32_t ReplicaValues::part_of(uint32_t joined, uint32_t v, uint32_t unit) {
  const Dims whole = dims(v);
  const int64_t size = whole.empty() ? 1 : whole[0];
  const uint32_t y = cut(joined, v, joined_dims(v), 0, size * unit, size, unit);
  return whole.empty() ? reshaped(y, v, {}) : y;
}

uint32_t ReplicaValues::joined(uint32_t v) {
  Value& value = values_[v];
  if (value.joined != TENON_NONE) return value.joined;
  if (is_same(v)) return value.joined = repeated(v);
  Ids parts;
  for (uint32_t u = 0; u < n_; ++u) parts.push_back(dims(v).empty() ? reshaped(part(v, u), v, {1}) : part(v, u));
  return value.joined = concat(parts, v, joined_dims(v), 0);
}

uint32_t ReplicaValues::stacked(uint32_t v) {
  if (dims(v).empty()) return joined(v);
  if (values_[v].stacked == TENON_NONE) values_[v].stacked = reshaped(joined(v), v, stacked_dims(v));
  return values_[v].stacked;
}

// Better made anew for all rows than copied.
uint32_t ReplicaValues::repeated(uint32_t v) {
  if (const uint32_t y = filled(v); y != TENON_NONE) return y;
  if (const uint32_t y = repeated_again(v); y != TENON_NONE) return y;
  const Dims all = joined_dims(v), one = dims(v);
  if (one.empty()) return broadcast(values_[v].same, v, {}, all);
  const int64_t elements = product(one);
  const uint32_t flat = one.size() == 1 ? values_[v].same : reshaped(values_[v].same, v, {elements});
  const uint32_t y = broadcast(flat, v, {1}, {n_, elements});
  return reshaped(y, v, all);
}

// A constant of one element.
uint32_t ReplicaValues::filled(uint32_t v) {
  if (constant_of_[v] == TENON_NONE) return TENON_NONE;
  const tenon_constant& c = graph_.constant(constant_of_[v]);
  if (c.bytes != static_cast<uint64_t>(dtype_bytes(dtype(v)))) return TENON_NONE;
  return builder_.constant(dtype(v), joined_dims(v), graph_.constant_data(c), c.bytes);
}

// A broadcast along axis 0.
uint32_t ReplicaValues::repeated_again(uint32_t v) {
  if (values_[v].definer == TENON_NONE) return TENON_NONE;
  const NodeView node = graph_.node(values_[v].definer);
  if (node.op() != "broadcast" || node.version() != 1 || node.out(0).rank() == 0) return TENON_NONE;
  const uint32_t x = node.operand_id(0);
  if (node.in(0).rank() > 0 && item(node, "dims", 0, -1) == 0 && node.in(0).dim(0) != 1) return TENON_NONE;
  return broadcast(values_[x].same, v, node.list("dims").vec(), joined_dims(v));
}

uint32_t ReplicaValues::spread(uint32_t v, uint32_t like) {
  const Dims all = joined_dims(like);
  const uint32_t y = broadcast(joined(v), v, {0}, {n_, product(all) / n_});
  return reshaped(y, v, all);
}

uint32_t ReplicaValues::number_of_units(int32_t dtype) {
  uint32_t id = TENON_NONE;
  dispatch(Numbers{}, dtype, [&](auto t) {
    const auto n = static_cast<decltype(t)>(n_);
    id = builder_.constant(dtype, {}, &n, sizeof n);
  });
  return id;
}

uint32_t ReplicaValues::times(uint32_t v) {
  const uint32_t y = builder_.value(dtype(v), dims(v));
  start("mul", {values_[v].same, number_of_units(dtype(v))}, {y});
  return y;
}

}  // namespace tenon::plugin
