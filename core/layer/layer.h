// Inside of the layers: names, variables, padding.
#pragma once

#include "base/text.h"
#include "graph/graph.h"
#include "op/op.h"
#include "tenon/layers.h"

namespace tenon {

// Names a layer's nodes and variables "NAME/..." while it lives, NAME made unique in the graph.
class LayerScope {
 public:
  LayerScope(Tensor x, std::string_view name);
  ~LayerScope() { graph_.set_scope(saved_); }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;
  const std::string& name() const { return name_; }

  // Throws "conv2d 'block3/a': " followed by the parts.
  template <class... Parts>
  [[noreturn]] void fail(std::string_view layer, const Parts&... parts) const {
    ::tenon::fail(layer, " '", name_, "': ", parts...);
  }

 private:
  Graph& graph_;
  std::string saved_, name_;
};

// A trainable or frozen weight with an optional penalty on the loss.
Tensor weight(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
              Regularizer regularizer = {});

// low and high padding of each spatial dimension, as TensorFlow pads: the odd one at the end.
struct Paddings {
  Ints low, high;
};
Paddings paddings(Padding padding, const Ints& input, const Ints& kernel, const Ints& strides, const Ints& dilation);

}  // namespace tenon
