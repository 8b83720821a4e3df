#include "compile/shared_graph.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "compile/parted_program.h"
#include "compile/rewrite.h"
#include "op/decompose.h"
#include "op/replicas.h"
#include "tenon/op/table.h"

namespace tenon {
namespace {

// A bucket is exchanged while what gives the next one is computed: large enough that its messages are few.
constexpr int64_t kBucketBytes = 4 << 20, kLeastBucketBytes = 1 << 20;

// Whether a bucket with so much in it is full when so much more comes. What is large alone, as an embedding whose gradient is the last
// to be there, does not keep others from going first.
bool is_full(int64_t bytes, int64_t more) {
  return bytes >= kBucketBytes || (bytes >= kLeastBucketBytes && bytes + more > kBucketBytes);
}

// How many replicas in a row a node works on; 1: each on its own.
int64_t group_of(const Graph& graph, const Node& node) {
  const AttrValue* const group = find_attr(node.attrs, "group");
  if (!group && !op::is_collective(node.op)) return 1;
  const int64_t size = group ? std::get<int64_t>(*group) : 0;
  return size == 0 ? graph.replicas : size;
}

class Sharing {
 public:
  Sharing(const Graph& graph, int units, int rank) : graph_(graph), units_(units), first_(int64_t{rank} * units) {}

  Result<SharedPlan> plan() {
    TENON_TRY(verify(graph_));
    graph_ = simplify(graph_);
    take_groups_apart();
    TENON_TRY(check_groups());
    take_states_from_exchanges();
    graph_ = in_order(std::move(graph_), order_of_operands());
    graph_ = prune_inputs(with_buckets());
    graph_ = in_order(std::move(graph_), order_of_waiting());
    number_replicas();
    TENON_ASSIGN(std::vector<GraphPart> parts, partition(graph_, cut()));
    return SharedPlan{std::move(graph_), std::move(parts)};
  }

 private:
  bool crosses(const Node& node) const { return group_of(graph_, node) > 1 && !stays(group_of(graph_, node)); }
  bool is_exchange(const Node& node) const {
    const bool deals = node.op == "reduce_scatter" && std::get<int64_t>(*find_attr(node.attrs, "axis")) == 0;
    return (node.op == "all_reduce" || node.op == "all_gather" || deals) && crosses(node);
  }
  // Whether groups of so many replicas are in one process each.
  bool stays(int64_t group) const { return group <= units_ && units_ % group == 0; }

  // Composites that work on replicas of several processes become their collectives and what is between these.
  void take_groups_apart() {
    const auto apart = [&](const Node& node) { return crosses(node) && !is_exchange(node); };
    while (std::any_of(graph_.nodes.begin(), graph_.nodes.end(), apart)) {
      Rewrite rewrite(graph_);
      graph_ = simplify(rewrite.run([&](const Node& node, const Tensors& operands) {
        return apart(node) ? decompose_node(rewrite.to(), node, operands) : rewrite.copy(node, operands);
      }));
    }
  }

  Status check_groups() const {
    for (const Node& node : graph_.nodes)
      if (is_exchange(node) && group_of(graph_, node) != graph_.replicas)
        return Status(Code::kUnsupported, cat(describe(node), " works on groups of ", group_of(graph_, node),
                                              " of the ", graph_.replicas, " replicas; with ", units_,
                                              " in each process, expected all of them or a divisor of ", units_));
    return {};
  }

  // A state that becomes what an exchange gives, in another shape or without what is behind it, is copied from there.
  void take_states_from_exchanges() {
    for (Output& r : graph_.results) {
      ValueId v = r.value;
      while (is_beginning(maker(v))) v = graph_.nodes[maker(v)].operands[0];
      if (r.alias < 0 || v == r.value || maker(v) < 0 || !is_exchange(graph_.nodes[maker(v)])) continue;
      for (Variable& variable : graph_.variables)
        if (variable.next == r.value && variable.input == r.alias) variable.next = v;
      r.value = v;
    }
  }
  // Whether a node gives the first elements of its operand as they are.
  bool is_beginning(NodeId n) const {
    if (n < 0 || graph_.nodes[n].op == "reshape") return n >= 0;
    const Node& node = graph_.nodes[n];
    const auto list = [&](const char* name) { return std::get<std::vector<int64_t>>(*find_attr(node.attrs, name)); };
    return node.op == "slice" && list("start") == std::vector<int64_t>{0} && list("stride") == std::vector<int64_t>{1};
  }

