#include "tenon/plugin/replicas.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace tenon::plugin {
namespace {

using Ids = std::vector<uint32_t>;
using Dims = std::vector<int64_t>;

bool is_collective(std::string_view op) {
  return op == "all_gather" || op == "all_reduce" || op == "reduce_scatter" || op == "replica_id";
}

// Whether each unit draws numbers of its own.
bool draws(const NodeView& node) {
  return (node.op() == "random" && node.flag("per_replica")) || node.op() == "dropout";
}

class Unroller {
 public:
  Unroller(const GraphView& graph, uint32_t units) : graph_(graph), n_(units), values_(graph.n_values()) {}

  UnrolledGraph make() {
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) add_input(graph_.input(i));
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) add_constant(graph_.constant(i));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      source_ = i;
      add(graph_.node(i));
    }
    for (uint32_t i = 0; i < graph_.n_results(); ++i) add_result(graph_.result(i));
    out_.graph = builder_.build();
    return std::move(out_);
  }

 private:
  // A value of the given graph: `same` on all units, or a part for each, or all parts joined along axis 0.
  struct Value {
    uint32_t same = TENON_NONE, joined = TENON_NONE;
    Ids parts;
    uint32_t definer = TENON_NONE;  // the node that makes it
  };

  bool is_same(uint32_t v) const { return values_[v].same != TENON_NONE; }
  Dims dims_of(uint32_t v) const { return graph_.value(v).dims().vec(); }
  int32_t dtype_of(uint32_t v) const { return graph_.value(v).dtype(); }
  // Of all parts together; of a scalar's, a list.
  Dims joined_dims(uint32_t v) const {
    Dims dims = dims_of(v);
    if (dims.empty()) return {n_};
    dims[0] *= n_;
    return dims;
  }

  // ---- values of the new graph ----

  uint32_t make_value(uint32_t v, const Dims& dims) {
    const uint32_t id = builder_.value(dtype_of(v), dims, graph_.value_name(v));
    for (int axis = 0; axis < graph_.value(v).rank(); ++axis)
      if (graph_.value(v).extent(axis)) builder_.extent(id, axis, graph_.value(v).extent(axis));
    return id;
  }
  GraphBuilder& start(std::string_view op, const Ids& operands, const Ids& results, uint32_t unit = 0) {
    out_.origins.push_back({source_, unit});
    if (source_ == TENON_NONE) return builder_.node(op, operands, results);
    const NodeView node = graph_.node(source_);
    return builder_.node(op, operands, results, op == node.op() ? node.version() : 1).name(node.name());
  }
  uint32_t reshaped(uint32_t id, uint32_t v, const Dims& dims) {
    const uint32_t y = builder_.value(dtype_of(v), dims);
    start("reshape", {id}, {y}).attr_list("shape", dims);
    return y;
  }
  // Rows [first, first + rows) of a value of these dims.
  uint32_t rows(uint32_t id, uint32_t v, Dims dims, int64_t axis, int64_t first, int64_t size, uint32_t unit) {
    Dims begin(dims.size()), end = dims, step(dims.size(), 1);
    begin[axis] = first;
    end[axis] = first + size;
    dims[axis] = size;
    const uint32_t y = builder_.value(dtype_of(v), dims);
    start("slice", {id}, {y}, unit).attr_list("start", begin).attr_list("limit", end).attr_list("stride", step);
    return y;
  }
  uint32_t join(const Ids& parts, uint32_t v, const Dims& dims, int64_t axis) {
    const uint32_t y = builder_.value(dtype_of(v), dims);
    start("concat", parts, {y}).attr_i64("axis", axis);
    return y;
  }

  uint32_t part(uint32_t v, uint32_t unit) {
    if (v == TENON_NONE) return TENON_NONE;
    Value& value = values_[v];
    if (is_same(v)) return value.same;
    if (value.parts.empty())
      for (uint32_t u = 0; u < n_; ++u) value.parts.push_back(cut(value.joined, v, u));
    return value.parts[unit];
  }
  uint32_t cut(uint32_t joined, uint32_t v, uint32_t unit) {
    const Dims dims = dims_of(v);
    const int64_t size = dims.empty() ? 1 : dims[0];
    const uint32_t y = rows(joined, v, joined_dims(v), 0, size * unit, size, unit);
    return dims.empty() ? reshaped(y, v, {}) : y;
  }
  // All units' parts along axis 0, also of what is the same.
  uint32_t joined(uint32_t v) {
    Value& value = values_[v];
    if (value.joined != TENON_NONE) return value.joined;
    Ids parts;
    for (uint32_t u = 0; u < n_; ++u) parts.push_back(dims_of(v).empty() ? reshaped(part(v, u), v, {1}) : part(v, u));
    return value.joined = join(parts, v, joined_dims(v), 0);
  }

  // ---- inputs, constants, results ----

  void add_input(const tenon_input& input) {
    const uint32_t v = input.value;
    const bool split = input.placement == TENON_SPLIT && n_ > 1;
    const uint32_t id = builder_.input(dtype_of(v), split ? joined_dims(v) : dims_of(v),
                                       static_cast<tenon_role>(input.role), graph_.value_name(v));
    (split ? values_[v].joined : values_[v].same) = id;
  }
  void add_constant(const tenon_constant& c) {
    values_[c.value].same = builder_.constant(dtype_of(c.value), dims_of(c.value), graph_.constant_data(c), c.bytes);
  }
  // Replicated states stay equal, so one unit's part stands for all.
  void add_result(const tenon_result& r) {
    const bool split = r.placement == TENON_SPLIT && n_ > 1;
    if (split && graph_.value(r.value).rank() == 0) throw std::runtime_error("a SPLIT result has no rows");
    source_ = values_[r.value].definer;
    builder_.result(split ? joined(r.value) : part(r.value, 0), static_cast<tenon_mode>(r.mode), r.alias);
  }

  // ---- nodes ----

  void add(const NodeView& node) {
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_[node.result_id(k)].definer = node.index();
    if (is_collective(node.op())) return add_collective(node);
    if (draws(node)) return add_draw(node);
    bool same = true;
    for (int k = 0; k < node.operands(); ++k) same = same && (!node.has(k) || is_same(node.operand_id(k)));
    for (uint32_t u = 0; u < (same ? 1 : n_); ++u) add_copy(node, u, same);
  }
  void add_copy(const NodeView& node, uint32_t unit, bool same) {
    Ids operands, results;
    for (int k = 0; k < node.operands(); ++k)
      operands.push_back(part(node.has(k) ? node.operand_id(k) : TENON_NONE, unit));
    for (int k = 0; k < node.results(); ++k) {
      results.push_back(TENON_NONE);
      if (!node.has_result(k)) continue;
      const uint32_t v = node.result_id(k);
      results.back() = make_value(v, dims_of(v));
      if (same)
        values_[v].same = results.back();
      else
        values_[v].parts.push_back(results.back());
    }
    start(node.op(), operands, results, unit);
    copy_attributes(node, {});
  }
  void copy_attributes(const NodeView& node, std::string_view except) {
    for (int i = 0; i < node.attributes(); ++i)
      if (node.attribute_name(i) != except) builder_.attr(node.graph(), node.attribute(i));
  }

  // Unit u's element e counts as e + u * size: what an array of all units' rows gives.
  void add_draw(const NodeView& node) {
    const uint32_t v = node.result_id(0);
    Ids operands;
    for (int k = 0; k < node.operands(); ++k) {
      const bool is_chance = node.has(k) && node.in(k).rank() == 0 && dtype_of(node.operand_id(k)) == TENON_I64;
      operands.push_back(!node.has(k) ? TENON_NONE
                         : is_chance  ? part(node.operand_id(k), 0)
                                      : joined(node.operand_id(k)));
    }
    const Dims dims = joined_dims(v);
    values_[v].joined = make_value(v, dims);
    start(node.op(), operands, {values_[v].joined});
    copy_attributes(node, "shape");
    if (node.op() == "random") builder_.attr_list("shape", dims);
  }

  // ---- collectives ----

  void add_collective(const NodeView& node) {
    if (node.op() == "replica_id") return add_replica_ids(node);
    const int64_t group = node.i64("group"), replicas = node.i64("replicas", 1);
    const int64_t size = group == 0 ? n_ : group;
    if (size > n_ || n_ % size || replicas != size)
      throw std::runtime_error(std::string(node.op()) + " '" + std::string(node.name()) +
                               "': " + std::to_string(replicas) + " replicas in groups of " + std::to_string(size) +
                               ", but the device has " + std::to_string(n_) + " units");
    for (int k = 0; k < node.operands(); ++k) add_groups(node, k, size);
  }
  void add_replica_ids(const NodeView& node) {
    const uint32_t v = node.result_id(0);
    for (uint32_t u = 0; u < n_; ++u) {
      const int32_t id = static_cast<int32_t>(u);
      values_[v].parts.push_back(builder_.constant(TENON_I32, {}, &id, sizeof id));
    }
    if (n_ == 1) values_[v].same = values_[v].parts[0];
  }
  // Operand k of a collective: each run of `size` units gets a result.
  void add_groups(const NodeView& node, int k, int64_t size) {
    const uint32_t x = node.operand_id(k), y = node.result_id(k);
    const bool scatters = node.op() == "reduce_scatter";
    for (uint32_t first = 0; first < n_; first += static_cast<uint32_t>(size)) {
      Ids members;
      for (uint32_t u = first; u < first + size; ++u) members.push_back(part(x, u));
      uint32_t whole = node.op() == "all_gather" ? join(members, x, dims_of(y), node.i64("axis"))
                                                 : fold(members, x, scatters ? TENON_SUM : node.enumerator("kind"));
      for (int64_t place = 0; place < size; ++place)
        values_[y].parts.push_back(scatters ? share(whole, node, x, y, place) : whole);
      if (size == n_ && !scatters) values_[y].same = whole;
    }
  }
  uint32_t share(uint32_t whole, const NodeView& node, uint32_t x, uint32_t y, int64_t place) {
    const int64_t axis = node.i64("axis"), size = dims_of(y)[axis];
    return rows(whole, x, dims_of(x), axis, size * place, size, static_cast<uint32_t>(place));
  }
  // In the order of the units. Narrow floats are rounded once, at the end.
  uint32_t fold(const Ids& members, uint32_t x, int32_t kind) {
    if (dtype_of(x) == TENON_BF16 || dtype_of(x) == TENON_F16) return fold_at_once(members, x, kind);
    const char* const ops[] = {"add", "mul", "max", "min"};
    uint32_t total = members[0];
    for (size_t i = 1; i < members.size(); ++i) {
      const uint32_t sum = builder_.value(dtype_of(x), dims_of(x));
      start(ops[kind], {total, members[i]}, {sum});
      total = sum;
    }
    return total;
  }
  uint32_t fold_at_once(const Ids& members, uint32_t x, int32_t kind) {
    const Dims dims = dims_of(x);
    int64_t elements = 1;
    for (int64_t d : dims) elements *= d;
    Ids flat;
    for (uint32_t id : members) flat.push_back(reshaped(id, x, {1, elements}));
    const uint32_t all = join(flat, x, {static_cast<int64_t>(members.size()), elements}, 0);
    const uint32_t total = builder_.value(dtype_of(x), {elements});
    start("reduce", {all}, {total}).attr_enum("kind", kind).attr_list("axes", {0});
    return reshaped(total, x, dims);
  }

  GraphView graph_;
  uint32_t n_;
  std::vector<Value> values_;
  GraphBuilder builder_;
  UnrolledGraph out_;
  uint32_t source_ = TENON_NONE;  // the given graph's node that is being written
};

}  // namespace

UnrolledGraph unroll_replicas(const GraphView& graph, uint32_t units) { return Unroller(graph, units).make(); }

bool unrolls(const NodeView& node) {
  if (node.op() == "attention" || node.op() == "attention_grad") return node.f64("rate") == 0;
  if (node.op() == "batch_norm" || node.op() == "batch_norm_grad") return node.i64("group", 1) == 1;
  return true;
}

}  // namespace tenon::plugin
