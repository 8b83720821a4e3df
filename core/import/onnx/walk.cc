#include "import/onnx/walk.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "base/array_dtype.h"
#include "base/room.h"
#include "import/onnx/call.h"
#include "import/onnx/onnx_rules.h"
#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMostBuilt = int64_t{1} << 19, kOldestOpset = 7;
constexpr uint64_t kBytesANode = 5000;  // in a graph that is compiled, about

// [N,C,S..] to [N,S..,C], and back.
Ints to_last(int rank) {
  Ints perm = {0};
  for (int a = 2; a < rank; ++a) perm.push_back(a);
  perm.push_back(1);
  return perm;
}
Ints to_file(int rank) {
  Ints perm = {0, rank - 1};
  for (int a = 1; a < rank - 1; ++a) perm.push_back(a);
  return perm;
}
// [S..,I,O] to [O,I,S..].
Ints kernel_to_file(int rank) {
  Ints perm = {rank - 1, rank - 2};
  for (int a = 0; a < rank - 2; ++a) perm.push_back(a);
  return perm;
}

// A transposition of axes of one element is a reshape.
Tensor turned(Tensor x, const Ints& perm) {
  std::vector<int64_t> dims, moved;
  for (const int64_t a : perm) {
    dims.push_back(x.dim(static_cast<int>(a)));
    if (dims.back() != 1) moved.push_back(a);
  }
  if (std::is_sorted(moved.begin(), moved.end())) return reshape(x, Shape(dims));
  return transpose(x, perm);
}

class FileValues : public InitialValues {
 public:
  FileValues(const Weight& weight, std::shared_ptr<const Plan> plan) : weight_(weight), plan_(std::move(plan)) {}

  Status read(const Type& type, std::span<std::byte> out) const override {
    TENON_ASSIGN(const Array value, to_array(*weight_.data));
    if (!weight_.kernel) return converted_to(type, value.dtype(), value.bytes(), out);
    std::vector<std::byte> kernel(value.bytes().size());
    turn(value, kernel);
    return converted_to(type, value.dtype(), kernel, out);
  }

 private:
  static Status converted_to(const Type& type, DType from, std::span<const std::byte> bytes, std::span<std::byte> out) {
    if (from != type.dtype) return convert_numbers(from, bytes, type.dtype, out.data()), Status();
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
    return {};
  }

  // [O,I,S..] to [S..,I,O].
  static void turn(const Array& value, std::vector<std::byte>& to) {
    const auto size = static_cast<size_t>(dtype_bytes(value.dtype()));
    const auto rows = static_cast<size_t>(value.dim(0) * value.dim(1));
    if (rows == 0) return;
    const size_t places = to.size() / size / rows;
    for (size_t o = 0; o < static_cast<size_t>(value.dim(0)); ++o)
      for (size_t i = 0; i < static_cast<size_t>(value.dim(1)); ++i)
        for (size_t s = 0; s < places; ++s)
          std::memcpy(&to[((s * static_cast<size_t>(value.dim(1)) + i) * static_cast<size_t>(value.dim(0)) + o) * size],
                      &value.bytes()[((o * static_cast<size_t>(value.dim(1)) + i) * places + s) * size], size);
  }

  Weight weight_;
  std::shared_ptr<const Plan> plan_;  // has the data
};

}  // namespace

int64_t axis_in_last(int64_t axis, int rank) { return rank < 3 || axis == 0 ? axis : axis == 1 ? rank - 1 : axis - 1; }

Value Value::of_last(Element element, Tensor last) {
  if (last.rank() < 3) return Value(element, last);
  Value out;
  out.state_ = std::make_shared<State>(State{element, {}, last, {}, false});
  return out;
}

Value Value::empty(Element element, const Shape& shape) {
  Value out;
  out.state_ = std::make_shared<State>(State{element, {}, {}, shape, true});
  return out;
}

Shape Value::shape() const {
  if (is_empty()) return *state_->none;
  if (state_->file) return state_->file.shape();
  std::vector<int64_t> dims;
  for (const int64_t a : to_file(rank())) dims.push_back(state_->last.dim(static_cast<int>(a)));
  return Shape(dims);
}

Tensor Value::file() const {
  if (is_empty()) fail("an operand ", element_name(element()), state_->none->str(), " has no elements");
  if (!state_->file) state_->file = turned(state_->last, to_file(rank()));
  return state_->file;
}

