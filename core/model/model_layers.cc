// The layers of a model, by name and number, and what they hold.
#include <algorithm>

#include "base/strings.h"
#include "model/display/summary_table.h"
#include "model/model_order.h"

namespace tenon {
namespace {

// Without the name of the model, which all but the first of a strategy have before their layers'.
std::string short_name(const Layer& layer, const Model& model) {
  const std::string scope = model.name() + "/";
  return layer.name().starts_with(scope) ? layer.name().substr(scope.size()) : layer.name();
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
    if (layer->name() == name || short_name(*layer, *this) == name) return layer;
    names.push_back(short_name(*layer, *this));
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

int64_t Model::count_params() {
  const SummaryTable table = summarized({});
  return table.trainable.elements + table.other.elements;
}

}  // namespace tenon
