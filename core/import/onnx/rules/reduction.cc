// Sums and their like, along axes.
#include <cmath>
#include <limits>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace reduction_ops {
namespace {

struct Over {
  Ints axes;
  bool keep = true, nothing = false;
};

// Opset 18 made the axes an operand, of ReduceSum 13 did; absent they are all, or none where that is asked for.
Over over(Call& c, int rank) {
  Over out;
  out.keep = c.flag("keepdims", true);
  const std::optional<Ints> axes = c.axes(1);
  if (axes && !axes->empty()) {
    for (const int64_t a : *axes) out.axes.push_back(c.axis(a, rank));
    std::sort(out.axes.begin(), out.axes.end());
  } else if (c.flag("noop_with_empty_axes")) {
    out.nothing = true;
  } else {
    out.axes = iota_list(rank);
  }
  return out;
}

Tensor kept(Tensor x, Tensor y, const Over& o) {
  if (!o.keep) return y;
  Shape shape = x.shape();
  for (const int64_t a : o.axes) shape.set(static_cast<int>(a), 1);
  return y.shape() == shape ? y : reshape(y, shape);
}

// Nothing folded is the neutral element.
double neutral(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::kProd) return 1;
  if (kind == ReduceKind::kSum || (kind == ReduceKind::kMax && dtype == DType::kBool)) return 0;
  if (dtype == DType::kBool) return 1;
  const double highest = is_float(dtype) ? INFINITY : dtype == DType::kI32 ? INT32_MAX : 0x1p62;
  return kind == ReduceKind::kMin ? highest : dtype == DType::kI32 ? INT32_MIN : is_float(dtype) ? -INFINITY : -0x1p63;
}

// Whether the operand is empty; then the result is given, with `value` where there is one.
bool folded_nothing(Call& c, double value) {
  const Value x = c.value(0);
  if (!x.is_empty()) return false;
  const Over o = over(c, x.rank());
  Ints dims;
  const Shape shape = x.shape();
  for (int a = 0; a < shape.rank(); ++a) {
    const bool gone = !o.nothing && std::find(o.axes.begin(), o.axes.end(), a) != o.axes.end();
    if (!gone || o.keep) dims.push_back(gone ? 1 : shape[a]);
  }
  if (Shape(dims).elements() == 0)
    c.give_empty(x.element(), Shape(dims));
  else
    c.give(full(c.graph(), stored_as(x.element()), Shape(dims), value), x.element());
  return true;
}

Tensor fold(Tensor x, const Over& o, ReduceKind kind) {
  if (o.nothing) return x;
  return kept(x, o.axes.empty() ? x : reduce(x, o.axes, kind), o);
}

int64_t count_of(Tensor x, const Over& o) {
  int64_t n = 1;
  for (const int64_t a : o.axes) n *= x.dim(static_cast<int>(a));
  return n;
}

template <ReduceKind K>
void plain(Call& c) {
  if (folded_nothing(c, neutral(K, stored_as(c.element())))) return;
  const Tensor x = c.in(0);
  c.give_number(fold(x, over(c, x.rank()), K), c.element());
}

void mean(Call& c) {
  const Value v = c.value(0);
  const Over o = over(c, v.rank());
  // Means over the places of an image need no turn.
  const bool places = v.is_last() && o.keep && o.axes == [&] {
    Ints axes = iota_list(v.rank());
    axes.erase(axes.begin(), axes.begin() + 2);
    return axes;
  }();
  if (places) {
    Ints axes = iota_list(v.rank() - 1);
    axes.erase(axes.begin());
    return c.give_last(reduce_mean(v.last(), axes, true));
  }
  const Tensor x = v.file();
  if (!is_float(x.dtype()))
    return c.give_number(fold(x, o, ReduceKind::kSum) / static_cast<double>(count_of(x, o)), c.element());
  if (o.nothing) return c.give(x);
  c.give(o.axes.empty() ? x : kept(x, reduce_mean(x, o.axes), o));
}