  // ---- buckets ----

  NodeId maker(ValueId v) const { return v < 0 ? -1 : graph_.values[v].node; }

  // Nodes of one operand that only exchanges read, as casts of gradients, come right behind what makes the operand.
  std::vector<NodeId> order_of_operands() const {
    std::vector<bool> waits(graph_.nodes.size(), false);  // for more than its one operand, or with what reads it
    for (const Output& r : graph_.results)
      if (const NodeId n = maker(r.value); n >= 0) waits[n] = true;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const Node& node = graph_.nodes[i];
      if (is_exchange(node) || (!waits[i] && node.operands.size() == 1 && maker(node.operands[0]) >= 0)) continue;
      waits[i] = true;
      for (const ValueId v : node.operands)
        if (const NodeId n = maker(v); n >= 0) waits[n] = true;
    }
    std::vector<NodeId> place, order;
    for (const Node& node : graph_.nodes) {
      const auto n = static_cast<NodeId>(place.size());
      place.push_back(waits[n] || is_exchange(node) ? n : place[maker(node.operands[0])]);
      order.push_back(n);
    }
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return place[a] < place[b]; });
    return order;
  }

  // The operands of a sum in the order in which they are there, in buckets, each of one dtype.
  std::vector<std::vector<size_t>> buckets_of(const Node& node) const {
    std::vector<size_t> order(node.operands.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return maker(node.operands[a]) < maker(node.operands[b]); });
    std::vector<std::vector<size_t>> out;
    std::map<DType, std::pair<size_t, int64_t>> open;  // its bucket that has room, and what is in it
    for (const size_t i : order) {
      const Type& type = graph_.type(node.operands[i]);
      const auto [bucket, is_new] = open.try_emplace(type.dtype, out.size(), 0);
      if (!is_new && is_full(bucket->second.second, type.bytes())) bucket->second = {out.size(), 0};
      if (bucket->second.first == out.size()) out.emplace_back();
      out[bucket->second.first].push_back(i);
      bucket->second.second += type.bytes();
    }
    return out;
  }

  Graph with_buckets() {
    Rewrite rewrite(graph_);
    return rewrite.run([&](const Node& node, const Tensors& operands) {
      if (node.op != "all_reduce" || !is_exchange(node) || operands.size() < 2) return rewrite.copy(node, operands);
      Tensors out(operands.size());
      int number = 0;
      for (const std::vector<size_t>& bucket : buckets_of(node)) {
        Node part = node;
        part.operands.clear();
        part.results.clear();
        if (number > 0) part.name = cat(node.name, "_bucket_", number);
        ++number;
        Tensors some;
        for (const size_t i : bucket) some.push_back(operands[i]);
        const Tensors sums = emit(rewrite.to(), std::move(part), some);
        for (size_t k = 0; k < bucket.size(); ++k) out[bucket[k]] = sums[k];
      }
      return out;
    });
  }

  // ---- what waits for what ----

  struct Waits {
    std::vector<NodeId>
        begins;  // behind makers of sums that are worth an exchange of their own, while the rest is computed
    NodeId last_maker = -1;  // of an operand of exchanges that wait for no other
    // What a node needs, by node: 0, no exchange; k, of the exchanges that wait for no other those of what is before
    // begins[k - 1]; more, such as wait for others.
    std::vector<size_t> of;
  };

  NodeId last_maker(const Node& node) const {
    NodeId out = -1;
    for (const ValueId v : node.operands) out = std::max(out, maker(v));
    return out;
  }

  Waits waits_of_nodes() const {
    Waits out{.begins = begins_of_sums(), .of = {}};
    for (const Node& node : graph_.nodes) {
      size_t most = 0;
      for (const ValueId v : node.operands) {
        const NodeId n = maker(v);
        if (n < 0) continue;
        const Node& from = graph_.nodes[static_cast<size_t>(n)];
        const size_t before = out.of[static_cast<size_t>(n)];
        most = std::max(most, !is_exchange(from) ? before
                              : before > 0       ? out.begins.size() + 2
                                                 : group_of_sum(out, from));
      }
      if (is_exchange(node) && most == 0) out.last_maker = std::max(out.last_maker, last_maker(node));
      out.of.push_back(most);
    }
    return out;
  }

  size_t group_of_sum(const Waits& waits, const Node& sum) const {
    const auto behind = std::upper_bound(waits.begins.begin(), waits.begins.end(), last_maker(sum));
    return static_cast<size_t>(behind - waits.begins.begin()) + 1;
  }

  std::vector<NodeId> begins_of_sums() const {
    std::vector<std::pair<NodeId, int64_t>> sums;  // the last node that makes an operand, and the operands' bytes
    for (const Node& node : graph_.nodes) {
      if (!is_exchange(node) || node.op == "all_gather") continue;
      auto& [last, bytes] = sums.emplace_back(last_maker(node), 0);
      for (const ValueId v : node.operands) bytes += graph_.type(v).bytes();
    }
    std::sort(sums.begin(), sums.end());
    std::vector<NodeId> out;
    int64_t open = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      open += sums[i].second;
      if (i + 1 == sums.size() || sums[i + 1].first == sums[i].first || !is_full(open, sums[i + 1].second)) continue;
      out.push_back(sums[i].first + 1);
      open = 0;
    }
    return out;
  }

  // What needs an exchange, as updates, comes behind all that needs none, as metrics, and what needs more of them behind what needs
  // fewer: it is computed while the last ones are under way.
  std::vector<NodeId> order_of_waiting() const {
    const Waits waits = waits_of_nodes();
    std::vector<NodeId> order;
    for (size_t n = 0; n < waits.of.size(); ++n) order.push_back(static_cast<NodeId>(n));
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
      return waits.of[static_cast<size_t>(a)] < waits.of[static_cast<size_t>(b)];
    });
    return order;
  }

  // ---- cutting ----

  // Each process's replicas have their numbers among those of all.
  void number_replicas() {
    for (Node& node : graph_.nodes) {
      if (!draws_per_replica(node)) continue;
      std::erase_if(node.attrs, [](const Attr& a) { return a.name == "first"; });
      node.attrs.push_back({"first", first_});
    }
  }

  Cut cut() const {
    Cut out{.moved = {}, .to = PartKind::kExchange, .units = units_};
    for (const Node& node : graph_.nodes) out.moved.push_back(is_exchange(node));
    const Waits waits = waits_of_nodes();
    out.begins = waits.begins;
    // What waits for sums, as updates do, is in no part with what gives the last of them, nor with what waits for fewer.
    if (waits.last_maker >= 0) out.begins.push_back(waits.last_maker + 1);
    for (size_t n = 1; n < waits.of.size(); ++n)
      if (waits.of[n] > waits.of[n - 1] && waits.of[n - 1] > 0) out.begins.push_back(static_cast<NodeId>(n));
    std::sort(out.begins.begin(), out.begins.end());
    return out;
  }

  Graph graph_;
  int units_;
  int64_t first_;
};

}  // namespace

bool spans_processes(const Graph& graph, const Device& device) {
  return device.processes() > 1 && graph.replicas > static_cast<int>(device.units().size());
}

Result<SharedPlan> plan_shared(const Graph& graph, int units) {
  try {
    return Sharing(graph, units, 0).plan();
  } catch (const Error& e) {
    return e.status();
  }
}

Result<Executable> compile_shared(const Graph& graph, const std::shared_ptr<Device>& device,
                                  const ProgramOptions& options, Untaken* untaken) {
  try {
    TENON_ASSIGN(SharedPlan plan, Sharing(graph, static_cast<int>(device->units().size()), device->rank()).plan());
    auto program = std::make_shared<PartedProgram>();
    for (GraphPart& part : plan.parts) {
      const Status added = add_part(*program, std::move(part), plan.graph, device, options, untaken);
      if (added.code() == Code::kUnsupported && options.soft_placement)
        return Status(added.code(), cat(added.message(), "; soft placement is for one process alone"));
      TENON_TRY(added);
    }
    Executable out;
    out.device = device;
    out.max_iterations = options.max_iterations;
    out.graph = std::move(plan.graph);
    lay_out_arguments(out);
    out.parted = std::move(program);
    return out;
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace tenon
