// Pooling to a size, with Keras's names and formulas, as functions and as objects. All functions throw tenon::Error.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

// x[B,H,W,C] -> [B,h,w,C]: result i of n is that of rows floor(i H/n) to ceil((i + 1) H/n), and so of columns.
Tensor adaptive_average_pool2d(Tensor x, const Extent& output_size);
Tensor adaptive_max_pool2d(Tensor x, const Extent& output_size);

template <class Self, Tensor (*function)(Tensor, const Extent&)>
class AdaptivePooling : public LayerOf<Self> {
 public:
  explicit AdaptivePooling(const Extent& output_size, std::string name = {})
      : LayerOf<Self>(std::move(name)), output_size_(output_size) {}
  Tensor call(Tensor x) override { return function(x, output_size_); }

 protected:
  bool is_function() const override { return true; }

 private:
  Extent output_size_;
};
class AdaptiveAveragePooling2D : public AdaptivePooling<AdaptiveAveragePooling2D, adaptive_average_pool2d> {
 public:
  using AdaptivePooling::AdaptivePooling;
};
class AdaptiveMaxPooling2D : public AdaptivePooling<AdaptiveMaxPooling2D, adaptive_max_pool2d> {
 public:
  using AdaptivePooling::AdaptivePooling;
};

}  // namespace tenon