void l1(Call& c) {
  if (folded_nothing(c, 0)) return;
  const Tensor x = c.in(0);
  c.give(fold(abs(x), over(c, x.rank()), ReduceKind::kSum));
}

void l2(Call& c) {
  if (folded_nothing(c, 0)) return;
  const Tensor x = c.in(0);
  const Tensor real = is_float(x.dtype()) ? x : cast(x, DType::kF32);
  c.give(cast(sqrt(fold(square(real), over(c, x.rank()), ReduceKind::kSum)), x.dtype()));
}

void sum_square(Call& c) {
  if (folded_nothing(c, 0)) return;
  const Tensor x = c.in(0);
  c.give_number(fold(square(x), over(c, x.rank()), ReduceKind::kSum), c.element());
}

void log_sum(Call& c) {
  if (folded_nothing(c, -INFINITY)) return;
  const Tensor x = c.in(0);
  c.give(log(fold(x, over(c, x.rank()), ReduceKind::kSum)));
}

void log_sum_exp(Call& c) {
  if (folded_nothing(c, -INFINITY)) return;
  const Tensor x = c.in(0);
  const Over o = over(c, x.rank());
  c.give(o.nothing ? x : logsumexp(x, o.axes, o.keep));
}

template <Tensor (*F)(Tensor, int64_t)>
void soft(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", c.opset < 13 ? 1 : -1), x.rank());
  if (c.opset >= 13 || axis == x.rank() - 1) return c.give(F(x, axis));
  int64_t rows = 1;
  for (int a = 0; a < axis; ++a) rows *= x.dim(a);
  c.give(reshape(F(reshape(x, {rows, rows == 0 ? 0 : x.elements() / rows}), 1), x.shape()));
}

void cum_sum(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.axis(c.known_integer(1), x.rank());
  c.give_number(cumsum(x, axis, c.flag("exclusive"), c.flag("reverse")), c.element());
}

// In as many steps as the size has digits in base two.
void cum_prod(Call& c) {
  const Tensor x = c.in(0);
  const auto axis = static_cast<size_t>(c.axis(c.known_integer(1), x.rank()));
  const bool back = c.flag("reverse");
  const int64_t size = x.dim(static_cast<int>(axis));
  const auto shifted = [&](Tensor t, int64_t by) {
    Ints low(static_cast<size_t>(x.rank()), 0), high = low;
    (back ? high : low)[axis] = by;
    const Tensor rest =
        back ? part(t, static_cast<int64_t>(axis), by, size) : part(t, static_cast<int64_t>(axis), 0, size - by);
    return pad(rest, low, high, {}, 1);
  };
  Tensor y = c.flag("exclusive") ? shifted(x, 1) : x;
  for (int64_t by = 1; by < size; by *= 2) y = mul(y, shifted(y, by));
  c.give_number(y, c.element());
}

void lp_normalization(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", -1), x.rank());
  const Tensor size =
      c.integer("p", 2) == 1 ? reduce_sum(abs(x), {axis}, true) : sqrt(reduce_sum(square(x), {axis}, true));
  const Tensor zero = compare(size, scalar_like(size, 0), CompareKind::kEq);
  c.give(x / select(zero, scalar_like(size, 1), size));
}

constexpr Rule kRules[] = {
    {"CumProd", cum_prod},
    {"CumSum", cum_sum},
    {"LogSoftmax", soft<log_softmax>},
    {"LpNormalization", lp_normalization},
    {"ReduceL1", l1},
    {"ReduceL2", l2},
    {"ReduceLogSum", log_sum},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", plain<ReduceKind::kMax>},
    {"ReduceMean", mean},
    {"ReduceMin", plain<ReduceKind::kMin>},
    {"ReduceProd", plain<ReduceKind::kProd>},
    {"ReduceSum", plain<ReduceKind::kSum>},
    {"ReduceSumSquare", sum_square},
    {"Softmax", soft<softmax>},
};

}  // namespace
}  // namespace reduction_ops

Rules reduction_rules() { return reduction_ops::kRules; }

}  // namespace tenon::onnx
