// Convolutions whose every place has a kernel of its own, with Keras 2's names, defaults and formulas (Keras 3 has them
// no more), as functions and as objects. All functions throw tenon::Error.
#pragma once

#include "tenon/layer_classes.h"

namespace tenon {

// x[B,T,C] -> [B,T',filters] and x[B,H,W,C] -> [B,H',W',filters]; T' as of conv1d. Variables kernel [places, k C,
// filters] and bias [T', filters] or [H', W', filters]. Of the options of conv1d and conv2d padding is valid, and
// dilation and groups are 1. Memory and work are places times those of a kernel.
Tensor locally_connected1d(Tensor x, const ConvLayerOptions& options);
Tensor locally_connected2d(Tensor x, const ConvLayerOptions& options);

class LocallyConnected1D : public FunctionLayer<LocallyConnected1D, ConvLayerOptions, locally_connected1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class LocallyConnected2D : public FunctionLayer<LocallyConnected2D, ConvLayerOptions, locally_connected2d> {
 public:
  using FunctionLayer::FunctionLayer;
};

}  // namespace tenon
