#include "graph/graph.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr const char* kTensorsOfItsOwn = "; each time it is traced it has tensors of its own";

// The numbers of graphs that there are.
class LivingGraphs {
 public:
  uint64_t add() {
    const std::lock_guard lock(mutex_);
    numbers_.insert(++last_);
    return last_;
  }
  void remove(uint64_t number) {
    const std::lock_guard lock(mutex_);
    numbers_.erase(number);
  }
  bool has(uint64_t number) {
    const std::lock_guard lock(mutex_);
    return numbers_.count(number) != 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<uint64_t> numbers_;
  uint64_t last_ = 0;  // 0: of none
};

LivingGraphs& living_graphs() {
  static LivingGraphs& graphs = *new LivingGraphs;  // a graph may outlive static objects
  return graphs;
}

}  // namespace

GraphSerial::GraphSerial() : number_(living_graphs().add()) {}
GraphSerial::~GraphSerial() { living_graphs().remove(number_); }
void GraphSerial::renew() {
  living_graphs().remove(number_);
  number_ = living_graphs().add();
}
bool GraphSerial::is_alive(uint64_t number) { return living_graphs().has(number); }

Tensor::Tensor(Graph* graph, int32_t id) : graph_(graph), serial_(graph ? graph->serial.number() : 0), id_(id) {}

std::string foreign_text(const Tensor& x) {
  return x.is_left_over() ? cat("a tensor of a function that was traced before", kTensorsOfItsOwn)
                          : "a tensor of another function";
}

int variable_index(std::string_view who, const Tensor& x) {
  const Graph& graph = *x.graph();
  const int index = graph.variable_of(x.id());
  if (index >= 0) return index;
  const Value& value = graph.values[x.id()];
  fail(who, ": what ",
       value.node >= 0 ? cat("'", graph.nodes[value.node].name, "' gives")
                       : cat("input '", graph.inputs[value.index].name, "' holds"),
       ", ", x.type().str(), ", is no variable; expected one of a layer, or of variable()");
}

const Type& Tensor::type() const {
  if (!graph_) fail("what is used is ", absence());
  return graph()->type(id_);
}

// gradients() leaves what there is none by.
std::string Tensor::absence() const {
  const Graph* graph = graph_being_built();
  if (id_ < 0 || !graph || serial_ != graph->serial.number()) return "a tensor that was never set";
  const int variable = graph->variable_of(id_);
  const std::string by =
      variable < 0 ? "a tensor" : cat("'", graph->variables[static_cast<size_t>(variable)].name, "'");
  return cat("the gradient by ", by, ", on which the loss does not depend");
}

bool Tensor::is_left_over() const { return graph_ && !GraphSerial::is_alive(serial_); }

Graph* Tensor::graph() const {
  if (is_left_over()) fail("a tensor of a function that was traced before is used", kTensorsOfItsOwn);
  return graph_;
}

bool Tensor::is_of(const Graph& graph) const { return graph_ == &graph && serial_ == graph.serial.number(); }

ValueId Graph::add_input(Type type, Role role, std::string name) {
  const ValueId id = static_cast<ValueId>(values.size());
  values.push_back({type, -1, static_cast<int>(inputs.size()), {}});
  inputs.push_back({id, role, false, std::move(name)});
  return id;
}

void Graph::set_bounds(ValueId id, Bounds bounds) {
  const bool plain = bounds == static_bounds(type(id).shape);
  values[id].bounds = plain ? nullptr : std::make_shared<const Bounds>(std::move(bounds));
}

NodeId Graph::add_node(Node node, const std::vector<Type>& result_types) {
  const NodeId id = static_cast<NodeId>(nodes.size());
  node.name = unique_name(node.name.empty() ? node.op : node.name);
  node.phase = phase;
  node.forward_of = forward_of;
  node.origin = origin.empty() ? node.name : origin;
  node.composite_of = composite_of;
  node.results.clear();
  for (size_t i = 0; i < result_types.size(); ++i) {
    node.results.push_back(static_cast<ValueId>(values.size()));
    values.push_back({result_types[i], id, static_cast<int>(i), {}});
  }
  nodes.push_back(std::move(node));
  return id;
}

int Graph::add_variable(std::string_view name, Type type, Initializer initializer, bool trainable) {
  Variable v;
  v.name = unique_name(name);
  v.input = static_cast<int>(inputs.size());
  v.initializer = std::move(initializer);
  v.trainable = trainable;
  add_input(type, Role::kState, v.name);
  variables.push_back(std::move(v));
  return static_cast<int>(variables.size() - 1);
}

int Graph::variable_of(ValueId value) const {
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    if (inputs[v.input].value == value || std::find(v.reads.begin(), v.reads.end(), value) != v.reads.end())
      return static_cast<int>(i);
  }
  return -1;
}

const Variable* Graph::find_variable(std::string_view name) const {
  for (const Variable& v : variables)
    if (v.name == name) return &v;
  return nullptr;
}

ValueId Graph::named_input(Type type, Role role, const std::string& name) {
  for (const GraphInput& input : inputs)
    if (input.role == role && input.name == name) return input.value;
  return add_input(type, role, name);
}

std::string Graph::unique_name(std::string_view base) {
  std::string name = scope_.empty() ? std::string(base) : cat(scope_, "/", base);
  int& count = names_[name];
  if (count++ == 0 && !objects->taken(name)) return name;
  for (count = std::max(count, 2);; ++count) {
    std::string candidate = cat(name, "_", count - 1);
    if (names_.try_emplace(candidate, 1).second && !objects->taken(candidate)) return candidate;
  }
}

void ObjectCall::take(Variable& variable) const {
  variable.owner = owner;
  const std::string inside = scope.empty() ? std::string() : cat(scope, "/");
  if (!store_before || !variable.name.starts_with(inside)) return;
  const std::string name = variable.name.substr(inside.size());
  variable.store_before = store_before;
  variable.name_before = scope_before.empty() ? name : cat(scope_before, "/", name);
}

std::string Graph::unique_layer(std::string_view base) {
  if (!of_object) return unique_name(base);
  const std::string name = cat(scope_, "/", base);
  const int before = of_object->layers[name]++;
  return before == 0 ? name : cat(name, "_", before);
}

std::string Graph::unique_call(const std::string& layer) {
  const int before = calls_[layer]++;
  return before == 0 ? layer : cat(layer, "#", before);
}

namespace {
thread_local Graph* being_built = nullptr;
}

Graph* graph_being_built() { return being_built; }
Building::Building(Graph& graph) : before_(std::exchange(being_built, &graph)) {}
Building::~Building() { being_built = before_; }

NameScope::NameScope(Graph& graph, std::string_view name) : graph_(graph), saved_(graph.scope()) {
  graph.set_scope(saved_.empty() ? std::string(name) : cat(saved_, "/", name));
}

const AttrValue* find_attr(const Attrs& attrs, std::string_view name) {
  for (const Attr& a : attrs)
    if (a.name == name) return &a.value;
  return nullptr;
}

std::string describe(const Node& node) { return cat(node.op, " '", node.name, "'"); }

}  // namespace tenon
