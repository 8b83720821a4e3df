// Random numbers of layers.
#pragma once

#include "layer/object/layer_scope.h"

namespace tenon {

// Uniform in [0, 1), f32; others in each call of the layer, in each step and for each `what`. With `shared` the same on all
// units, else those of each unit's own examples.
Tensor uniform(const LayerScope& scope, Tensor like, const Shape& shape, std::string_view what = {},
               bool shared = false);
// Normal with mean 0 and deviation 1, f32.
Tensor normal(const LayerScope& scope, Tensor like, const Shape& shape);

}  // namespace tenon
