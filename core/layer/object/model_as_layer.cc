// Models of layers.
#include "tenon/model.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <typeinfo>

#include "base/strings.h"
#include "graph/graph.h"
#include "layer/object/symbol.h"
#include "tenon/ops.h"

namespace tenon {

namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> count{0};
  return count++;
}

// What the outputs are made of, inputs first met included, in the order in which it was put together.
std::vector<const Symbol::Node*> nodes_behind(const std::vector<Symbol>& outputs) {
  std::vector<const Symbol::Node*> found;
  const auto visit = [&](const Symbol& s, const auto& self) -> void {
    if (std::find(found.begin(), found.end(), &s.node()) != found.end()) return;
    found.push_back(&s.node());
    for (const Symbol& from : s.node().from) self(from, self);
  };
  for (const Symbol& s : outputs) visit(s, visit);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
  return found;
}

bool fits(const Symbol::Node& input, const Shape& batch) {
  const Shape& example = input.example.shape;
  bool same = batch.rank() == example.rank() + 1;
  for (int d = 0; same && d < example.rank(); ++d) same = input.is_any(d) || batch[d + 1] == example[d];
  return same;
}

template <class Own, class Given>
void expect_own(const Given& model) {
  if (typeid(model) != typeid(Own))
    fail("model '", model.name(), "' of a class of one's own is called on symbols as AnyLayer(model)(x)");
}

}  // namespace

AnyLayer::AnyLayer(const Symbol& input) : layer_(std::make_shared<InputLayer>(input)) {
  if (input.node().layer) fail("a symbol that a layer gives is no layer; expected a layer or Input()");
}
Symbol AnyLayer::operator()(const Symbol& x) const { return (*this)(std::vector<Symbol>{x}); }
Symbol AnyLayer::operator()(const Symbol& x, const CallOptions& options) const {
  return (*this)(std::vector<Symbol>{x}, options);
}
Symbol AnyLayer::operator()(const std::vector<Symbol>& xs) const { return (*this)(xs, {}); }
Symbol AnyLayer::operator()(const std::vector<Symbol>& xs, const CallOptions& options) const {
  if (xs.empty()) fail("a layer is called on no symbols");
  return Symbol(std::make_shared<const Symbol::Node>(Symbol::Node{next_number(), *this, xs, {}, {}, {}, options}));
}

std::string Symbol::Node::example_text() const {
  std::string dims;
  for (int d = 0; d < example.shape.rank(); ++d)
    append(dims, cat(d ? "," : "", is_any(d) ? std::string("?") : std::to_string(example.shape[d])));
  return cat(dtype_name(example.dtype), "[", dims, "]");
}

Symbol Input(const InputShape& shape, DType dtype, std::string name) {
  std::vector<int64_t> dims = shape.dims();
  std::vector<int> any;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == kAnySize) any.push_back(static_cast<int>(d)), dims[d] = 0;
  return Symbol(std::make_shared<const Symbol::Node>(
      Symbol::Node{next_number(), std::nullopt, {}, Type{dtype, Shape(dims)}, std::move(name), std::move(any)}));
}

Model::Model(std::vector<Symbol> inputs, std::vector<Symbol> outputs, std::string name)
    : Layer(std::move(name)),
      inputs_(std::make_shared<std::vector<Symbol>>(std::move(inputs))),
      outputs_(std::move(outputs)) {
  if (inputs_->empty() || outputs_.empty()) fail("a model needs an input and an output");
  for (const Symbol& input : *inputs_)
    if (input.node().layer) fail("a model's input is what a layer gives, expected Input()");
  for (const Symbol::Node* node : nodes_behind(outputs_)) {
    const bool given =
        std::any_of(inputs_->begin(), inputs_->end(), [&](const Symbol& s) { return &s.node() == node; });
    if (!given && !node->layer) fail_of_input(*node);
    if (!given) order_.push_back(node);
  }
}

// An input that the model was not told of, and what is made of it.
void Model::fail_of_input(const Symbol::Node& input) const {
  std::string who = "an output of the model is ";
  for (const Symbol::Node* node : nodes_behind(outputs_))
    for (const Symbol& from : node->from)
      if (&from.node() == &input) who = cat((*node->layer)->title(), " is called on ");
  fail(who, input.name.empty() ? "the Input() " : cat("the Input() '", input.name, "' "), input.example_text(),
       ", which is none of the model's ", inputs_->size(), " inputs");
}

std::vector<std::string> Model::input_names() const {
  std::vector<std::string> names;
  for (const Symbol& input : *inputs_) {
    const std::string& given = input.node().name;
    names.push_back(!given.empty() ? given : inputs_->size() == 1 ? "x" : cat("x_", names.size()));
  }
  return names;
}

std::vector<std::string> Model::output_names() const {
  std::vector<std::string> names;
  for (const Symbol& output : outputs_) names.push_back(output.node().layer ? (*output.node().layer)->name() : "");
  return names;
}

