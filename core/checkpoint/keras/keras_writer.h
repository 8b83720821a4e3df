// Keras's .weights.h5, for its load_weights().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace tenon {

// Where Keras looks for a layer's weights, by the names that these begin with: {"conv1_conv", {"layers/conv2d", "conv1_conv"}}. Keras finds
// layers by their classes, in the order of the model, and notes their names.
struct KerasPlace {
  std::string path, name;
};
using KerasPlaces = std::map<std::string, KerasPlace, std::less<>>;

// Layers that `places` does not have lie at "layers/NAME": where Keras finds those that have the names that Keras gives.
Status write_keras_weights(const std::string& path, const std::vector<TensorSource>& tensors,
                           const KerasPlaces& places = {});

}  // namespace tenon
