#include "op/rules.h"

#include <algorithm>

namespace tenon {

void infer_same(Infer& c) { c.result(c.in(0)); }

void infer_binary(Infer& c, DType dtype) {
  c.expect_same_dtype(0, 1);
  const Shape &a = c.shape(0), &b = c.shape(1);
  c.expect(a == b || a.rank() == 0 || b.rank() == 0, c.operand(1), " has shape ", b.str(), ", expected ", a.str(),
           " as operand 0, or a scalar");
  c.result(dtype == DType::kNone ? c.in(0).dtype : dtype, a.rank() == 0 ? b : a);
}

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

Window read_window(Infer& c, Ints window) {
  const size_t n = window.size();
  c.expect(n >= 1 && n <= 3, "has ", n, " spatial dimensions, expected 1 to 3");
  Window w = read_window(static_cast<const AttrReader&>(c), std::move(window));
  const std::pair<const char*, const Ints*> lists[] = {
      {"strides", &w.stride}, {"low", &w.low}, {"high", &w.high}, {"dilation", &w.dilation}};
  for (const auto& [name, list] : lists)
    c.expect(list->size() == n, "attribute '", name, "' has ", list->size(), " numbers, expected ", n);
  for (size_t d = 0; d < n; ++d) {
    c.expect(w.size[d] >= 1, "window size ", w.size[d], " in dimension ", d, ", expected 1 or more");
    c.expect(w.stride[d] >= 1, "stride ", w.stride[d], " in dimension ", d, ", expected 1 or more");
    c.expect(w.dilation[d] >= 1, "dilation ", w.dilation[d], " in dimension ", d, ", expected 1 or more");
    c.expect(w.low[d] >= 0 && w.high[d] >= 0, "negative padding in dimension ", d);
    for (int64_t v : {w.size[d], w.stride[d], w.low[d], w.high[d], w.dilation[d]})
      c.expect(v < (int64_t{1} << 31), "a window attribute is ", v, ", expected less than 2^31");
  }
  return w;
}

int64_t window_output(const Window& w, int d, int64_t size) {
  const int64_t room = size + w.low[d] + w.high[d] - (w.size[d] - 1) * w.dilation[d] - 1;
  return room < 0 ? 0 : room / w.stride[d] + 1;
}

Shape window_result(Infer& c, const Window& w, const Shape& x, int64_t channels) {
  Shape y = x;
  for (int d = 0; d < w.spatial(); ++d) {
    const int64_t n = window_output(w, d, x[d + 1]);
    c.expect(n >= 1, "input ", x.str(), " padded by ", w.low[d], " and ", w.high[d], " is smaller than the window ",
             w.size[d], " in spatial dimension ", d);
    y.set(d + 1, n);
  }
  y.set(-1, channels);
  return y;
}

void expect_finite(const Infer& c, std::string_view name, double low) {
  const double value = c.f64(name);
  c.expect(value >= low && std::isfinite(value), name, " is ", value, ", expected ",
           low == kLowestNumber ? "a finite number" : cat(low, " or more"));
}

void expect_enumerator(const Infer& c, std::string_view name, int highest) {
  const int number = c.enumerator(name);
  c.expect(number >= 0 && number <= highest, "attribute '", name, "' is ", number, ", expected 0 to ", highest);
}

int64_t axis_of(Tensor x, int64_t axis) {
  const int rank = x.rank();
  if (axis < -rank || axis >= rank) fail("axis ", axis, " is out of range for ", x.type().str());
  return axis < 0 ? axis + rank : axis;
}

Ints positive_axes(Tensor x, Ints axes) {
  for (int64_t& a : axes) a = axis_of(x, a);
  std::sort(axes.begin(), axes.end());
  return axes;
}

Ints checked_axes(Infer& c, const Ints& axes, int rank) {
  Ints out = axes;
  for (int64_t a : axes) c.expect(a >= 0 && a < rank, "axis ", a, " is out of range for rank ", rank);
  std::sort(out.begin(), out.end());
  c.expect(std::adjacent_find(out.begin(), out.end()) == out.end(), "axes repeat: [", join(axes, ","), "]");
  return out;
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

Shape gather_shape(Infer& c) {
  const Shape &x = c.shape(0), &i = c.shape(1);
  const int64_t axis = c.i64("axis"), batch = c.i64("batch");
  c.expect(axis >= 0 && axis < x.rank(), "axis ", axis, " is out of range for ", x.str());
  c.expect(batch >= 0 && batch <= axis && batch <= i.rank(), "batch ", batch, ", expected 0 to ",
           std::min<int64_t>(axis, i.rank()));
  for (int b = 0; b < batch; ++b)
    c.expect(x[b] == i[b], c.operand(1), " is ", c.in(1).str(), ", expected ", x[b], " in batch axis ", b);
  std::vector<int64_t> dims(x.begin(), x.begin() + axis);
  dims.insert(dims.end(), i.begin() + batch, i.end());
  dims.insert(dims.end(), x.begin() + axis + 1, x.end());
  return Shape(dims);
}

Type dot_shape(Infer& c) {
  expect_enumerator(c, "precision", static_cast<int>(MathPrecision::kHighest));
  const Shape &a = c.shape(0), &b = c.shape(1);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 2, kMaxRank);
  c.expect_rank(1, a.rank(), a.rank());
  for (int i = 0; i + 2 < a.rank(); ++i)
    c.expect(a[i] == b[i], c.operand(1), " is ", c.in(1).str(), ", expected ", a[i], " in axis ", i);
  const int64_t m = a[c.flag("ta") ? -1 : -2], ka = a[c.flag("ta") ? -2 : -1];
  const int64_t kb = b[c.flag("tb") ? -1 : -2], n = b[c.flag("tb") ? -2 : -1];
  c.expect(ka == kb, "sums over ", ka, " in operand 0 ", c.in(0).str(), " and ", kb, " in operand 1 ", c.in(1).str());
  Shape y = a;
  y.set(-2, m);
  y.set(-1, n);
  const DType out = c.dtype("out");
  c.expect(out == DType::kNone || out == DType::kF32 || out == c.in(0).dtype, "attribute 'out' is ", dtype_name(out),
           ", expected ", dtype_name(c.in(0).dtype), " or f32");
  return {out == DType::kNone ? c.in(0).dtype : out, y};
}

Type conv_shape(Infer& c) {
  expect_enumerator(c, "precision", static_cast<int>(MathPrecision::kHighest));
  const Shape &x = c.shape(0), &w = c.shape(1);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 3, 5);
  c.expect_rank(1, x.rank(), x.rank());
  const int64_t groups = c.i64("groups");
  c.expect(groups >= 1 && x[-1] % groups == 0 && w[-1] % groups == 0, "groups ", groups, " do not divide ", x[-1],
           " channels and ", w[-1], " filters");
  c.expect(x[-1] / groups == w[-2], "input has ", x[-1], " channels", groups > 1 ? cat(" in ", groups, " groups") : "",
           ", filter expects ", w[-2]);
  const Window window = read_window(c, Ints(w.begin(), w.end() - 2));
  const DType out = c.dtype("out");
  c.expect(out == DType::kNone || out == DType::kF32 || out == c.in(0).dtype, "attribute 'out' is ", dtype_name(out),
           ", expected ", dtype_name(c.in(0).dtype), " or f32");
  return {out == DType::kNone ? c.in(0).dtype : out, window_result(c, window, x, w[-1])};
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
