// Constants, and what is computed element by element.
#include <algorithm>
#include <limits>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {
namespace {

std::vector<Ref> constant_rule(NodeScribe& n) {
  const Dims dims = n.list("shape");
  const std::string& bytes = n.bytes("value");
  const DType dtype = n.dtype("dtype");
  Ints sizes;
  for (const PerRows& dim : dims) sizes.push_back(dim.base);
  const bool grows = std::any_of(dims.begin(), dims.end(), [](const PerRows& d) { return d.each != 0; });
  if (!grows) return {n.nodes().constant(tensor_proto(dtype, sizes, bytes))};
  if (static_cast<int64_t>(bytes.size()) != dtype_bytes(dtype))
    throw Lacking{"is a constant whose values depend on the number of rows"};
  return {n.broadcast(n.nodes().constant(tensor_proto(dtype, {}, bytes)), dtype, dims)};
}

std::vector<Ref> iota_rule(NodeScribe& n) {
  const Dims dims = n.list("shape");
  const DType dtype = n.dtype("dtype"), counts = NodeScribe::wide(dtype);
  const auto axis = static_cast<size_t>(n.number("axis"));
  const Ref limit = n.cast(n.number(dims[axis]), DType::kI32, counts);
  const Ref range = n.write("Range", {n.scalar(counts, 0), limit, n.scalar(counts, 1)}, {type_field("Tidx", counts)});
  Dims along(dims.size(), fixed(1));
  along[axis] = dims[axis];
  return {n.broadcast(n.reshape(n.cast(range, counts, dtype), dtype, along), dtype, dims)};
}

std::vector<Ref> replica_rule(NodeScribe& n) { return {n.scalar(DType::kI32, static_cast<double>(n.number("first")))}; }

// f(x) or f(a, b).
std::vector<Ref> arithmetic(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  std::vector<Ref> in;
  for (int i = 0; i < n.operands(); ++i) in.push_back(n.wide_in(i));
  return n.narrow(n.typed(n.op(), dtype, in), dtype);
}

// TensorFlow's of f64 is NaN at infinity; from 6 on it is 1.
std::vector<Ref> erf_rule(NodeScribe& n) {
  if (n.dtype() != DType::kF64) return arithmetic(n);
  const Ref below = n.typed("Minimum", DType::kF64, {n.in(0), n.scalar(DType::kF64, 6)});
  return {n.typed("Erf", DType::kF64, {n.typed("Maximum", DType::kF64, {below, n.scalar(DType::kF64, -6)})})};
}

// Integers by 0, and the lowest one by -1, are what model code gets: a.
std::vector<Ref> divide(NodeScribe& n) {
  const DType dtype = n.dtype();
  if (is_float(dtype)) {
    const DType wide = NodeScribe::wide(dtype);
    return n.narrow(n.typed("RealDiv", wide, {n.wide_in(0), n.wide_in(1)}), wide);
  }
  const Ref a = n.in(0), b = n.in(1), one = n.scalar(dtype, 1);
  const Ref zero = n.typed("Equal", dtype, {b, n.scalar(dtype, 0)});
  const Ref negative = n.typed("Equal", dtype, {b, n.scalar(dtype, -1)});
  const Ref safe = n.typed("SelectV2", dtype, {n.write("LogicalOr", {zero, negative}), one, b});
  const Ref quotient = n.typed("TruncateDiv", dtype, {a, safe});
  return {n.typed("SelectV2", dtype, {negative, n.typed("Neg", dtype, {a}), quotient})};
}

// The larger or smaller one; among bools these are or and and.
std::vector<Ref> extreme(NodeScribe& n) {
  if (n.dtype() != DType::kBool) return arithmetic(n);
  return {n.write(n.op() == "Maximum" ? "LogicalOr" : "LogicalAnd", {n.in(0), n.in(1)})};
}

std::vector<Ref> compare_rule(NodeScribe& n) {
  constexpr const char* kOps[] = {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"};
  const auto kind = static_cast<size_t>(n.choice("kind"));
  const DType dtype = n.dtype() == DType::kBool ? DType::kI32 : NodeScribe::wide(n.dtype());
  return {n.typed(kOps[kind], dtype, {n.cast(n.in(0), n.dtype(), dtype), n.cast(n.in(1), n.dtype(), dtype)})};
}

std::vector<Ref> select_rule(NodeScribe& n) { return {n.typed("SelectV2", n.dtype(1), {n.in(0), n.in(1), n.in(2)})}; }

// Floats outside of an integer's range become its ends, NaN 0.
Ref to_integer(NodeScribe& n, const Ref& x, DType from, DType to) {
  const int64_t low = to == DType::kI64   ? std::numeric_limits<int64_t>::min()
                      : to == DType::kI32 ? std::numeric_limits<int32_t>::min()
                                          : 0;
  const double above = to == DType::kI64 ? 0x1p63 : to == DType::kI32 ? 0x1p31 : 256;  // the first that does not fit
  const Ref nan = n.typed("NotEqual", from, {x, x});
  const Ref large = n.typed("GreaterEqual", from, {x, n.scalar(from, above)});
  const Ref small = n.typed("LessEqual", from, {x, n.scalar(from, static_cast<double>(low))});
  const Ref outside = n.write("LogicalOr", {n.write("LogicalOr", {nan, large}), small});
  const Ref inside = n.cast(n.typed("SelectV2", from, {outside, n.scalar(from, 0), x}), from, to);
  const Ref top = n.nodes().constant(tensor_proto(
      to, {}, std::string(static_cast<size_t>(dtype_bytes(to)) - 1, '\xff') + (to == DType::kU8 ? '\xff' : '\x7f')));
  const Ref with_top = n.typed("SelectV2", to, {large, top, inside});
  return n.typed("SelectV2", to, {small, n.scalar(to, static_cast<double>(low)), with_top});
}

std::vector<Ref> cast_rule(NodeScribe& n) {
  const DType from = n.dtype(), to = n.dtype("to");
  const bool narrows = is_float(from) && (is_integer(to) || to == DType::kU8);
  if (!narrows) return {n.cast(n.in(0), from, to)};
  return {to_integer(n, n.wide_in(0), NodeScribe::wide(from), to)};
}

std::vector<Ref> activation_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(activated(n, n.wide_in(0), dtype, static_cast<Activation>(n.choice("act")), n.real("alpha")), dtype);
}

constexpr NodeRule kElementwiseRules[] = {
    {"constant", constant_rule},
    {"iota", iota_rule},
    {"replica_id", replica_rule},
    {"neg", arithmetic, "Neg"},
    {"abs", arithmetic, "Abs"},
    {"floor", arithmetic, "Floor"},
    {"round", arithmetic, "Rint"},
    {"exp", arithmetic, "Exp"},
    {"expm1", arithmetic, "Expm1"},
    {"log", arithmetic, "Log"},
    {"log1p", arithmetic, "Log1p"},
    {"sqrt", arithmetic, "Sqrt"},
    {"sin", arithmetic, "Sin"},
    {"cos", arithmetic, "Cos"},
    {"tanh", arithmetic, "Tanh"},
    {"erf", erf_rule, "Erf"},
    {"erfc", arithmetic, "Erfc"},
    {"add", arithmetic, "AddV2"},
    {"sub", arithmetic, "Sub"},
    {"mul", arithmetic, "Mul"},
    {"div", divide},
    {"max", extreme, "Maximum"},
    {"min", extreme, "Minimum"},
    {"pow", arithmetic, "Pow"},
    {"atan2", arithmetic, "Atan2"},
    {"compare", compare_rule},
    {"select", select_rule},
    {"cast", cast_rule},
    {"activation", activation_rule},
};

}  // namespace

std::span<const NodeRule> elementwise_rules() { return kElementwiseRules; }

}  // namespace tenon::tensorflow
