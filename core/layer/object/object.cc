// Layers as objects.
#include <map>
#include <typeinfo>

#include "base/named_throw.h"
#include "base/names/class_name.h"
#include "base/strings.h"
#include "graph/graph.h"
#include "layer/object/layer_calls.h"
#include "layer/object/masks.h"
#include "tenon/layer.h"
#include "tenon/variables.h"

namespace tenon {

struct Layer::Inside {
  std::string asked_for;  // the name
  std::string name;       // once it was called
  bool trainable = true;
  bool passing = graph_being_built() != nullptr;  // made inside a traced function
  // That it has built, by name, in each store of variables.
  std::map<std::weak_ptr<const ObjectNames>, std::vector<std::string>, std::owner_less<>> variables;
  std::vector<Type> examples;  // of a model: rows of what it was called on last
  // Where its variables are: they live as long as it does.
  std::shared_ptr<ObjectNames> home;
  std::string scope_at_home;
  std::shared_ptr<LoadedTensors> values;  // that they are to begin with

  std::vector<std::string>& variables_in(const Graph& graph) {
    std::erase_if(variables, [](const auto& entry) { return entry.first.expired(); });
    return variables[graph.objects];
  }
};

namespace {

constexpr int kMostNested = 200;  // calls of layers inside one another, which a stack of 1 MiB has room for

std::string class_of(const Layer& layer) {
  const std::string name = class_name(typeid(layer));
  return name.substr(0, name.find('<'));
}

// While a layer builds: its scope, what it shares and freezes; as before when it ends.
class Entered {
 public:
  Entered(Graph& graph, ObjectCall call, bool is_function, bool trainable, std::vector<std::string>& names)
      : graph_(graph),
        scope_(graph.scope()),
        of_object_(graph.of_object),
        frozen_(graph.frozen),
        call_(std::move(call)) {
    graph.set_scope(call_.scope);
    graph.of_object = &call_;
    graph.entered = is_function;
    graph.frozen = frozen_ || !trainable;
    graph.builders.push_back(&names);
  }
  ~Entered() {
    graph_.builders.pop_back();
    graph_.frozen = frozen_;
    graph_.entered = false;
    graph_.of_object = of_object_;
    graph_.set_scope(scope_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Graph& graph_;
  std::string scope_;
  ObjectCall* of_object_;
  bool frozen_;
  ObjectCall call_;
};

// While a layer builds as CallOptions say: the mode that it asks the graph for.
class InMode {
 public:
  InMode(Graph& graph, const CallOptions& options, const std::string& layer) : graph_(graph), mode_(graph.mode) {
    if (!options.training) return;
    if (*options.training && mode_ != Mode::kTrain)
      fail(layer, ": it is called with training = true where nothing is trained");
    if (!*options.training && mode_ == Mode::kTrain) graph.mode = Mode::kEval;
  }
  ~InMode() { graph_.mode = mode_; }
  InMode(const InMode&) = delete;
  InMode& operator=(const InMode&) = delete;

 private:
  Graph& graph_;
  Mode mode_;
};

// One that names the layer that it comes from; those around it add nothing.
struct ErrorOfLayer : Error {
  using Error::Error;
};

// As Keras's layers cast what they are given to what they compute in.
Tensors as_computed(const Graph& graph, const Tensors& xs) {
  if (!graph.casts_inputs || !graph.builders.empty() || graph.compute_dtype == DType::kF32) return xs;
  Tensors out;
  for (const Tensor& x : xs) out.push_back(is_float(x.dtype()) ? with_mask_of(x, cast(x, graph.compute_dtype)) : x);
  return out;
}

// Whether it names the layer, a part of it or one of its variables.
bool has_name(const std::string& message, const std::string& layer) {
  return message.find(cat("'", layer, "'")) != std::string::npos ||
         message.find(cat("'", layer, "/")) != std::string::npos;
}

}  // namespace

Layer::Layer(std::string name) : identity_(std::make_shared<Inside>()) { identity_->asked_for = std::move(name); }

std::string Layer::kind() const { return snake_case(class_of(*this)); }
const std::string& Layer::name() const { return identity_->name.empty() ? identity_->asked_for : identity_->name; }
void Layer::set_trainable(bool trainable) { identity_->trainable = trainable; }
bool Layer::trainable() const { return identity_->trainable; }

Tensor Layer::call(Tensor x) { return call(Tensors{x}); }
Tensor Layer::call(const Tensors& xs) {
  fail(title(), " has no call() of ", xs.size(), xs.size() == 1 ? " tensor" : " tensors");
}

Tensors Layer::call_all(const Tensors& xs) { return {xs.size() == 1 ? call(xs[0]) : call(xs)}; }

Tensor Layer::operator()(Tensor x) { return (*this)(Tensors{x}, {}); }
Tensor Layer::operator()(const Tensors& xs) { return (*this)(xs, {}); }
Tensor Layer::operator()(Tensor x, const CallOptions& options) { return (*this)(Tensors{x}, options); }
Tensor Layer::operator()(const Tensors& xs, const CallOptions& options) {
  const Tensors out = called(xs, options);
  if (out.size() != 1) fail(title(), " gives ", out.size(), " tensors: all() has them");
  return out[0];
}
Tensors Layer::all(const Tensors& xs, const CallOptions& options) { return called(xs, options); }

// The name goes with the object wherever it is called; where it is called first is whose part it is.
std::string Layer::scope_in(Graph& graph) const {
  Inside& me = *identity_;
  const std::string outer = graph.of_object && !graph.scope().empty() ? cat(graph.scope(), "/") : std::string();
  const std::string base = cat(outer, me.asked_for.empty() ? kind() : me.asked_for);
  const ObjectNames::Object object{identity_, me.passing, kind()};
  const bool plain = is_model() && !graph.of_object && graph.objects->is_first("model", object);
  me.name = graph.objects->name_of(object, base);
  if (me.passing) graph.seen.push_back(identity_);
  if (!me.asked_for.empty() && me.name != base && !me.name.ends_with(me.asked_for))
    throw ErrorOfLayer(invalid(kind(), " '", base, "': there is a layer of that name already, ",
                               graph.objects->kind_of(base), " '", base,
                               "'; a layer that is called twice is one object"));
  return plain ? std::string() : me.name;
}

std::string Layer::title() const { return cat("layer '", name().empty() ? kind() : name(), "'"); }

// The graph of the function that is being traced, else that of the first input.
Graph& Layer::graph_of(const Tensors& xs) const {
  if (xs.empty()) fail(title(), ": no input is given");
  const Graph* const traced = graph_being_built();
  for (const Tensor& x : xs) {
    if (!x) fail(title(), ": an input was never set");
    if (x.is_left_over() || !x.is_of(traced ? *traced : *xs[0].graph()))
      fail(title(), ": its input is ", foreign_text(x));
  }
  return *xs[0].graph();
}

void Layer::tell_when_made(Graph& graph, const std::string& scope) const {
  const std::vector<std::string>& variables = identity_->variables_in(graph);
  if (variables.empty()) return;
  const std::shared_ptr<LoadedTensors>& values = identity_->values;
  if (values) graph.given.push_back({values, identity_->name, variables});
  if (!graph.objects->keeps_variables()) return;
  graph.when_made.push_back([weak = std::weak_ptr(identity_), home = graph.objects, scope, values] {
    const std::shared_ptr<Inside> me = weak.lock();
    if (!me) return;
    me->home = home;
    me->scope_at_home = scope;
    if (me->values == values) me->values.reset();
  });
}

Tensors Layer::called(const Tensors& xs, const CallOptions& options) {
  Graph& graph = graph_of(xs);
  const InMode in_mode(graph, options, title());
  if (is_model()) note_examples(xs);
  const auto depth = static_cast<int>(graph.builders.size());
  if (depth >= kMostNested)
    throw ErrorOfLayer(invalid(title(), ": it is called inside ", depth,
                               " calls of layers, the most there may be; does a call() call itself?"));
  const Tensors inputs = as_computed(graph, xs);
  const std::string scope = scope_in(graph);
  const bool own = graph.trainable_before
                       ? graph.trainable_before->try_emplace(identity_->name, identity_->trainable).first->second
                       : identity_->trainable;
  const bool trainable = own && !graph.frozen;
  ObjectCall call{scope, identity_};
  if (identity_->passing) call.owner = graph.of_object ? graph.of_object->owner : nullptr;
  if (identity_->home != graph.objects) {
    call.store_before = identity_->home;
    call.scope_before = identity_->scope_at_home;
  }
  std::vector<std::string>& names = identity_->variables_in(graph);
  const Entered entered(graph, std::move(call), is_function(), own, names);
  const Tensors out = results_of(graph, inputs);
  tell_when_made(graph, scope);
  if (std::vector<LayerCall>* calls = NotedCalls::noting()) {
    calls->push_back({identity_->name, class_of(*this), depth, {}, names, trainable});
    for (const Tensor& y : out) calls->back().results.push_back(y.type());
  }
  return out;
}

// What it gives for them, in the graph; what goes wrong names the innermost layer.
Tensors Layer::results_of(const Graph& graph, const Tensors& xs) {
  try {
    Tensors out = named_throw([&] { return call_all(xs); }, [&] { return title(); });
    for (const Tensor& y : out)
      if (!y || !y.is_of(graph)) fail("call() gives ", y ? foreign_text(y) : "a tensor that was never set");
    return out;
  } catch (const ErrorOfLayer&) {
    throw;
  } catch (const Error& e) {
    const std::string& message = e.status().message();
    throw ErrorOfLayer(has_name(message, name()) ? e.status() : Status(e.status().code(), cat(title(), ": ", message)));
  }
}

void Layer::note_examples(const Tensors& xs) {
  identity_->examples.clear();
  for (const Tensor& x : xs) {
    const auto dims = x.shape().dims();
    identity_->examples.push_back({x.dtype(), dims.empty() ? Shape() : Shape(dims.subspan(1))});
  }
}

const std::vector<Type>& Layer::examples() const { return identity_->examples; }
std::shared_ptr<ObjectNames> Layer::home() const { return identity_->home; }
void Layer::set_variable(std::string_view variable, const Array& value) const {
  for (const auto& [store, names] : identity_->variables)
    if (const std::shared_ptr<const ObjectNames> there = store.lock())
      for (const std::string& name : names)
        if (name.ends_with(cat("/", variable))) std::const_pointer_cast<ObjectNames>(there)->set_variable(name, value);
}
void Layer::begin_with(std::shared_ptr<LoadedTensors> values) { identity_->values = std::move(values); }

Tensors Layer::variables() const {
  Graph* graph = graph_being_built();
  if (!graph) fail("the variables of layer '", kind(), "' are tensors of a function, and none is being traced");
  Tensors out;
  for (const std::string& name : identity_->variables_in(*graph))
    if (const Variable* v = graph->find_variable(name))
      out.push_back(current(Tensor(graph, graph->inputs[static_cast<size_t>(v->input)].value)));
  return out;
}

Tensors Layer::trainable_variables() const {
  Tensors out;
  for (const Tensor& v : variables())
    if (v.graph()->variables[static_cast<size_t>(v.graph()->variable_of(v.id()))].trainable) out.push_back(v);
  return out;
}

}  // namespace tenon
