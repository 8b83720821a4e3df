// Shape rules and gradient steps that several ops share.
#pragma once

#include "base/number.h"
#include "op/op.h"
#include "tenon/ops.h"

namespace tenon {

inline Enum number_of(auto e) { return Enum{static_cast<int32_t>(e)}; }

// One operand, a result of its type.
void infer_same(Infer& c);
// Two operands of one dtype and shape, or one of them of rank 0; appends a result of `dtype` (kNone: theirs).
void infer_binary(Infer& c, DType dtype = DType::kNone);

// An f64 attribute that is finite, and `low` or more.
void expect_finite(const Infer& c, std::string_view name, double low = kLowestNumber);
// An enum attribute of the numbers 0 to `highest`.
void expect_enumerator(const Infer& c, std::string_view name, int highest);

// g summed to the shape of `operand` when that was the rank-0 side of an elementwise op.
Tensor unbroadcast(Tensor g, Tensor operand);

// Size of each spatial dimension of a convolution or pooling result:
// floor((size + low + high - (window - 1) dilation - 1) / stride) + 1. Fails when it is below 1.
struct Window {
  Ints size, stride, low, high, dilation;
  int spatial() const { return static_cast<int>(size.size()); }
};
// Reads strides, low, high and dilation (empty: 1, 0, 0, 1) for `spatial` dimensions; window sizes are given.
Window read_window(Infer& c, Ints window);
// The same without checks, for decompositions and gradients.
Window read_window(const AttrReader& a, Ints window);
int64_t window_output(const Window& w, int d, int64_t size);
// [N, spatial.., C] -> [N, out.., channels].
Shape window_result(Infer& c, const Window& w, const Shape& x, int64_t channels);

// A negative axis counted from the end. Throws when out of range.
int64_t axis_of(Tensor x, int64_t axis);
// Negative axes counted from the end, sorted: what a wrapper puts into a node. Throws when out of range.
Ints positive_axes(Tensor x, Ints axes);
// axes, checked for range and repetition, sorted. Nodes have no negative ones.
Ints checked_axes(Infer& c, const Ints& axes, int rank);
// The axes of `rank` that are not in `axes`, in order.
Ints other_axes(const Ints& axes, int rank);
// Broadcasts `x`, which lost `axes` of `shape` to a reduction, back to `shape`.
Tensor expand_reduced(Tensor x, const Shape& shape, const Ints& axes);
// x[C] along the last axis of `shape`, or any trailing dims.
Tensor broadcast_trailing(Tensor x, const Shape& shape);
// All axes but the last.
Ints leading_axes(int rank);

// Of max and min: the gradient goes to the operand that won, half to each on a tie.
Tensors gradient_to_winner(const Gradient& n, CompareKind wins);
// The result of gather: x[b.., p.., n, s..] by i[b.., j..] -> [b.., p.., j.., s..].
Shape gather_shape(Infer& c);
// The result of dot and conv from operands 0 and 1, and their composites.
Type dot_shape(Infer& c);
Type conv_shape(Infer& c);

// What sums and nonlinear functions of a dtype are computed in: f32, f64 for f64.
DType compute_dtype(DType dtype);
Tensor widened(Tensor x);
// dot in b's compute dtype, a rounded to b's dtype first; ta, tb as of dot.
Tensor wide_dot(Tensor a, Tensor b, bool ta = false, bool tb = false);
// The bytes of one element; fails where it is outside the dtype.
std::string element(DType dtype, double value);
// A constant with these elements; one fills the shape.
Tensor constant_of(Graph& graph, DType dtype, const Shape& shape, const std::vector<double>& values);

// The activation of `act` and `alpha`; fails where they are no published number or no sensible slope.
Activation checked_activation(Infer& c);
Activation activation_of(const AttrReader& a);
// Operands `bias` [last axis of y] and `residual` [y's shape], both optional and of y's dtype.
void check_epilogue(Infer& c, const Type& y, int bias, int residual);
// act(z + bias + residual), computed wide and rounded to `dtype`; bias and residual may be absent.
Tensor epilogue(Tensor z, Tensor bias, Tensor residual, const AttrReader& a, DType dtype);
// Gradient before the epilogue: of z and residual, and of the bias when it is needed. REQUIRED: the
// activation's gradient comes from its result.
BiasActGrad epilogue_gradient(const Gradient& n, bool needs_bias);

// Gradients of dot and conv by operands 0 and 1, from that of the result.
Tensors dot_gradients(const Gradient& n, Tensor g);
Tensors conv_gradients(const Gradient& n, Tensor g);

ConvOptions conv_options(const AttrReader& a);
Attrs conv_attrs(const ConvOptions& o);
Ints spatial_dims(const Shape& s);  // dims 1..rank-2

}  // namespace tenon
