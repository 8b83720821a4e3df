// A second arithmetic beside sdk/conformance/reference, whose evaluate_node() does all primitives and could stand in its
// place, once core/import may link it.
#include "import/onnx/known/known_ops.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/array_dtype.h"
#include "base/each_number.h"
#include "import/onnx/known/host_node.h"
#include "tenon/ops.h"

namespace tenon::onnx {
namespace {

Numbers numbers_of(const Array& array) {
  Numbers out;
  out.real = is_float(array.dtype());
  each_number(array.dtype(), array.bytes(), [&](auto v) {
    if (out.real)
      out.f.push_back(static_cast<double>(v));
    else
      out.i.push_back(static_cast<int64_t>(v));
  });
  return out;
}

Array array_of(const Numbers& numbers, const Type& type) {
  if (numbers.real) return as_dtype(Array(numbers.f, type.shape), type.dtype);
  if (type.dtype == DType::kI64) return Array(numbers.i, type.shape);
  std::vector<int64_t> narrow(numbers.i);
  for (int64_t& v : narrow) v = narrowed(type.dtype, v);
  return as_dtype(Array(narrow, type.shape), type.dtype);
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> out(static_cast<size_t>(shape.rank()), 1);
  for (int a = shape.rank() - 2; a >= 0; --a)
    out[static_cast<size_t>(a)] = out[static_cast<size_t>(a) + 1] * shape[a + 1];
  return out;
}

// visit(index along each axis) for each element, in order.
template <class Visit>
void each_index(const Shape& shape, Visit visit) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()), 0);
  for (int64_t n = shape.elements(); n > 0; --n) {
    visit(at);
    for (int a = shape.rank() - 1; a >= 0; --a) {
      if (++at[static_cast<size_t>(a)] < shape[a]) break;
      at[static_cast<size_t>(a)] = 0;
    }
  }
}

// Integers wrap.
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

bool HostNode::run(Array* out) {
  if (node_.op == "constant") return *out = filled(), true;
  if (node_.op == "iota") return *out = counted(), true;
  for (const Array* operand : operands_) in_.push_back(numbers_of(*operand));
  Numbers y;
  y.real = is_float(result_.dtype);
  if (!elementwise(y) && !moved(y) && !folded(y)) return false;
  *out = array_of(y, result_);
  return true;
}

Array HostNode::filled() const {
  const AttrValue* value = find_attr(node_.attrs, "value");
  const auto& bytes = std::get<std::string>(*value);
  Array out(result_);
  for (size_t at = 0; at < out.bytes().size() && !bytes.empty(); at += bytes.size())
    std::memcpy(&out.bytes()[at], bytes.data(), bytes.size());
  return out;
}

Array HostNode::counted() const {
  Numbers y;
  const auto axis = static_cast<size_t>(number("axis"));
  each_index(result_.shape, [&](const std::vector<int64_t>& at) { y.i.push_back(at[axis]); });
  if (!is_float(result_.dtype)) return array_of(y, result_);
  Numbers real;
  real.real = true;
  for (const int64_t v : y.i) real.f.push_back(static_cast<double>(v));
  return array_of(real, result_);
}

void HostNode::push(Numbers& y, size_t which, int64_t from) const {
  const Numbers& x = in_[which];
  if (y.real)
    y.f.push_back(from < 0 ? 0 : x.f[static_cast<size_t>(from)]);
  else
    y.i.push_back(from < 0 ? 0 : x.i[static_cast<size_t>(from)]);
}

template <class Place>
void HostNode::take(Numbers& y, Place place) const {
  const Shape& shape = operands_[0]->shape();
  const std::vector<int64_t> strides = strides_of(shape);
  each_index(result_.shape, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    for (int a = 0; a < shape.rank(); ++a) from += place(at, static_cast<size_t>(a)) * strides[static_cast<size_t>(a)];
    push(y, 0, from);
  });
}

bool HostNode::moved(Numbers& y) {
  const std::string& op = node_.op;
  const Shape& x = operands_[0]->shape();
  if (op == "reshape") return y = in_[0], true;
  if (op == "transpose") {
    const std::vector<int64_t>& perm = list("perm");
    std::vector<size_t> to(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) to[static_cast<size_t>(perm[i])] = i;
    return take(y, [&](const auto& at, size_t a) { return at[to[a]]; }), true;
  }
  if (op == "broadcast") {
    const std::vector<int64_t>& dims = list("dims");
    return take(y, [&](const auto& at,
                       size_t a) { return x[static_cast<int>(a)] == 1 ? 0 : at[static_cast<size_t>(dims[a])]; }),
           true;
  }
  if (op == "slice")
    return take(y, [&](const auto& at, size_t a) { return at_or("start", a, 0) + at[a] * at_or("stride", a, 1); }),
           true;
  if (op == "reverse") {
    const std::vector<int64_t>& axes = list("axes");
    return take(y,
                [&](const auto& at, size_t a) {
                  const bool back = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
                  return back ? x[static_cast<int>(a)] - 1 - at[a] : at[a];
                }),
           true;
  }
  if (op == "gather" && number("batch") == 0) return gathered(y), true;
  if (op == "concat") return joined(y), true;
  if (op == "pad") return padded(y), true;
  return false;
}

