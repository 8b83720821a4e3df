#include "compile/partition.h"

#include <algorithm>

#include "base/strings.h"
#include "op/op.h"
#include "op/replicas.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

// Where the nodes of a graph run.
struct Order {
  std::vector<int> part;    // of each node; -1: a constant, which each part has for itself
  std::vector<bool> moved;  // of each part
};

// Each node as early as it can be, where the first part is of that side and sides take turns.
Order order_from(const Graph& graph, const Cut& cut, bool first_moved) {
  const std::vector<bool>& moved = cut.moved;
  Order out{std::vector<int>(graph.nodes.size(), -1), {}};
  size_t begun = 0;  // of cut.begins
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    while (begun < cut.begins.size() && static_cast<size_t>(cut.begins[begun]) <= n) ++begun;
    if (node.op == "constant") continue;
    int at = moved[n] == first_moved ? 0 : 1;
    if (!moved[n]) at += 2 * static_cast<int>(begun);
    for (const ValueId v : node.operands) {
      const NodeId from = v < 0 ? -1 : graph.values[v].node;
      if (from >= 0 && out.part[from] >= 0) at = std::max(at, out.part[from] + (moved[from] != moved[n]));
    }
    out.part[n] = at;
    while (out.moved.size() <= static_cast<size_t>(at)) out.moved.push_back(first_moved == (out.moved.size() % 2 == 0));
  }
  return out;
}

class Partition {
 public:
  Partition(const Graph& graph, const Cut& cut) : whole_(graph), cut_(cut), varying_(varying_values(graph)) {
    const Order here = order_from(graph, cut, false), there = order_from(graph, cut, true);
    order_ = there.moved.size() < here.moved.size() && cut.to != PartKind::kExchange ? there : here;
    const auto device = std::find(order_.moved.begin(), order_.moved.end(), false);
    first_on_device_ = static_cast<int>(device - order_.moved.begin());
    if (device == order_.moved.end()) order_.moved.push_back(false);  // for results that no node makes
  }

  std::vector<GraphPart> make() {
    find_gives();
    std::vector<GraphPart> out;
    for (size_t p = 0; p < order_.moved.size(); ++p)
      if (GraphPart made = part(static_cast<int>(p)); !made.graph.results.empty()) out.push_back(std::move(made));
    return out;
  }

 private:
  bool is_input(ValueId v) const { return whole_.values[v].node < 0; }
  bool exchanges(int part) const { return part >= 0 && order_.moved[part] && cut_.to == PartKind::kExchange; }
  bool is_constant(ValueId v) const { return !is_input(v) && order_.part[whole_.values[v].node] < 0; }
  // The part that gives a value to those that are not of the graph.
  int home(ValueId v) const {
    return is_input(v) || is_constant(v) ? first_on_device_ : order_.part[whole_.values[v].node];
  }
  bool in_place(const Output& r) const {
    return r.alias >= 0 && !order_.moved[home(r.value)] && last_reader_[whole_.inputs[r.alias].value] <= home(r.value);
  }

  void find_gives() {
    gives_.resize(order_.moved.size());
    last_reader_.assign(whole_.values.size(), -1);
    for (size_t n = 0; n < whole_.nodes.size(); ++n)
      for (const ValueId v : whole_.nodes[n].operands) {
        if (v < 0) continue;
        if (const int p = order_.part[n]; is_input(v) && !order_.moved[p])
          last_reader_[v] = std::max(last_reader_[v], p);
        const bool takes_all = exchanges(order_.part[n]);
        if ((takes_all || (!is_input(v) && !is_constant(v))) && home(v) != order_.part[n]) give(home(v), v);
      }
    for (const Output& r : whole_.results) last_reader_[r.value] = std::max(last_reader_[r.value], home(r.value));
    for (const Output& r : whole_.results)
      if (!in_place(r)) give(home(r.value), r.value);
  }
  void give(int part, ValueId v) {
    std::vector<ValueId>& gives = gives_[part];
    if (std::find(gives.begin(), gives.end(), v) == gives.end()) gives.push_back(v);
  }

  // ---- one part ----

  GraphPart part(int p) {
    GraphPart out;
    out.kind = order_.moved[p] ? cut_.to : PartKind::kDevice;
    Graph& to = out.graph;
    to.replicas = out.kind == PartKind::kHost                          ? 1
                  : out.kind == PartKind::kExchange || cut_.units == 0 ? whole_.replicas
                                                                       : cut_.units;
    to.mode = whole_.mode;
    for (const Node& node : whole_.nodes) to.unique_name_taken(node.name);
    part_ = &out;
    map_.assign(whole_.values.size(), kAbsent);
    for (size_t n = 0; n < whole_.nodes.size(); ++n)
      if (order_.part[n] == p) copy(whole_.nodes[n]);
    for (const ValueId v : gives_[p]) add_result(v);
    for (const Output& r : whole_.results)
      if (in_place(r) && home(r.value) == p) add_update(r);
    return out;
  }

