#include "tenon/plugin/replicas.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/replicas/replica_rules.h"
#include "runtime/replicas/replica_values.h"
#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tenon::plugin {
namespace {

using Ids = ReplicaValues::Ids;
using Dims = ReplicaValues::Dims;

class Unroller {
 public:
  // apart[i]: node i is to be written once for each unit.
  Unroller(const GraphView& graph, uint32_t units, bool merge, std::vector<bool> apart)
      : graph_(graph),
        n_(units),
        merge_(merge),
        apart_(std::move(apart)),
        facts_(find_facts(graph, units)),
        values_(graph, units) {}

  UnrolledGraph make() {
    if (!merge_) facts_.summed.assign(graph_.n_values(), false);
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) add_input(graph_.input(i));
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) add_constant(graph_.constant(i));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      values_.begin(i);
      add(graph_.node(i));
    }
    for (uint32_t i = 0; i < graph_.n_results(); ++i) add_result(graph_.result(i));
    return values_.finish();
  }

 private:
  // ---- inputs, constants, results ----

  void add_input(const tenon_input& input) {
    const uint32_t v = input.value;
    const bool split = input.placement == TENON_SPLIT && n_ > 1;
    const uint32_t id = values_.builder().input(values_.dtype(v), split ? values_.joined_dims(v) : values_.dims(v),
                                                static_cast<tenon_role>(input.role), graph_.value_name(v));
    split ? values_.set_joined(v, id) : values_.set_same(v, id);
  }
  void add_constant(const tenon_constant& c) {
    const uint32_t v = c.value;
    values_.set_same(v,
                     values_.builder().constant(values_.dtype(v), values_.dims(v), graph_.constant_data(c), c.bytes));
  }
  // Replicated states stay equal, so one unit's part stands for all.
  void add_result(const tenon_result& r) {
    const bool split = r.placement == TENON_SPLIT && n_ > 1;
    if (split && graph_.value(r.value).rank() == 0) throw std::runtime_error("a SPLIT result has no rows");
    values_.begin(values_.definer(r.value));
    values_.builder().result(split ? values_.joined(r.value) : values_.part(r.value, 0),
                             static_cast<tenon_mode>(r.mode), r.alias);
  }

  // ---- nodes ----

  void add(const NodeView& node) {
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_.define(node.result_id(k), node.index());
    if (asks_replicas(node.op())) return add_collective(node);
    if (draws(node)) return add_draw(node);
    bool same = true, sum = false;
    for (int k = 0; k < node.operands(); ++k) {
      same = same && (!node.has(k) || values_.is_same(node.operand_id(k)));
      sum = sum || (node.has(k) && is_sum(node.operand_id(k)));
    }
    if (same) return add_same(node);
    if (sum) return add_sum(node);
    const Merging merging = merge_ && !apart_[node.index()] ? merging_of(node, facts_) : Merging{};
    if (merging.form != Merging::kApart) return add_merged(node, merging);
    for (uint32_t u = 0; u < n_; ++u) add_part(node, u);
  }

  // Whether nothing but its sum over the units is there.
  bool is_sum(uint32_t v) const { return facts_.summed[v] && values_.has_sum(v); }

  // The node with these operands; its results, each in the shape of one unit's. What draws does so as replica first + unit.
  Ids copy(const NodeView& node, const Ids& operands, uint32_t unit) {
    Ids results;
    for (int k = 0; k < node.results(); ++k)
      results.push_back(node.has_result(k) ? values_.make(node.result_id(k), values_.dims(node.result_id(k)))
                                           : TENON_NONE);
    values_.start(node.op(), operands, results, unit);
    for (int i = 0; i < node.attributes(); ++i)
      if (!draws(node) || node.attribute_name(i) != "first") values_.builder().attr(node.graph(), node.attribute(i));
    if (draws(node)) values_.builder().attr_i64("first", node.i64("first") + unit);
    return results;
  }
  Ids parts(const NodeView& node, uint32_t unit) {
    Ids operands;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(values_.part(node.operand_id(k), unit));
    return operands;
  }
  void add_same(const NodeView& node) {
    const Ids results = copy(node, parts(node, 0), 0);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_.set_same(node.result_id(k), results[k]);
  }
  void add_part(const NodeView& node, uint32_t unit) {
    const Ids results = copy(node, parts(node, unit), unit);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_.add_part(node.result_id(k), results[k]);
  }
  // Makes a sum of sums over the units.
  void add_sum(const NodeView& node) {
    Ids operands;
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t v = node.operand_id(k);
      operands.push_back(!node.has(k) ? TENON_NONE : is_linear(node, k, facts_) ? sum(v) : values_.part(v, 0));
    }
    const Ids results = copy(node, operands, 0);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_.set_sum(node.result_id(k), results[k]);
  }

  void add_merged(const NodeView& node, const Merging& m) {
    Ids operands, results;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(node.has(k) ? merged_operand(node, k, m) : TENON_NONE);
    for (int k = 0; k < node.results(); ++k) {
      const uint32_t v = node.has_result(k) ? node.result_id(k) : TENON_NONE;
      results.push_back(v == TENON_NONE ? TENON_NONE
                                        : values_.make(v, m.is_sum(k)                   ? values_.dims(v)
                                                          : m.form == Merging::kStacked ? values_.stacked_dims(v)
                                                                                        : values_.joined_dims(v)));
    }
    values_.start(node.op(), operands, results);
    write_attributes(values_.builder(), node, m, n_);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) set_merged(node.result_id(k), results[k], m.is_sum(k), m.form == Merging::kStacked);
  }
  uint32_t merged_operand(const NodeView& node, int k, const Merging& m) {
    const uint32_t v = node.operand_id(k);
    if (m.is_whole(k)) return values_.part(v, 0);
    if (m.form == Merging::kStacked) return values_.stacked(v);
    const bool scalar = node.in(k).rank() == 0 && node.has_result(0) && node.out(0).rank() > 0;
    return scalar && node.op() != "reshape" ? values_.spread(v, node.result_id(0)) : values_.joined(v);
  }
  void set_merged(uint32_t v, uint32_t id, bool sum, bool stacked) {
    if (sum) return values_.set_sum(v, id);
    values_.set_joined(v, stacked && graph_.value(v).rank() > 0 ? values_.reshaped(id, v, values_.joined_dims(v)) : id);
  }

  // Unit u's element e counts as e + (first + u) * size: what an array of all units' rows gives, if as many are before it.
  void add_draw(const NodeView& node) {
    if (node.i64("first") % n_ != 0) {
      for (uint32_t u = 0; u < n_; ++u) add_part(node, u);
      return;
    }
    Ids operands, results;
    for (int k = 0; k < node.operands(); ++k) {
      const bool is_chance = node.has(k) && node.in(k).rank() == 0 && node.in(k).dtype() == TENON_I64;
      operands.push_back(!node.has(k) ? TENON_NONE
                         : is_chance  ? values_.part(node.operand_id(k), 0)
                                      : values_.joined(node.operand_id(k)));
    }
    for (int k = 0; k < node.results(); ++k)
      results.push_back(node.has_result(k) ? values_.make(node.result_id(k), values_.joined_dims(node.result_id(k)))
                                           : TENON_NONE);
    values_.start(node.op(), operands, results);
    write_attributes(values_.builder(), node, {Merging::kJoined}, n_);
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values_.set_joined(node.result_id(k), results[k]);
  }

  // ---- collectives ----

  void add_collective(const NodeView& node) {
    if (node.op() == "replica_id") return add_replica_ids(node);
    if (const std::string refusal = replicas_refusal(node, n_); !refusal.empty())
      throw std::runtime_error(std::string(node.op()) + " '" + std::string(node.name()) + "': " + refusal);
    const int64_t size = node.i64("replicas", 1);
    for (int k = 0; k < node.operands(); ++k) size == n_ ? add_whole(node, k) : add_groups(node, k, size);
  }
  void add_replica_ids(const NodeView& node) {
    const uint32_t v = node.result_id(0);
    std::vector<int32_t> ids;
    for (uint32_t u = 0; u < n_; ++u) {
      ids.push_back(static_cast<int32_t>(node.i64("first") + u));
      values_.add_part(v, values_.builder().constant(TENON_I32, {}, &ids[u], sizeof ids[u]));
    }
    values_.set_joined(v, values_.builder().constant(TENON_I32, {n_}, ids.data(), ids.size() * sizeof ids[0]));
    if (n_ == 1) values_.set_same(v, values_.part(v, 0));
  }
  // Operand k of a collective of all units.
  void add_whole(const NodeView& node, int k) {
    const uint32_t x = node.operand_id(k), y = node.result_id(k);
    if (node.op() == "reduce_scatter") return deal(node, x, y);
    if (node.op() == "all_reduce") return values_.set_same(y, fold_all(x, node.enumerator("kind")));
    const int64_t axis = node.i64("axis");
    values_.set_same(y, axis == 0 && merge_ ? values_.joined(x) : join(x, y, axis, 0, n_));
  }
  void deal(const NodeView& node, uint32_t x, uint32_t y) {
    const uint32_t whole = sum(x);
    if (n_ == 1) return values_.set_same(y, whole);
    if (node.i64("axis") == 0) return values_.set_joined(y, whole);
    for (uint32_t u = 0; u < n_; ++u) values_.add_part(y, share(whole, node, x, y, u));
  }
  // The same of each run of `size` units.
  void add_groups(const NodeView& node, int k, int64_t size) {
    const uint32_t x = node.operand_id(k), y = node.result_id(k);
    const bool scatters = node.op() == "reduce_scatter";
    for (uint32_t first = 0; first < n_; first += static_cast<uint32_t>(size)) {
      const uint32_t whole = node.op() == "all_gather"
                                 ? join(x, y, node.i64("axis"), first, size)
                                 : fold(x, scatters ? TENON_REDUCE_SUM : node.enumerator("kind"), first, size);
      for (int64_t place = 0; place < size; ++place)
        values_.add_part(y, scatters ? share(whole, node, x, y, place) : whole);
    }
  }
  uint32_t join(uint32_t x, uint32_t y, int64_t axis, uint32_t first, int64_t size) {
    return values_.concat(members(x, first, size), x, values_.dims(y), axis);
  }
  uint32_t share(uint32_t whole, const NodeView& node, uint32_t x, uint32_t y, int64_t place) {
    const int64_t axis = node.i64("axis"), size = values_.dims(y)[axis];
    return values_.cut(whole, x, values_.dims(x), axis, size * place, size, static_cast<uint32_t>(place));
  }
  Ids members(uint32_t x, uint32_t first, int64_t size) {
    Ids ids;
    for (uint32_t u = first; u < first + size; ++u) ids.push_back(values_.part(x, u));
    return ids;
  }

  uint32_t sum(uint32_t x) { return fold_all(x, TENON_REDUCE_SUM); }
  uint32_t fold_all(uint32_t x, int32_t kind) {
    if (values_.is_same(x) && (kind == TENON_REDUCE_MAX || kind == TENON_REDUCE_MIN)) return values_.part(x, 0);
    if (kind != TENON_REDUCE_SUM) return fold(x, kind, 0, n_);
    if (!values_.has_sum(x)) values_.set_sum(x, values_.is_same(x) && merge_ ? values_.times(x) : fold(x, kind, 0, n_));
    return values_.sum(x);
  }
  // In the order of the units. Narrow floats are rounded once, at the end.
  uint32_t fold(uint32_t x, int32_t kind, uint32_t first, int64_t size) {
    const Ids all = members(x, first, size);
    if (values_.dtype(x) == TENON_BF16 || values_.dtype(x) == TENON_F16) return fold_at_once(all, x, kind);
    const char* const ops[] = {"add", "mul", "max", "min"};
    uint32_t total = all[0];
    for (size_t i = 1; i < all.size(); ++i) {
      const uint32_t sum = values_.builder().value(values_.dtype(x), values_.dims(x));
      values_.start(ops[kind], {total, all[i]}, {sum});
      total = sum;
    }
    return total;
  }
  uint32_t fold_at_once(const Ids& members, uint32_t x, int32_t kind) {
    const Dims dims = values_.dims(x);
    const int64_t elements = graph_.value(x).elements();
    Ids flat;
    for (uint32_t id : members) flat.push_back(values_.reshaped(id, x, {1, elements}));
    const uint32_t all = values_.concat(flat, x, {static_cast<int64_t>(members.size()), elements}, 0);
    const uint32_t total = values_.builder().value(values_.dtype(x), {elements});
    values_.start("reduce", {all}, {total}).attr_enum("kind", kind).attr_list("axes", {0});
    return values_.reshaped(total, x, dims);
  }

  GraphView graph_;
  uint32_t n_;
  bool merge_;
  std::vector<bool> apart_;
  ReplicaFacts facts_;
  ReplicaValues values_;
};