Tensors Model::call_all(const Tensors& xs) {
  if (outputs_.empty()) return Layer::call_all(xs);
  if (xs.size() != inputs_->size()) fail("model '", name(), "' has ", inputs_->size(), " inputs, given ", xs.size());
  std::map<const Symbol::Node*, Tensors> values;
  for (size_t i = 0; i < xs.size(); ++i) {
    values[&(*inputs_)[i].node()] = {as_input(i, xs[i])};
  }
  const auto value_of = [&](const Symbol& s) {
    const Tensors& all = values.at(&s.node());
    if (s.result() >= all.size())
      fail("model '", name(), "': a layer gives ", all.size(), " tensors, asked for number ", s.result());
    return all[s.result()];
  };
  for (const Symbol::Node* node : order_) {
    Tensors from;
    for (const Symbol& s : node->from) from.push_back(value_of(s));
    values[node] = (*node->layer)->all(from, node->options);
  }
  Tensors out;
  for (const Symbol& s : outputs_) out.push_back(value_of(s));
  return out;
}

std::shared_ptr<ObjectNames> Model::home() const {
  if (compiled_->home) return compiled_->home;
  std::shared_ptr<ObjectNames> found = Layer::home();
  for (size_t i = 0; !found && i < order_.size(); ++i) found = (*order_[i]->layer)->home();
  return found;
}

Tensor Model::as_input(size_t i, Tensor x) const {
  const Symbol::Node& input = (*inputs_)[i].node();
  const Type& example = input.example;
  if (!fits(input, x.shape()))
    fail("model '", name(), "': input ", i, " is ", x.type().str(), ", expected a batch of ", input.example_text());
  if (x.dtype() == example.dtype) return x;
  return cast(x, is_float(example.dtype) ? x.graph()->compute_dtype : example.dtype);
}

// How many layers were added, one by one, to it and to the models that it has in it.
size_t Model::count_added() const {
  size_t count = 0;
  const auto take = [&](const AnyLayer& layer) {
    if (const auto* part = dynamic_cast<const Model*>(&*layer)) count += part->count_added();
  };
  for (const Symbol::Node* node : order_) take(*node->layer);
  if (!added()) return count;
  for (const AnyLayer& layer : *added()) take(layer);
  return count + added()->size();
}

// Whether it is that layer, or has it in it.
bool Model::has_part(const Layer& layer) const {
  const auto has = [&](const AnyLayer& there) {
    const auto* part = dynamic_cast<const Model*>(&*there);
    return part && part->has_part(layer);
  };
  if (is(layer)) return true;
  if (std::any_of(order_.begin(), order_.end(), [&](const Symbol::Node* node) { return has(*node->layer); }))
    return true;
  return added() && std::any_of(added()->begin(), added()->end(), has);
}

AnyLayer Model::kept() const {
  expect_own<Model>(*this);
  return AnyLayer(*this);
}

AnyLayer Sequential::kept() const {
  expect_own<Sequential>(*this);
  return AnyLayer(*this);
}

Sequential::Sequential(std::initializer_list<AnyLayer> layers, std::string name) : Model(std::move(name)) {
  for (const AnyLayer& layer : layers) add(layer);
}

void Sequential::add(AnyLayer layer) {
  const auto* input = dynamic_cast<const InputLayer*>(&*layer);
  const auto* part = dynamic_cast<const Model*>(&*layer);
  if (part && part->has_part(*this))
    fail("model '", part->name(), "' is added to itself, or to a model that it has in it");
  if (!input) return layers_->push_back(std::move(layer));
  if (!layers_->empty() || has_inputs()) fail("Input() has its place at the beginning of a model");
  set_input(input->input());
}

// The outputs of the last layer; a model there has names of its own.
std::vector<std::string> Sequential::output_names() const {
  if (layers_->empty()) return {};
  const auto* last = dynamic_cast<const Model*>(&*layers_->back());
  const std::vector<std::string> inner = last ? last->output_names() : std::vector<std::string>();
  return inner.empty() ? std::vector<std::string>{layers_->back()->name()} : inner;
}

std::shared_ptr<ObjectNames> Sequential::home() const {
  std::shared_ptr<ObjectNames> found = Model::home();
  for (size_t i = 0; !found && i < layers_->size(); ++i) found = (*layers_)[i]->home();
  return found;
}

Tensors Sequential::call_all(const Tensors& xs) {
  if (layers_->empty()) fail("model '", name(), "' has no layers");
  Tensors values = xs;
  if (has_inputs() && xs.size() == 1) values = {as_input(0, xs[0])};
  for (Tensor& x : values)  // pixels; as Keras does
    if (x.dtype() == DType::kU8) x = cast(x, x.graph()->compute_dtype);
  for (const AnyLayer& layer : *layers_) values = layer->all(values);
  return values;
}

}  // namespace tenon