  // Whether it is dealt over the units between parts.
  bool split(ValueId v) const {
    return part_->kind == PartKind::kDevice && whole_.replicas > 1 && cut_.units != 1 && varying_[v];
  }

  void copy(const Node& node) {
    Node copied = node;
    copied.forward_of = -1;
    for (ValueId& v : copied.operands)
      if (v >= 0) v = value(v);
    Graph& to = part_->graph;
    for (size_t i = 0; i < node.results.size(); ++i) {
      copied.results[i] = map_[node.results[i]] = static_cast<ValueId>(to.values.size());
      to.values.push_back(
          {whole_.type(node.results[i]), static_cast<NodeId>(to.nodes.size()), static_cast<int>(i), {}});
    }
    to.nodes.push_back(std::move(copied));
  }

  // A value of the whole in the part.
  ValueId value(ValueId v) {
    if (map_[v] != kAbsent) return map_[v];
    if (part_->kind == PartKind::kExchange) {
      map_[v] = add_cut(v);
    } else if (is_constant(v)) {
      copy(whole_.nodes[whole_.values[v].node]);
    } else if (is_input(v)) {
      const GraphInput& input = whole_.inputs[whole_.values[v].index];
      map_[v] = add_input(v, whole_.type(v), input.role, input.name);
      part_->graph.inputs.back().split = input.split && part_->kind == PartKind::kDevice;
      part_->graph.inputs.back().scalar = input.scalar;
    } else {
      map_[v] = add_cut(v);
    }
    return map_[v];
  }
  ValueId add_input(ValueId v, const Type& type, Role role, const std::string& name) {
    part_->takes.push_back(v);
    return part_->graph.add_input(type, role, name);
  }
  ValueId add_cut(ValueId v) {
    const Node* const node = whole_.defining_node(v);
    const std::string name =
        cat(node ? node->name : whole_.inputs[whole_.values[v].index].name, ":", node ? whole_.values[v].index : 0);
    const Type& type = whole_.type(v);
    if (!split(v)) return add_input(v, type, Role::kState, name);
    const bool scalar = type.shape.rank() == 0;
    const ValueId input = add_input(v, scalar ? Type{type.dtype, Shape({1})} : type, Role::kState, name);
    part_->graph.inputs.back().split = true;
    return scalar ? reshape(Tensor(&part_->graph, input), Shape()).id() : input;
  }

  void add_result(ValueId v) {
    ValueId given = value(v);
    if (split(v) && whole_.type(v).shape.rank() == 0) given = reshape(Tensor(&part_->graph, given), Shape({1})).id();
    part_->graph.results.push_back({given, ResultMode::kLast, -1, split(v), cat("given ", part_->gives.size())});
    part_->gives.push_back(v);
  }
  void add_update(const Output& r) {
    const ValueId state = whole_.inputs[r.alias].value;
    const ValueId next = value(r.value);
    value(state);
    const auto taken = std::find(part_->takes.begin(), part_->takes.end(), state);
    part_->graph.results.push_back(
        {next, ResultMode::kLast, static_cast<int>(taken - part_->takes.begin()), r.split, r.name});
    part_->gives.push_back(r.value);
  }

  const Graph& whole_;
  const Cut& cut_;
  const std::vector<bool> varying_;
  Order order_;
  int first_on_device_ = 0;
  std::vector<std::vector<ValueId>> gives_;  // of each part
  std::vector<int> last_reader_;             // of inputs: the last part that did not move; -1: none
  GraphPart* part_ = nullptr;                // that is being made
  std::vector<ValueId> map_;                 // of the whole into it
};

// Why a node of several units cannot move; "" where it can.
std::string_view why_not(const Node& node) {
  if (find_op(node.op, node.version)->row.category == op::Category::kCollective) return "works on all of";
  return draws_per_replica(node) ? "draws numbers of its own on each of" : "";
}

}  // namespace

Result<std::vector<GraphPart>> partition(const Graph& graph, const Cut& cut) {
  for (size_t n = 0; n < graph.nodes.size() && cut.to == PartKind::kHost; ++n) {
    if (!cut.moved[n] || graph.replicas == 1) continue;
    if (const std::string_view why = why_not(graph.nodes[n]); !why.empty())
      return Status(Code::kUnsupported, cat(describe(graph.nodes[n]), " ", why, " ", graph.replicas,
                                            " units, and moved nodes run for one at a time"));
  }
  try {
    return Partition(graph, cut).make();
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace tenon
