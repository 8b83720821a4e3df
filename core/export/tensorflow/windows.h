// Windows over the spatial axes of [N, S.., C], as convolutions and pools of TensorFlow want them: those of one axis get a second.
#pragma once

#include "export/tensorflow/node_rules.h"
#include "tenon/op/window.h"

namespace tenon::tensorflow {

struct Spatial {
  op::Window window;
  Dims dims;  // of the tensor that the window goes over, [N, S.., C]

  int axes() const { return window.spatial(); }
  bool any_pads() const;
  // Whether the pads are those that TensorFlow's SAME gives; with strides of 1 and more, at static sizes.
  bool is_same() const;
};

// Attributes strides, low, high and, where there is one, dilation. `size` is the window's.
Spatial spatial_of(const NodeScribe& n, Ints size, Dims dims, bool dilated);

// An axis of size 1 before the others, where there is but one spatial axis; and without it again.
Ref with_two_axes(NodeScribe& n, const Ref& x, DType dtype, int axes, int at);
Ref with_one_axis(NodeScribe& n, const Ref& y, DType dtype, int axes);
// A number a spatial axis as TensorFlow has it: 1 before and behind, and 1 for an axis that was put in.
Ints strides_field(const Ints& spatial);
// x with the pads; *dims become the padded ones.
Ref padded(NodeScribe& n, const Ref& x, DType dtype, Spatial* spatial, double value);

}  // namespace tenon::tensorflow
