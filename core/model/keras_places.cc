// Where Keras looks for a model's weights in its files.
#include "base/strings.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/keras/keras_writer.h"
#include "model/model_training.h"

namespace tenon {
namespace {

struct PlacedLayer {
  std::string name, path, kind;
};

// What stands between a layer's name and a weight's, "forward_lstm/lstm_cell" of "bidirectional/forward_lstm/lstm_cell/kernel", in
// Keras's words.
std::string inner_path(const PlacedLayer& layer, std::string_view inner) {
  std::string out;
  for (const std::string& part : parts_of(inner)) append(out, cat("/", part_of_name(part, layer.kind)));
  return out;
}

}  // namespace

// Keras finds a layer by its class and its number among those of its class, whatever its name. A model with a call() of its own has
// no order of layers: its weights lie by their names.
KerasPlaces Model::keras_places() {
  std::vector<PlacedLayer> all;
  const std::function<void(const Model&, const std::string&)> place = [&](const Model& model, const std::string& path) {
    std::map<std::string, int> used;
    for (const AnyLayer& layer : model.layers()) {
      const std::string kind = layer->kind();
      const int before = used[kind]++;
      const std::string at = cat(path, "layers/", before > 0 ? cat(kind, "_", before) : kind);
      all.push_back({layer->name(), at, kind});
      if (const auto* inner = dynamic_cast<const Model*>(&*layer)) place(*inner, at + "/");
    }
  };
  KerasPlaces out;
  try {
    place(*this, "");
  } catch (const Error&) {
    return out;
  }
  const ModelTraining& t = training();
  for (const std::string& weight : t.weights()) {
    const PlacedLayer* of = nullptr;
    for (const PlacedLayer& layer : all)
      if (weight.starts_with(layer.name + "/") && (!of || layer.name.size() > of->name.size())) of = &layer;
    if (!of) continue;
    const std::string_view scope = scope_of_weight(weight);
    const std::string_view inner =
        scope.size() > of->name.size() ? scope.substr(of->name.size() + 1) : std::string_view();
    const std::string file_scope(scope_of_weight(t.name_in_file(weight)));
    out.emplace(file_scope, KerasPlace{of->path + inner_path(*of, inner), std::string(leaf_of_weight(file_scope))});
  }
  return out;
}

}  // namespace tenon
