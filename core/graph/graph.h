// The static graph of one step: values, nodes, inputs, results and variables. Plain data.
//
// Nodes stand in topological order, because a node can only use values that exist; each value is
// defined once. Passes do not edit a graph in place: they build a new one (compile/). A graph is used
// by one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "graph/bounds.h"
#include "graph/object_names.h"
#include "tenon/initializer.h"
#include "tenon/tensor.h"
#include "tenon/types.h"

namespace tenon {

using ValueId = int32_t;  // index into Graph::values; kAbsent for a missing optional operand
using NodeId = int32_t;
constexpr ValueId kAbsent = -1;

// A number of one of the enumerations in tenon/ops.h.
struct Enum {
  int32_t number = 0;
  bool operator==(const Enum&) const = default;
};

using AttrValue = std::variant<int64_t, double, bool, DType, Enum, std::string, std::vector<int64_t>>;

struct Attr {
  std::string name;
  AttrValue value;
  bool operator==(const Attr&) const = default;
};
using Attrs = std::vector<Attr>;

struct Value {
  Type type;
  NodeId node = -1;                           // that defines it; -1: a graph input
  int index = 0;                              // which of the node's results, or which input
  std::shared_ptr<const Bounds> bounds = {};  // none: all are static
};

enum class Phase : uint8_t { kForward, kBackward, kUpdate };

struct CustomNode;  // op/custom_node.h

struct Node {
  std::string op;
  int version = 1;
  std::vector<ValueId> operands;  // kAbsent where an optional one is missing
  std::vector<ValueId> results;
  Attrs attrs;
  std::string name;    // unique: "block3/conv1"
  std::string origin;  // the name of the user's node that it came from
  Phase phase = Phase::kForward;
  NodeId forward_of = -1;                         // the forward node that this one differentiates
  std::string composite_of;                       // op of the composite that it was lowered from
  bool stops_gradient = false;                    // none flows from its results to its operands
  std::shared_ptr<const CustomNode> custom = {};  // of an op that is none of Tenon's
};

enum class Role : uint8_t { kState, kFeed, kScalar };

struct GraphInput {
  ValueId value;
  Role role;
  bool split = false;  // axis 0 is dealt over the replicas
  std::string name;
  double scalar = 0;  // of a kScalar: its value unless the trainer gives another
};

struct Output {
  ValueId value;
  ResultMode mode = ResultMode::kLast;
  int alias = -1;  // index of the state input that it updates in place
  bool split = false;
  std::string name;
};

// What print() or check_numerics() shows of a value in each step (tenon/debug.h).
struct Watch {
  ValueId value;
  std::string name;
  bool check;
};

// Weights are the model's parameters, moving averages among them; slots belong to an optimizer; counters
// are global_step and its like.
enum class VariableKind : uint8_t { kWeight, kSlot, kCounter };

// A state with a name, a first value and perhaps a next value: a weight, a slot, a counter.
struct Variable {
  std::string name;  // "conv2d/kernel"
  int input = -1;    // index into Graph::inputs
  Initializer initializer;
  bool trainable = true;
  VariableKind kind = VariableKind::kWeight;
  ValueId next = kAbsent;  // its value after the step, which was assigned last; absent: unchanged
  // Where each replica has a part of its elements: its shape. They lie in a row then, with zeros behind them, of which the input
  // is this replica's part.
  std::optional<Shape> dealt = {};
  std::function<Tensor(Tensor)> constraint = {};  // what an optimizer keeps it to after each update; empty: to nothing
  std::vector<ValueId> reads = {};  // what it was read as after assignments: `next` of then, behind a stopped gradient
  std::weak_ptr<const void> owner = {};  // the object that has it; none: whatever has its name
  // The store that its object had it in before, and its name there.
  std::weak_ptr<ObjectNames> store_before = {};
  std::string name_before = {};
};

// A call of an object that builds.
struct ObjectCall {
  std::string scope;                  // of its variables
  std::shared_ptr<const void> owner;  // of its variables; null: those of a function, which are its by name
  // The store that it had its variables in before, where that is another one, and their scope there.
  std::shared_ptr<ObjectNames> store_before = {};
  std::string scope_before = {};
  std::unordered_map<std::string, int> layers = {};  // how often each name was asked for
  std::unordered_set<std::string> variables = {};    // whose names were asked for

