// Steps of decompositions and gradients that several ops share.
#pragma once

#include "base/number.h"
#include "op/op.h"
#include "tenon/op/window.h"
#include "tenon/ops.h"

namespace tenon {

inline Enum number_of(auto e) { return Enum{static_cast<int32_t>(e)}; }

// g summed to the shape of `operand` when that was the rank-0 side of an elementwise op.
Tensor unbroadcast(Tensor g, Tensor operand);

// Attributes strides, low, high and dilation of a node, whose window is of this size.
using op::Window;
using op::window_output;
Window read_window(const AttrReader& a, Ints window);

// A negative axis counted from the end. Throws when out of range, naming the op.
int64_t axis_of(std::string_view op, Tensor x, int64_t axis);
// Negative axes counted from the end, sorted: what a wrapper puts into a node. Throws when out of range.
Ints positive_axes(std::string_view op, Tensor x, Ints axes);
// The axes of `rank` that are not in `axes`, in order.
Ints other_axes(const Ints& axes, int rank);
// Broadcasts `x`, which lost `axes` of `shape` to a reduction, back to `shape`.
Tensor expand_reduced(Tensor x, const Shape& shape, const Ints& axes);
// x[C] along the last axis of `shape`, or any trailing dims.
Tensor broadcast_trailing(Tensor x, const Shape& shape);
// All axes but the last.
Ints leading_axes(int rank);

// The gradient of max and min, which goes to the operand that won, half to each on a tie.
Tensors gradient_to_winner(const Gradient& n, CompareKind wins);

// What sums and nonlinear functions of a dtype are computed in: f32, f64 for f64.
DType compute_dtype(DType dtype);
Tensor widened(Tensor x);
// dot in b's compute dtype, a rounded to b's dtype first; ta, tb as of dot.
Tensor wide_dot(Tensor a, Tensor b, bool ta = false, bool tb = false);
// The bytes of one element; fails where it is outside the dtype.
std::string element(DType dtype, double value);
// A constant with these elements; one fills the shape.
Tensor constant_of(Graph& graph, DType dtype, const Shape& shape, const std::vector<double>& values);

Activation activation_of(const AttrReader& a);
// act(z + bias + residual), computed wide and rounded to `dtype`; bias and residual may be absent.
Tensor epilogue(Tensor z, Tensor bias, Tensor residual, const AttrReader& a, DType dtype);
// Gradient before the epilogue: of z and residual, and of the bias when it is needed. t is the activation's result, or its
// argument where its gradient comes from that (gradient_from_result).
BiasActGrad epilogue_gradient(const Gradient& n, Tensor t, bool needs_bias);
// The t of it, which is `argument()` where that is needed. Empty: it is needed wider than the node's result is.
template <class Argument>
Tensor epilogue_place(const Gradient& n, const Argument& argument) {
  if (gradient_from_result(activation_of(n))) return n.out(0);
  return n.out(0).dtype() == compute_dtype(n.out(0).dtype()) ? argument() : Tensor();
}

// Gradients of dot and conv by operands 0 and 1, from that of the result.
Tensors dot_gradients(const Gradient& n, Tensor g);
Tensors conv_gradients(const Gradient& n, Tensor g);

ConvOptions conv_options(const AttrReader& a);
Attrs conv_attrs(const ConvOptions& o);
Ints spatial_dims(const Shape& s);  // dims 1..rank-2

}  // namespace tenon
