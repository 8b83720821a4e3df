#include "import/onnx/file/order.h"

#include <unordered_map>

#include "base/strings.h"

namespace tenon::onnx {
namespace {

constexpr int kGiven = -1;  // an input, an initializer, a value of the graph around

// What a body uses and does not define.
void add_free_names(const GraphData& body, std::set<std::string>& to) {
  std::set<std::string> own;
  for (const ValueData& input : body.inputs) own.insert(input.name);
  for (const TensorData& tensor : body.initializers) own.insert(tensor.name);
  for (const NodeData& node : body.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  const auto use = [&](const std::string& name) {
    if (!name.empty() && own.count(name) == 0) to.insert(name);
  };
  for (const NodeData& node : body.nodes)
    for (const std::string& name : used_by(node)) use(name);
  for (const ValueData& output : body.outputs) use(output.name);
}

class Order {
 public:
  explicit Order(std::vector<NodeData>& nodes) : nodes_(nodes) {}

  Status give(const std::string& name, const char* what) {
    if (origin_.emplace(name, kGiven).second) return {};
    return invalid(what, " '", abbreviated(name), "' is there twice");
  }
  // Names that only the graph around can have.
  void allow_unknown() { unknown_ = true; }

  Status run() {
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (const std::string& name : nodes_[i].outputs)
        if (!name.empty() && !origin_.emplace(name, static_cast<int>(i)).second)
          return invalid("value '", abbreviated(name), "' of ", nodes_[i].str(), " is there twice");
    state_.assign(nodes_.size(), kNew);
    for (size_t i = 0; i < nodes_.size(); ++i) TENON_TRY(visit(static_cast<int>(i)));
    bool sorted = true;
    for (size_t i = 0; i < order_.size(); ++i) sorted &= order_[i] == static_cast<int>(i);
    if (sorted) return {};
    std::vector<NodeData> out;
    out.reserve(nodes_.size());
    for (const int i : order_) out.push_back(std::move(nodes_[static_cast<size_t>(i)]));
    nodes_ = std::move(out);
    return {};
  }
  bool has(const std::string& name) const { return origin_.count(name) != 0; }

 private:
  enum State : uint8_t { kNew, kBegun, kDone };
  struct Frame {
    int node;
    std::vector<int> before;  // nodes that it uses
  };

  Result<std::vector<int>> before(int index) const {
    const NodeData& node = nodes_[static_cast<size_t>(index)];
    std::vector<int> out;
    for (const std::string& name : used_by(node)) {
      const auto origin = origin_.find(name);
      if (origin == origin_.end() && !unknown_)
        return invalid(node.str(), " uses '", abbreviated(name), "', which nothing gives");
      if (origin != origin_.end() && origin->second != kGiven) out.push_back(origin->second);
    }
    return out;
  }

  Status begin(int node, std::vector<Frame>& stack) {
    state_[static_cast<size_t>(node)] = kBegun;
    TENON_ASSIGN(std::vector<int> uses, before(node));
    stack.push_back({node, std::move(uses)});
    return {};
  }

  // Depth first, without the system's stack, which a long chain would fill.
  Status visit(int root) {
    if (state_[static_cast<size_t>(root)] == kDone) return {};
    std::vector<Frame> stack;
    TENON_TRY(begin(root, stack));
    while (!stack.empty()) {
      if (stack.back().before.empty()) {
        state_[static_cast<size_t>(stack.back().node)] = kDone;
        order_.push_back(stack.back().node);
        stack.pop_back();
        continue;
      }
      const int next = stack.back().before.back();
      stack.back().before.pop_back();
      if (state_[static_cast<size_t>(next)] == kBegun) return cycle(stack, next);
      if (state_[static_cast<size_t>(next)] == kNew) TENON_TRY(begin(next, stack));
    }
    return {};
  }

  Status cycle(const std::vector<Frame>& stack, int from) const {
    std::vector<std::string> names;
    for (size_t i = stack.size(); i-- > 0;) {
      names.push_back(nodes_[static_cast<size_t>(stack[i].node)].str());
      if (stack[i].node == from) break;
    }
    return invalid("nodes wait for one another: ", join_first(names, 5));
  }

  std::vector<NodeData>& nodes_;
  std::unordered_map<std::string, int> origin_;
  std::vector<State> state_;
  std::vector<int> order_;
  bool unknown_ = false;
};

Status order_bodies(std::vector<NodeData>& nodes);

Status order_graph(GraphData& graph, bool outermost) {
  Order order(graph.nodes);
  for (const ValueData& input : graph.inputs) TENON_TRY(order.give(input.name, "input"));
  for (const TensorData& tensor : graph.initializers) TENON_TRY(order.give(tensor.name, "initializer"));
  if (!outermost) order.allow_unknown();
  TENON_TRY(order.run());
  for (const ValueData& output : graph.outputs)
    if (outermost && !order.has(output.name))
      return invalid("output '", abbreviated(output.name), "' is given by nothing");
  return order_bodies(graph.nodes);
}

Status order_bodies(std::vector<NodeData>& nodes) {
  for (NodeData& node : nodes)
    for (AttrData& attr : node.attrs) {
      if (!attr.graph) continue;
      GraphData body = *attr.graph;
      TENON_TRY(order_graph(body, false));
      attr.graph = std::make_shared<const GraphData>(std::move(body));
    }
  return {};
}

}  // namespace

std::set<std::string> used_by(const NodeData& node) {
  std::set<std::string> out;
  for (const std::string& name : node.inputs)
    if (!name.empty()) out.insert(name);
  for (const AttrData& attr : node.attrs)
    if (attr.graph) add_free_names(*attr.graph, out);
  return out;
}

Status put_in_order(GraphData& graph) { return order_graph(graph, true); }

Status put_in_order(FunctionData& function) {
  Order order(function.nodes);
  for (const std::string& input : function.inputs) TENON_TRY(order.give(input, "input"));
  TENON_TRY(order.run());
  for (const std::string& output : function.outputs)
    if (!order.has(output)) return invalid("output '", abbreviated(output), "' of a function is given by nothing");
  return order_bodies(function.nodes);
}

}  // namespace tenon::onnx
