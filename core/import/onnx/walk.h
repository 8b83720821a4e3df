// A file's nodes become nodes of a graph: what happens each time an imported model is traced.
//
// Images are [N,C,S..] in the file and [N,S..,C] here. A value has either form, or both once both were asked for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "import/onnx/file/onnx_model_file.h"
#include "import/onnx/known/known.h"
#include "tenon/features.h"
#include "tenon/onnx.h"
#include "tenon/outputs.h"

namespace tenon::onnx {

constexpr int64_t kMostInResult = int64_t{1} << 35;  // elements

// An initializer, and how it lies in the store.
struct Weight {
  const TensorData* data = nullptr;
  bool variable = false;  // else a constant
  bool kernel = false;    // of convolutions: [S..,I,O] of [O,I,S..]
  bool trainable = false;
  Type type;                       // in the store
  std::vector<std::string> nodes;  // names of those that read it, or what only turns it around
};

// The last dense layer before the first output.
struct Head {
  std::string input, output;  // values of the file
  int64_t units = 0;          // that it has in the file; 0: not known
};

// What is known of a model before it is traced.
struct Plan : std::enable_shared_from_this<Plan> {
  OnnxFile file;
  OnnxOptions options;
  std::vector<bool> needed;  // nodes that outputs depend on
  std::unordered_map<std::string, Weight> weights;
  std::optional<Head> head;
  std::string scores;                      // what logits() gives: of the head, where there is one
  std::map<std::string, int64_t> unknown;  // ops without a rule, and how often they are there
};

// A value of the file, in the graph. Copies are handles to the same.
class Value {
 public:
  Value() = default;
  Value(Element element, Tensor file) : state_(std::make_shared<State>(State{element, file, {}, {}, false})) {}
  static Value of_last(Element element, Tensor last);
  // One without elements, which no graph has.
  static Value empty(Element element, const Shape& shape);

  explicit operator bool() const { return state_ != nullptr; }
  Element element() const { return state_->element; }
  int rank() const { return shape_of_any().rank(); }
  bool is_empty() const { return state_->none.has_value(); }
  Shape shape() const;                                           // in the file's order
  Tensor file() const;                                           // in the file's order of axes
  Tensor last() const;                                           // with the channels last
  bool is_last() const { return !state_->file && !is_empty(); }  // only that there is so far
  // Whether it is a number of the file or of shapes, and what arithmetic makes of such.
  bool is_number() const { return state_->number; }
  void set_number() { state_->number = true; }
  // A kernel that lies in the store as convolutions take it.
  Tensor kernel;

 private:
  struct State {
    Element element;
    Tensor file, last;
    std::optional<Shape> none = {};
    bool number = false;
  };
  const Shape& shape_of_any() const {
    return is_empty() ? *state_->none : state_->file ? state_->file.shape() : state_->last.shape();
  }
  std::shared_ptr<State> state_;
};

// Axis `axis` of the file's order where channels are last.
int64_t axis_in_last(int64_t axis, int rank);

class Walk {
 public:
  Walk(const Plan& plan, Graph& graph, const Features& features);

  // All that the model's outputs need; `stop`: the value at which the walk may end.
  void run(const std::string* stop = nullptr);
  Value find(const std::string& name) const;  // throws Error
  // A body of If or Loop, in the scope of what is known here.
  std::vector<Value> body(const GraphData& body, const std::vector<Value>& inputs);

  const Plan& plan() const { return plan_; }
  Graph& graph() { return graph_; }
  MathPrecision precision() const { return plan_.options.precision; }
  bool is_frozen(const std::string& weight) const;
  // The tensor's numbers. Throws Error where they are not known; wanted() says the input that they depend on.
  const Array& known(Tensor x);
  const std::string& wanted() const { return wanted_; }
  // Whether they are known.
  const Array* find_known(Tensor x);

 private:
  friend class Call;
  using Scope = std::unordered_map<std::string, Value>;
  void make_weights();
  void take_features(const Features& features);
  Value feature(const ValueData& input, Tensor given) const;
  Value constant_of(const ValueData& input, const Array& value) const;
  Value weight(const Weight& weight);
  Tensor own_variable(const std::string& name, const Type& type, const Initializer& first, bool trainable);
  Value constant_of(const TensorData& data);
  void nodes(const std::vector<NodeData>& nodes, const std::vector<bool>* needed, const std::string* stop);
  void run_node(const NodeData& node);
  void expect_held(const NodeData& node) const;
  void fold(const NodeData& node);
  void run_function(const NodeData& node, const FunctionData& function);
  void replace_head(Tensor x);
  void set(const std::string& name, Value value) { scopes_.back()[name] = std::move(value); }
  const Array* of_input(ValueId value);

  const Plan& plan_;
  Graph& graph_;
  Known known_;
  std::string scope_;  // of the graph when the walk began
  std::vector<Scope> scopes_;
  size_t first_scope_ = 0;  // of those that names are looked for in: a function sees its own
  std::vector<const Opsets*> opsets_;
  std::unordered_map<std::string, ValueId> made_before_;  // variables that the graph had when the walk began
  std::unordered_map<ValueId, const Weight*> weight_of_;
  std::unordered_map<ValueId, Array> weight_values_;
  std::vector<std::pair<const NodeData*, const FunctionData*>> calls_;  // of functions: their attributes
  std::string wanted_;
  int64_t built_ = 0;  // nodes of the file, those of bodies each time
};

}  // namespace tenon::onnx
