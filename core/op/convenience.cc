// Functions that are formulas of ops: constants, NumPy's broadcasting, keepdims reductions, operators.
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/half.h"
#include "base/number.h"
#include "op/bounded.h"
#include "op/rules.h"
#include "tenon/op/enumerations.h"

namespace tenon {
namespace {

template <class T>
std::string bytes_of(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

}  // namespace

std::string element(DType dtype, double value) {
  if (!fits(dtype, value)) fail("constant: ", value, " is outside ", dtype_name(dtype));
  switch (dtype) {
    case DType::kF32:
      return bytes_of(static_cast<float>(value));
    case DType::kF64:
      return bytes_of(value);
    case DType::kBF16:
      return bytes_of(to_bf16(static_cast<float>(value)));
    case DType::kF16:
      return bytes_of(to_f16(static_cast<float>(value)));
    case DType::kI32:
      return bytes_of(static_cast<int32_t>(value));
    case DType::kI64:
      return bytes_of(static_cast<int64_t>(value));
    case DType::kU8:
      return bytes_of(static_cast<uint8_t>(value));
    case DType::kBool:
      return bytes_of(static_cast<uint8_t>(value != 0));
    case DType::kNone:
      break;
  }
  fail("constant: no dtype");
}

namespace {

Ints all_axes(Tensor x) {
  Ints axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Tensor reduced(std::string_view op, Tensor x, const Ints& axes, bool keepdims, ReduceKind kind) {
  Ints which = axes.empty() ? all_axes(x) : axes;
  Shape kept = x.shape();
  for (int64_t& a : which) a = axis_of(op, x, a), kept.set(static_cast<int>(a), 1);
  const Tensor y = reduce(x, which, kind);
  return keepdims ? reshape(y, kept) : y;
}

using Binary = Tensor (*)(Tensor, Tensor);

// `who`: what begins a message, "add: ".
Shape joint_shape(std::string_view who, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) fail(who, "shapes ", a.str(), " and ", b.str(), " do not broadcast");
    dims[rank - i] = std::max(x, y);
  }
  return Shape(dims);
}

// Rank 0 beside any shape needs no broadcast of its own.
Tensor broadcasting(std::string_view who, Binary op, Tensor a, Tensor b) {
  if (a.shape() == b.shape() || a.rank() == 0 || b.rank() == 0) return op(a, b);
  const Shape shape = joint_shape(who, a.shape(), b.shape());
  return op(broadcast_to(a, shape), broadcast_to(b, shape));
}

// In Keras's words, number 0 is "linear".
std::vector<std::string_view> activation_names() {
  const auto& names = op::enumeration("act")->values;
  std::vector<std::string_view> out(names.begin(), names.end());
  out[0] = "linear";
  return out;
}

}  // namespace

Activation activation_from_name(std::string_view name) {
  const std::vector<std::string_view> names = activation_names();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Activation>(i);
  if (name == "none" || name.empty()) return Activation::kNone;
  if (name == "swish") return Activation::kSilu;
  if (name == "hard_silu") return Activation::kHardSwish;
  const std::string_view near = nearest(name, names);
  fail("no activation of name '", name, "'", near.empty() ? "" : cat("; did you mean '", near, "'?"));
}

std::string_view activation_name(Activation a) {
  if (a == Activation::kNone) return "linear";
  const std::string_view name = op::enumeration("act")->text(static_cast<int>(a));
  return name.empty() ? "unknown activation" : name;
}

Tensor full(Graph& graph, DType dtype, const Shape& shape, double value) {
  return constant(graph, {dtype, shape}, element(dtype, value));
}
Tensor scalar_like(Tensor like, double value) {
  const DType dtype = like.dtype();  // throws for no tensor
  return full(*like.graph(), dtype, {}, value);
}
Tensor full_like(Tensor like, double value) {
  const Type type = like.type();
  Graph& graph = *like.graph();
  const Tensor y = full(graph, type.dtype, type.shape, value);
  graph.set_bounds(y.id(), graph.bounds(like.id()));
  return y;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) { return joint_shape("", a, b); }

Tensor broadcast_to(Tensor x, const Shape& shape) {
  if (!(broadcast_shapes(x.shape(), shape) == shape)) fail("cannot broadcast ", x.type().str(), " to ", shape.str());
  return broadcast_trailing(x, shape);
}

Tensor expand_dims(Tensor x, int64_t axis) {
  std::vector<int64_t> dims = x.shape().vec();
  if (axis < 0) axis += x.rank() + 1;
  if (axis < 0 || axis > x.rank()) fail("expand_dims: axis ", axis, " is out of range for ", x.type().str());
  dims.insert(dims.begin() + axis, 1);
  return reshape(x, Shape(dims));
}

Tensor reduce_sum(Tensor x, const Ints& axes, bool keepdims) {
  return reduced("reduce_sum", x, axes, keepdims, ReduceKind::kSum);
}
Tensor reduce_max(Tensor x, const Ints& axes, bool keepdims) {
  return reduced("reduce_max", x, axes, keepdims, ReduceKind::kMax);
}
Tensor reduce_min(Tensor x, const Ints& axes, bool keepdims) {
  return reduced("reduce_min", x, axes, keepdims, ReduceKind::kMin);
}

Tensor reduce_mean(Tensor x, const Ints& axes, bool keepdims) {
  const Tensor sum = reduce_sum(x, axes, keepdims);
  if (x.elements() == sum.elements()) return sum;
  return mul(sum, inverse_count(x, axes.empty() ? all_axes(x) : positive_axes("reduce_mean", x, axes), sum));
}

Tensor square(Tensor x) { return mul(x, x); }

Tensor sign(Tensor x) {
  const Tensor zero = scalar_like(x, 0), one = scalar_like(x, 1);
  const Tensor below = select(compare(x, zero, CompareKind::kLt), neg(one), mul(x, zero));
  return select(compare(x, zero, CompareKind::kGt), one, below);
}

Tensor clamp(Tensor x, double low, double high) {
  if (!(low <= high)) fail("clamp: ", low, " to ", high, ", expected a number and one that is no lower");
  return minimum(maximum(x, scalar_like(x, low)), scalar_like(x, high));
}

Tensor one_hot(Tensor indices, int64_t depth, DType dtype) {
  if (!is_integer(indices.dtype())) fail("one_hot: indices are ", indices.type().str(), ", expected i32 or i64");
  std::vector<int64_t> dims = indices.shape().vec();
  dims.push_back(depth);
  const Shape shape(dims);
  Ints axes(indices.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const Tensor classes = iota(*indices.graph(), indices.dtype(), shape, indices.rank());
  return cast(compare(broadcast(indices, shape, axes), classes, CompareKind::kEq), dtype);
}

Sorted top_k(Tensor x, int64_t k) { return sort(x, k, true); }

Tensor operator+(Tensor a, Tensor b) { return broadcasting("add: ", add, a, b); }
Tensor operator-(Tensor a, Tensor b) { return broadcasting("sub: ", sub, a, b); }
Tensor operator*(Tensor a, Tensor b) { return broadcasting("mul: ", mul, a, b); }
Tensor operator/(Tensor a, Tensor b) { return broadcasting("div: ", div, a, b); }
Tensor operator+(Tensor a, double b) { return add(a, scalar_like(a, b)); }
Tensor operator-(Tensor a, double b) { return sub(a, scalar_like(a, b)); }
Tensor operator*(Tensor a, double b) { return mul(a, scalar_like(a, b)); }
Tensor operator/(Tensor a, double b) { return div(a, scalar_like(a, b)); }
Tensor operator+(double a, Tensor b) { return add(scalar_like(b, a), b); }
Tensor operator-(double a, Tensor b) { return sub(scalar_like(b, a), b); }
Tensor operator*(double a, Tensor b) { return mul(scalar_like(b, a), b); }
Tensor operator/(double a, Tensor b) { return div(scalar_like(b, a), b); }
Tensor operator-(Tensor x) { return neg(x); }

}  // namespace tenon