  void take(Variable& variable) const;
};

class LoadedTensors;  // core/step
// Values that an object was given before it had its variables, by the names that it has for them.
struct GivenValues {
  std::shared_ptr<LoadedTensors> values;
  std::string object;
  std::vector<std::string> variables;  // of the object in this graph
};

// Tells one graph from any other that comes to lie in its place, by assignment too. Each copy of a graph has a new serial.
class GraphSerial {
 public:
  GraphSerial();
  GraphSerial(const GraphSerial&) : GraphSerial() {}
  GraphSerial& operator=(const GraphSerial&) {
    renew();
    return *this;
  }
  ~GraphSerial();
  uint64_t number() const { return number_; }
  // Tensors that there are belong to no graph from now on.
  void renew();
  static bool is_alive(uint64_t number);  // thread safe

 private:
  uint64_t number_;
};

// What a tensor of another graph is, for messages: "a tensor of another function".
std::string foreign_text(const Tensor& x);
// Which of its graph's variables it is, or is a value of; throws Error that begins with `who` where it is none.
int variable_index(std::string_view who, const Tensor& x);

// How replicas share what an optimizer does.
struct BetweenReplicas {
  DType all_reduce_dtype =
      DType::kNone;                    // what wider gradients are cast to on their way; kNone: they stay what they are
  bool shard_optimizer_state = false;  // each replica keeps a part of what optimizers keep
};

class Graph {
 public:
  GraphSerial serial;
  std::deque<Value> values;  // a deque: a reference to a type stays good while the graph grows
  std::vector<Node> nodes;
  std::vector<GraphInput> inputs;
  std::vector<Output> results;
  std::vector<Variable> variables;
  // Units that run this graph, each on its part of the batch; set before the graph is built. Shapes are those of one.
  int replicas = 1;
  BetweenReplicas between;
  std::set<int> agreed;      // variables whose next value is made of what differs, and yet the same on all replicas
  Mode mode = Mode::kTrain;  // what it is built for; layers ask
  bool same_draws = false;   // units that run it draw the same numbers, not each its own
  // What layers compute in where the features do not say, and what variables are.
  DType compute_dtype = DType::kF32, variable_dtype = DType::kF32;
  bool casts_inputs = false;  // layers that no other layer calls cast floats to it, where it is not f32
  // The names by which layers and their like find their variables; the graphs of one store of variables share them.
  std::shared_ptr<ObjectNames> objects = std::make_shared<ObjectNames>();
  std::vector<std::shared_ptr<const void>> seen;  // objects that keep their names while the graph is built
  // Set while an object builds. A variable that is there already is its own then.
  ObjectCall* of_object = nullptr;
  std::weak_ptr<const void> optimizer;  // that makes slots and counters now, as their owner
  // What the objects were given, and what they are told once their variables are there.
  std::vector<GivenValues> given;
  std::vector<std::function<void()>> when_made;
  // Lists that the names of variables are added to, those of the objects that build; and what they freeze.
  std::vector<std::vector<std::string>*> builders;
  bool frozen = false;
  // By an object's name, whether it was trainable in an earlier graph and is in this one whatever it says now; null: asked.
  std::map<std::string, bool>* trainable_before = nullptr;
  bool entered = false;                  // the scope that is set is the one that the object's function would open
  std::string draws_by = "global_step";  // the counter that random numbers are keyed by
  std::vector<DynamicDim> dynamic_dims;
  std::vector<InputAxis> fixed_axes;  // those of inputs that are not dynamic; none where no input is
  // What was masked along which axes with which neutral element, and what it is since: nothing is masked twice.
  std::map<std::tuple<ValueId, std::vector<int64_t>, double>, ValueId> masked;
  std::set<ValueId> undefined;  // values of a last step that is not known, as the steps' number is dynamic
  // Values that builders of the model remember by topic (terms to add to the loss).
  std::map<std::string, std::vector<ValueId>> notes;
  // Which steps of a value count (tenon/masking.h): bools along its first axes.
  std::unordered_map<ValueId, ValueId> masks;
  std::vector<Watch> watches;