Tensor Value::last() const {
  if (rank() < 3 || is_empty()) return file();
  if (!state_->last) state_->last = turned(state_->file, to_last(rank()));
  return state_->last;
}

Walk::Walk(const Plan& plan, Graph& graph, const Features& features)
    : plan_(plan),
      graph_(graph),
      known_(graph, [this](ValueId value) { return of_input(value); }),
      scope_(graph.scope()),
      opsets_{&plan.file.opsets} {
  scopes_.emplace_back();
  if (!graph_.of_object)
    for (size_t i = 0; i < graph_.variables.size(); ++i)
      made_before_.emplace(graph_.variables[i].name, graph_.variable_value(static_cast<int>(i)));
  take_features(features);
  make_weights();
}

void Walk::take_features(const Features& features) {
  for (const ValueData& input : plan_.file.graph.inputs) {
    const auto known = plan_.options.values.find(input.name);
    if (known != plan_.options.values.end()) {
      set(input.name, constant_of(input, known->second));
    } else if (features.has(input.name)) {
      set(input.name, feature(input, features[input.name]));
    }
  }
}

Value Walk::constant_of(const ValueData& input, const Array& value) const {
  if (value.elements() == 0)
    return Value::empty(input.element == Element::kNone ? element_of(value.dtype()) : input.element, value.shape());
  return feature(input, constant(graph_, value.type(),
                                 {reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()}));
}

// What comes may be of another width, and of other rows than the file says.
Value Walk::feature(const ValueData& input, Tensor given) const {
  const Element element = input.element == Element::kNone ? element_of(given.dtype()) : input.element;
  const DType stored = stored_as(element);
  if (stored == DType::kNone) fail("input '", input.name, "' is of ", element_name(element), ", which Tenon has not");
  const bool integers = !is_float(stored) && !is_float(given.dtype());
  if (given.dtype() != stored && !(is_float(stored) && is_float(given.dtype())) && !integers)
    fail("input '", input.name, "' is ", given.type().str(), ", expected ", dtype_name(stored));
  bool fits = !input.has_shape || input.dims.size() == static_cast<size_t>(given.rank());
  std::vector<std::string> expected;
  for (size_t a = 0; a < input.dims.size(); ++a) {
    const DimData& dim = input.dims[a];
    const auto named = plan_.options.dims.find(dim.name);
    const int64_t size = dim.size < 0 && named != plan_.options.dims.end() ? named->second : dim.size;
    expected.push_back(size >= 0 ? cat(size) : dim.name.empty() ? "?" : dim.name);
    fits = fits && (!input.has_shape || a == 0 || size < 0 || size == given.dim(static_cast<int>(a)));
  }
  if (!fits)
    fail("input '", input.name, "' is ", given.type().str(), ", expected ", dtype_name(stored), "[",
         join(expected, ","), "]");
  return Value(element, cast(given, stored));
}

void Walk::make_weights() {
  for (const TensorData& data : plan_.file.graph.initializers) {
    const auto found = plan_.weights.find(data.name);
    if (found != plan_.weights.end() && found->second.variable) set(data.name, weight(found->second));
  }
}

// One that was made in an earlier call of the same function is that.
Tensor Walk::own_variable(const std::string& name, const Type& type, const Initializer& first, bool trainable) {
  const std::string whole = scope_.empty() ? name : scope_ + "/" + name;
  if (const auto there = made_before_.find(whole); there != made_before_.end())
    return current(Tensor(&graph_, there->second));
  const Tensor like = full(graph_, DType::kF32, {}, 0);
  return variable(like, name, type.shape, first, trainable, type.dtype);
}

Value Walk::weight(const Weight& weight) {
  const std::string name =
      plan_.options.scope.empty() ? weight.data->name : plan_.options.scope + "/" + weight.data->name;
  const auto source = std::make_shared<const FileValues>(weight, plan_.shared_from_this());
  const Tensor x = own_variable(name, weight.type, read_initializer(source), weight.trainable);
  weight_of_[x.id()] = &weight;
  if (!weight.kernel) return Value(weight.data->element, x);
  Value out(weight.data->element, transpose(x, kernel_to_file(x.rank())));
  out.kernel = x;
  return out;
}

Value Walk::constant_of(const TensorData& data) {
  const Array array = to_array(data).take();
  if (array.elements() == 0) return Value::empty(data.element, array.shape());
  Value out(data.element, constant(graph_, array.type(),
                                   {reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size()}));
  out.set_number();
  return out;
}