// Finds nodes for which some of what is written is not taken; false: none but those in `apart`.
bool find_refused(const UnrolledGraph& unrolled, const std::vector<bool>& taken, std::vector<bool>& apart) {
  bool found = false;
  for (size_t i = 0; i < taken.size(); ++i) {
    const uint32_t source = unrolled.origins[i].node;
    if (source == TENON_NONE || apart[source] || taken[i]) continue;
    apart[source] = found = true;
  }
  return found;
}

}  // namespace

UnrolledGraph unroll_replicas(const GraphView& graph, uint32_t units, const UnrollOptions& options) {
  std::vector<bool> apart(graph.n_nodes());
  for (;;) {
    UnrolledGraph out = Unroller(graph, units, options.merge, apart).make();
    if (!options.merge || !options.takes) return out;
    if (!find_refused(out, options.takes(GraphView(*out.graph.graph())), apart)) return out;
  }
}

bool asks_replicas(std::string_view op) { return op::is_collective(op) || op == "replica_id"; }

std::string replicas_refusal(const NodeView& node, uint32_t units) {
  if (!op::is_collective(node.op())) return {};
  const int64_t group = node.i64("group"), size = group == 0 ? units : group, replicas = node.i64("replicas", 1);
  if (size >= 1 && size <= units && units % size == 0 && replicas == size) return {};
  return std::to_string(replicas) + " replicas in groups of " + std::to_string(size) + ", but the device has " +
         std::to_string(units) + (units == 1 ? " unit" : " units");
}

bool unrolls(const NodeView& node) {
  if (node.op() == "batch_norm" || node.op() == "batch_norm_grad") return node.i64("group", 1) == 1;
  if (node.op() != "attention" && node.op() != "attention_grad") return true;
  // what is dropped is drawn for all units at once, so the bias must be of each example
  const bool forward = node.op() == "attention";
  const int q = forward ? int{op::attention::q} : int{op::attention_grad::q},
            bias = forward ? int{op::attention::bias} : int{op::attention_grad::bias};
  return node.f64("rate") == 0 || !node.has(bias) || node.in(bias).dim(0) == node.in(q).dim(0);
}

}  // namespace tenon::plugin
