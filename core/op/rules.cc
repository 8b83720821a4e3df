#include "op/rules.h"

#include <algorithm>

namespace tenon {

Tensor unbroadcast(Tensor g, Tensor operand) {
  if (g.shape() == operand.shape()) return g;
  Ints axes(g.rank());
  for (int i = 0; i < g.rank(); ++i) axes[i] = i;
  return reduce(g, axes, ReduceKind::kSum);
}

namespace {

Ints filled(const Ints& given, size_t n, int64_t missing) { return given.empty() ? Ints(n, missing) : given; }

}  // namespace

Window read_window(const AttrReader& a, Ints window) {
  const size_t n = window.size();
  Window w;
  w.size = std::move(window);
  w.stride = filled(a.list("strides"), n, 1);
  w.low = filled(a.list("low"), n, 0);
  w.high = filled(a.list("high"), n, 0);
  w.dilation = find_attr(a.attrs(), "dilation") ? filled(a.list("dilation"), n, 1) : Ints(n, 1);
  return w;
}

int64_t axis_of(std::string_view op, Tensor x, int64_t axis) {
  const int rank = x.rank();
  if (axis < -rank || axis >= rank) fail(op, ": axis ", axis, " is out of range for ", x.type().str());
  return axis < 0 ? axis + rank : axis;
}

Ints positive_axes(std::string_view op, Tensor x, Ints axes) {
  for (int64_t& a : axes) a = axis_of(op, x, a);
  std::sort(axes.begin(), axes.end());
  return axes;
}

Ints other_axes(const Ints& axes, int rank) {
  Ints out;
  for (int64_t i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end() &&
        std::find(axes.begin(), axes.end(), i - rank) == axes.end())
      out.push_back(i);
  return out;
}

Tensor expand_reduced(Tensor x, const Shape& shape, const Ints& axes) {
  return broadcast(x, shape, other_axes(axes, shape.rank()));
}

Tensor broadcast_trailing(Tensor x, const Shape& shape) {
  Ints dims;
  for (int i = shape.rank() - x.rank(); i < shape.rank(); ++i) dims.push_back(i);
  return broadcast(x, shape, dims);
}

Ints leading_axes(int rank) {
  Ints axes;
  for (int i = 0; i + 1 < rank; ++i) axes.push_back(i);
  return axes;
}

Tensors gradient_to_winner(const Gradient& n, CompareKind wins) {
  const Tensor g = n.g(0), a = n.in(0), b = n.in(1), zero = scalar_like(g, 0);
  const Tensor half = mul(g, scalar_like(g, 0.5));
  const Tensor tie = compare(a, b, CompareKind::kEq);
  const auto share = [&](Tensor x, Tensor other) {
    return unbroadcast(select(tie, half, select(compare(x, other, wins), g, zero)), x);
  };
  return {n.needs(0) ? share(a, b) : Tensor(), n.needs(1) ? share(b, a) : Tensor()};
}

ConvOptions conv_options(const AttrReader& a) {
  ConvOptions o;
  o.strides = a.list("strides");
  o.low = a.list("low");
  o.high = a.list("high");
  o.dilation = a.list("dilation");
  o.groups = a.i64("groups");
  o.precision = static_cast<MathPrecision>(a.enumerator("precision"));
  o.out = a.dtype("out");
  return o;
}

Attrs conv_attrs(const ConvOptions& o) {
  return {{"strides", o.strides}, {"low", o.low},
          {"high", o.high},       {"dilation", o.dilation},
          {"groups", o.groups},   {"precision", number_of(o.precision)},
          {"out", o.out}};
}

Ints spatial_dims(const Shape& s) {
  const auto v = s.vec();
  return v.size() < 2 ? Ints() : Ints(v.begin() + 1, v.end() - 1);
}

}  // namespace tenon