const Array* Walk::of_input(ValueId value) {
  const auto held = weight_values_.find(value);
  if (held != weight_values_.end()) return &held->second;
  const auto weight = weight_of_.find(value);
  if (weight == weight_of_.end() || weight->second->kernel) return nullptr;
  return &weight_values_.emplace(value, to_array(*weight->second->data).take()).first->second;
}

const Array* Walk::find_known(Tensor x) { return known_.find(x.id()); }

const Array& Walk::known(Tensor x) {
  if (const Array* found = find_known(x)) return *found;
  if (known_.input().empty())
    fail("needs a number that is known before the step runs, and it comes from ", known_.op());
  wanted_ = known_.input();
  fail("needs numbers of the input '", wanted_, "' before the step runs; OnnxOptions.values gives them");
}

bool Walk::is_frozen(const std::string& name) const {
  const auto found = plan_.weights.find(name);
  return found != plan_.weights.end() && found->second.variable && !found->second.trainable;
}

Value Walk::find(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > first_scope_;) {
    const auto found = scopes_[i].find(name);
    if (found != scopes_[i].end()) return found->second;
  }
  for (const ValueData& input : plan_.file.graph.inputs)
    if (input.name == name) fail("the model needs the feature '", name, "', which is not there");
  for (const TensorData& data : plan_.file.graph.initializers)
    if (data.name == name && stored_as(data.element) == DType::kNone) fail(to_array(data).status().message());
  fail("value '", abbreviated(name), "' is absent");
}

void Walk::run(const std::string* stop) {
  const auto count = std::count(plan_.needed.begin(), plan_.needed.end(), true);
  const Status room = take_room(static_cast<uint64_t>(count) * kBytesANode, cat("a graph of ", count, " nodes"));
  if (!room.ok()) throw Error(room);
  for (const TensorData& data : plan_.file.graph.initializers) {
    const auto found = plan_.weights.find(data.name);
    if (found != plan_.weights.end() && !found->second.variable && stored_as(data.element) != DType::kNone)
      set(data.name, constant_of(data));
  }
  nodes(plan_.file.graph.nodes, &plan_.needed, stop);
}

void Walk::nodes(const std::vector<NodeData>& nodes, const std::vector<bool>* needed, const std::string* stop) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (needed && !(*needed)[i]) continue;
    const NodeData& node = nodes[i];
    const bool outermost = needed != nullptr;
    const auto gives = [&](const std::string& name) {
      return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
    };
    if (outermost && plan_.head && plan_.options.replace_head > 0 && gives(plan_.head->output))
      replace_head(find(plan_.head->input).file());
    else
      run_node(node);
    if (stop && gives(*stop)) return;
  }
}

// Named as a layer Dense of that name is.
void Walk::replace_head(Tensor x) {
  if (x.rank() < 2 || !is_float(x.dtype())) fail("replace_head: the last dense layer gets ", x.type().str());
  const int64_t units = plan_.options.replace_head;
  const std::string before = graph_.scope(),
                    name = plan_.options.scope.empty() ? "head" : plan_.options.scope + "/head";
  const Shape kernel({x.dim(-1), units});
  graph_.set_scope(scope_);
  const Tensor w = own_variable(name + "/kernel", {x.dtype(), kernel}, glorot_uniform(kernel), true);
  const Tensor b = own_variable(name + "/bias", {x.dtype(), Shape({units})}, zeros(), true);
  graph_.set_scope(before);
  std::vector<int64_t> dims = x.shape().vec();
  const Tensor rows = x.rank() == 2 ? x : reshape(x, {x.elements() / dims.back(), dims.back()});
  dims.back() = units;
  const Tensor y = dot_bias_act(rows, w, b, {}, Activation::kNone, 0, {.precision = precision()});
  set(plan_.head->output, Value(element_of(y.dtype()), reshaped(y, dims)));
}

namespace {

// Ops of ONNX's first opsets read their operands otherwise.
std::string of_old(const NodeData& node, const Opsets& opsets) {
  const auto opset = opsets.find("");
  const int64_t version = opset == opsets.end() ? 1 : opset->second;
  if (!node.domain.empty() || version >= kOldestOpset) return "";
  return cat("; it is of opset ", version, ", and the oldest that Tenon takes whole is ", kOldestOpset);
}

}  // namespace