  ValueId add_input(Type type, Role role, std::string name);
  // Appends a node whose result types are already inferred. An empty name takes the op's; the name is
  // put under the current scope and made unique by _1, _2, ...
  NodeId add_node(Node node, const std::vector<Type>& result_types);
  // `name` is made unique under the current scope. Returns the index in variables.
  int add_variable(std::string_view name, Type type, Initializer initializer, bool trainable);
  const Variable* find_variable(std::string_view name) const;
  // The index of the variable whose value, or whose value after an assignment, that is; -1: of none.
  int variable_of(ValueId value) const;
  ValueId variable_value(int variable) const { return inputs[variables[variable].input].value; }
  // The value of the scalar or state input of that name, made when it is not there yet.
  ValueId named_input(Type type, Role role, const std::string& name);

  const Type& type(ValueId id) const { return values[id].type; }
  // The bounds of each axis of the value.
  Bounds bounds(ValueId id) const { return values[id].bounds ? *values[id].bounds : static_bounds(type(id).shape); }
  void set_bounds(ValueId id, Bounds bounds);
  bool is_dynamic(ValueId id) const { return values[id].bounds && tenon::is_dynamic(*values[id].bounds); }
  // "f32[<=8,3]"
  std::string type_text(ValueId id) const {
    return values[id].bounds ? bounded_text(type(id), *values[id].bounds) : type(id).str();
  }
  const Node* defining_node(ValueId id) const { return values[id].node < 0 ? nullptr : &nodes[values[id].node]; }

  // "dense" -> "scope/dense", "scope/dense_1", ...; none that a living object has, but for what it builds itself.
  std::string unique_name(std::string_view base);
  // The same for a layer: while an object builds, unique in this call of it.
  std::string unique_layer(std::string_view base);
  // What a layer of that name is, "conv2d": the first that noted it.
  const std::string& kind_of_layer(const std::string& name, std::string_view kind) {
    return kinds_.try_emplace(name, kind).first->second;
  }
  // The layer's name for its first call, then NAME#1, NAME#2, ..
  std::string unique_call(const std::string& layer);
  // Notes that a name, copied from another graph, is in use.
  void unique_name_taken(const std::string& name) { names_.try_emplace(name, 1); }
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // Copied into every node that is added.
  Phase phase = Phase::kForward;
  NodeId forward_of = -1;
  std::string origin;
  std::string composite_of;

 private:
  std::unordered_map<std::string, int> names_, calls_;
  std::unordered_map<std::string, std::string> kinds_;
  std::string scope_;
};

// The graph that a function is being traced into on this thread; nullptr: none.
Graph* graph_being_built();

// Makes it that one for as long as it lives.
class Building {
 public:
  explicit Building(Graph& graph);
  ~Building();
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;

 private:
  Graph* before_;
};

// Adds to the scope for as long as it lives: names become "NAME/...".
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope() { graph_.set_scope(saved_); }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  Graph& graph_;
  std::string saved_;
};

// The attribute of that name, or nullptr.
const AttrValue* find_attr(const Attrs& attrs, std::string_view name);

// "conv 'block3/a'", as messages name a node.
std::string describe(const Node& node);

// Readable text of a graph, one line a node; what `tenon inspect graph` prints.
std::string to_text(const Graph& graph);
std::string to_text(const AttrValue& value);

}  // namespace tenon