void HostNode::gathered(Numbers& y) const {
  const Shape &x = operands_[0]->shape(), &which = operands_[1]->shape();
  const auto axis = static_cast<size_t>(number("axis"));
  const std::vector<int64_t> strides = strides_of(x), of_index = strides_of(which);
  each_index(result_.shape, [&](const std::vector<int64_t>& at) {
    int64_t index = 0, from = 0;
    for (size_t a = 0; a < of_index.size(); ++a) index += at[axis + a] * of_index[a];
    const int64_t entry = in_[1].i[static_cast<size_t>(index)];
    for (size_t a = 0; a < strides.size(); ++a)
      from += strides[a] * (a < axis ? at[a] : a == axis ? entry : at[a + of_index.size() - 1]);
    push(y, 0, entry < 0 || entry >= x[static_cast<int>(axis)] ? -1 : from);
  });
}

void HostNode::joined(Numbers& y) const {
  const auto axis = static_cast<int>(number("axis"));
  each_index(result_.shape, [&](const std::vector<int64_t>& at) {
    int64_t along = at[static_cast<size_t>(axis)];
    size_t part = 0;
    while (along >= operands_[part]->dim(axis)) along -= operands_[part++]->dim(axis);
    const std::vector<int64_t> strides = strides_of(operands_[part]->shape());
    int64_t from = 0;
    for (size_t a = 0; a < strides.size(); ++a) from += strides[a] * (static_cast<int>(a) == axis ? along : at[a]);
    push(y, part, from);
  });
}

void HostNode::padded(Numbers& y) const {
  const Shape& x = operands_[0]->shape();
  const std::vector<int64_t> strides = strides_of(x);
  const AttrValue* value = find_attr(node_.attrs, "value");
  const double fill = value ? std::get<double>(*value) : 0;
  each_index(result_.shape, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    for (size_t a = 0; a < strides.size() && from >= 0; ++a) {
      const int64_t step = at_or("interior", a, 0) + 1, i = at[a] - at_or("low", a, 0);
      const bool inside = i >= 0 && i % step == 0 && i / step < x[static_cast<int>(a)];
      from = inside ? from + strides[a] * (i / step) : -1;
    }
    push(y, 0, from);
    if (from < 0) y.real ? void(y.f.back() = fill) : void(y.i.back() = static_cast<int64_t>(fill));
  });
}

bool HostNode::folded(Numbers& y) const {
  if (node_.op != "reduce") return false;
  const auto kind = static_cast<ReduceKind>(number("kind"));
  const Shape& x = operands_[0]->shape();
  const std::vector<int64_t>& axes = list("axes");
  const std::vector<int64_t> strides = strides_of(result_.shape);
  const auto n = static_cast<size_t>(result_.shape.elements());
  const auto fold = [&](const auto& from, auto& to, auto lowest, auto highest) {
    using T = std::decay_t<decltype(lowest)>;
    const T first = kind == ReduceKind::kSum    ? T{0}
                    : kind == ReduceKind::kProd ? T{1}
                    : kind == ReduceKind::kMax  ? lowest
                                                : highest;
    to.assign(n, first);
    size_t i = 0;
    each_index(x, [&](const std::vector<int64_t>& at) {
      int64_t where = 0;
      size_t kept = 0;
      for (size_t a = 0; a < at.size(); ++a)
        if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) == axes.end())
          where += at[a] * strides[kept++];
      T& sum = to[static_cast<size_t>(where)];
      const T v = from[i++];
      if (kind == ReduceKind::kSum) sum = plus(sum, v);
      if (kind == ReduceKind::kProd) sum = times(sum, v);
      if (kind == ReduceKind::kMax) sum = std::max(sum, v);
      if (kind == ReduceKind::kMin) sum = std::min(sum, v);
    });
  };
  y.real ? fold(in_[0].f, y.f, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity())
         : fold(in_[0].i, y.i, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  return true;
}

bool compute_on_host(const Node& node, const Type& result, const std::vector<const Array*>& operands, Array* out) {
  return HostNode(node, result, operands).run(out);
}

}  // namespace tenon::onnx