void Walk::run_node(const NodeData& node) {
  if (++built_ > kMostBuilt) fail("its loops have more than ", kMostBuilt, " nodes");
  try {
    const auto function = plan_.file.functions.find(node.domain + ":" + node.op);
    const auto opset = opsets_.back()->find(node.domain);
    const int64_t version = opset == opsets_.back()->end() ? 1 : opset->second;
    const Rule* rule = find_rule(node.domain, node.op, version);
    if (function != plan_.file.functions.end()) return run_function(node, function->second);
    if (!rule) fail("is an op that Tenon does not know");
    Call call(*this, node, version);
    std::string label = node.name.empty() ? node.op : node.name;
    while (label.starts_with("/")) label.erase(0, 1);
    const NameScope scope(graph_, label);
    rule->build(call);
    expect_held(node);
    fold(node);
  } catch (const Error& e) {
    if (e.status().message().starts_with("ONNX node ")) throw;
    throw Error(Status(e.status().code(),
                       cat("ONNX node ", node.str(), ": ", e.status().message(), of_old(node, *opsets_.back()))));
  } catch (const std::bad_alloc&) {
    throw Error(Status(Code::kOutOfMemory, cat("ONNX node ", node.str(), ": no memory for its numbers")));
  } catch (const std::length_error&) {
    throw Error(Status(Code::kOutOfMemory, cat("ONNX node ", node.str(), ": no memory for its numbers")));
  }
}

// What no device holds is refused where the node is known.
void Walk::expect_held(const NodeData& node) const {
  for (const std::string& output : node.outputs) {
    const auto found = output.empty() ? scopes_.back().end() : scopes_.back().find(output);
    if (found == scopes_.back().end() || !found->second || found->second.is_empty()) continue;
    if (const Shape shape = found->second.shape(); shape.elements() > kMostInResult)
      fail("its result '", abbreviated(output), "' is ", element_name(found->second.element()), shape.str(),
           ", which no memory holds");
  }
}

// What is made of numbers alone is a constant: of a shape, the part that does not count the rows is the same for all.
void Walk::fold(const NodeData& node) {
  constexpr int64_t kMost = 64;  // elements: shapes, scales, not tables. Export traces with more rows (portable_fit.cc)
  for (const std::string& input : node.inputs)
    if (!input.empty() && node.op != "Shape" && node.op != "Size" && !find(input).is_number()) return;
  for (const AttrData& attr : node.attrs)
    if (attr.graph) return;
  for (const std::string& output : node.outputs) {
    const auto found = output.empty() ? scopes_.back().end() : scopes_.back().find(output);
    if (found == scopes_.back().end() || found->second.is_empty() || found->second.shape().elements() > kMost) continue;
    Value& value = found->second;
    const Array* known = find_known(value.file());
    if (!known) continue;
    value = Value(
        value.element(),
        constant(graph_, known->type(), {reinterpret_cast<const char*>(known->bytes().data()), known->bytes().size()}));
    value.set_number();
  }
}

void Walk::run_function(const NodeData& node, const FunctionData& function) {
  if (calls_.size() >= 64) fail("functions call one another more than 64 deep");
  Scope inner;
  for (size_t i = 0; i < function.inputs.size() && i < node.inputs.size(); ++i)
    if (!node.inputs[i].empty()) inner[function.inputs[i]] = find(node.inputs[i]);
  const size_t outside = first_scope_;
  scopes_.push_back(std::move(inner));
  first_scope_ = scopes_.size() - 1;
  opsets_.push_back(&function.opsets);
  calls_.emplace_back(&node, &function);
  nodes(function.nodes, nullptr, nullptr);
  std::vector<Value> results;
  for (size_t i = 0; i < function.outputs.size() && i < node.outputs.size(); ++i)
    results.push_back(node.outputs[i].empty() ? Value() : find(function.outputs[i]));
  calls_.pop_back();
  opsets_.pop_back();
  first_scope_ = outside;
  scopes_.pop_back();
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i]) set(node.outputs[i], results[i]);
}

std::vector<Value> Walk::body(const GraphData& body, const std::vector<Value>& inputs) {
  if (scopes_.size() > 256) fail("graphs in graphs, more than 256 deep");
  scopes_.emplace_back();
  for (const TensorData& data : body.initializers) set(data.name, constant_of(data));
  for (size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i) set(body.inputs[i].name, inputs[i]);
  nodes(body.nodes, nullptr, nullptr);
  std::vector<Value> out;
  for (const ValueData& output : body.outputs) out.push_back(find(output.name));
  scopes_.pop_back();
  return out;
}

}  // namespace tenon::onnx
