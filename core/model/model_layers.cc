// The layers of a model, by name and number, and what they hold.
#include <algorithm>

#include "base/names/name_expression.h"
#include "base/strings.h"
#include "model/display/summary_table.h"
#include "model/model_order.h"
#include "model/model_trace.h"
#include "model/model_training.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

// The name of a layer or a weight without that of the model, which all but the first of a strategy have before theirs.
std::string short_name(const std::string& name, const Model& model) {
  const std::string scope = model.name() + "/";
  return name.starts_with(scope) ? name.substr(scope.size()) : name;
}

}  // namespace

std::vector<AnyLayer> Model::layers() const {
  if (const std::vector<AnyLayer>* all = added()) return *all;
  if (outputs_.empty()) fail("model '", name(), "' has a call() of its own: its layers are its members");
  std::vector<const Symbol::Node*> known;  // the first node of each layer
  const auto key_of = [&](const Symbol::Node& node) {
    const auto it = std::find_if(known.begin(), known.end(), [&](const Symbol::Node* other) {
      return other == &node || (other->layer && node.layer && (**other->layer).is(**node.layer));
    });
    const auto at = it - known.begin();
    if (it == known.end()) known.push_back(&node);
    return std::to_string(at);
  };
  std::vector<AnyLayer> out;
  for (const OrderedLayer& layer : order_of(*inputs_, outputs_, key_of).layers) {
    const Symbol::Node& node = *layer.calls[0];
    if (node.layer)
      out.push_back(*node.layer);
    else
      for (const Symbol& input : *inputs_)
        if (&input.node() == &node) out.emplace_back(input);
  }
  return out;
}

AnyLayer Model::get_layer(std::string_view name) {
  if (!example_types().empty()) (void)count_params();  // which gives them names
  std::vector<std::string> names;
  for (const AnyLayer& layer : layers()) {
    if (layer->name() == name || short_name(layer->name(), *this) == name) return layer;
    names.push_back(short_name(layer->name(), *this));
  }
  const bool unnamed = std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.empty(); });
  fail("model '", this->name(), "' has no layer '", name, "'; ",
       unnamed
           ? "layers get their names when the shapes of the inputs are known: begin it with Input(), or call it first"
           : cat("it has ", join(names)));
}

AnyLayer Model::get_layer(int64_t index) const {
  const std::vector<AnyLayer> all = layers();
  const int64_t n = std::ssize(all), at = index < 0 ? index + n : index;
  if (at < 0 || at >= n) fail("model '", name(), "' has ", n, " layers, asked for number ", index);
  return all[static_cast<size_t>(at)];
}

// Layers of models that are layers in their place.
std::vector<AnyLayer> Model::innermost_layers() const {
  std::vector<AnyLayer> out;
  for (const AnyLayer& layer : layers()) {
    const auto* part = dynamic_cast<const Model*>(&*layer);
    if (!part || (!part->added() && part->outputs_.empty())) {
      out.push_back(layer);
      continue;
    }
    const std::vector<AnyLayer> inner = part->innermost_layers();
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

void Model::set_layers_trainable(std::string_view expression, bool trainable) {
  const Result<NameExpression> made = NameExpression::make(expression);
  if (!made.ok()) fail("model '", name(), "': ", made.status().message());
  std::map<std::string, std::vector<std::string>> weights;  // by the layer
  for (const TracedLayer& layer : traced("set_layers_trainable").layers) weights[layer.name] = layer.variables;
  std::vector<std::string> names;
  bool found = false;
  for (const AnyLayer& layer : innermost_layers()) {
    bool here = false;
    for (const std::string& weight : weights[layer->name()]) {
      names.push_back(short_name(weight, *this));
      here |= made->is_in(names.back());
    }
    if (here) layer->set_trainable(trainable);
    found |= here;
  }
  if (!found) fail("model '", name(), "': ", made->found_in_none_of(names).message());
}

// As its strategy calls the layers; those of a model that was never compiled have the names and shapes that a strategy of
// its own would give them.
ModelTrace Model::traced(const char* what) {
  const std::vector<Type> examples = example_types();
  if (examples.empty())
    fail(what,
         ": the shapes of the model's inputs are not known yet: begin it with Input(), or call fit or predict first");
  build();
  return trace_model(*this, examples,
                     compiled_->training ? compiled_->training->strategy.impl().tracing(Mode::kEval, what, false)
                                         : TraceOptions{.objects = std::make_shared<ObjectNames>(), .what = what});
}

int64_t Model::count_params() {
  const SummaryTable table = summarized({});
  return table.trainable.elements + table.other.elements;
}

}  // namespace tenon
