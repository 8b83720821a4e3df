// Constants, and what is computed element by element.
#include <algorithm>
#include <limits>

#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {
namespace {

std::vector<Written> constant_rule(NodeScribe& n) {
  const Dims dims = n.list("shape");
  const std::string& bytes = n.bytes("value");
  const DType dtype = n.dtype("dtype");
  Ints sizes;
  for (const PerRows& dim : dims) sizes.push_back(dim.base);
  const bool grows = std::any_of(dims.begin(), dims.end(), [](const PerRows& d) { return d.each != 0; });
  const bool fills = static_cast<int64_t>(bytes.size()) == dtype_bytes(dtype);
  if (!grows && (!fills || dims.empty())) return {{n.nodes().constant(tensor_proto(dtype, sizes, bytes))}};
  if (!fills) throw Lacking{"is a constant whose values depend on the number of rows"};
  return {{n.write("Expand", {n.nodes().constant(tensor_proto(dtype, {}, bytes)), n.numbers(dims)})}};
}

std::vector<Written> iota_rule(NodeScribe& n) {
  const Dims dims = n.list("shape");
  const DType dtype = n.dtype("dtype");
  const auto axis = static_cast<size_t>(n.number("axis"));
  const Ref limit = n.write("Reshape", {n.numbers({dims[axis]}), n.nodes().ints({})});
  const Ref range = n.write("Range", {n.nodes().whole(0), limit, n.nodes().whole(1)});
  Dims along(dims.size(), fixed(1));
  along[axis] = dims[axis];
  return {{n.write("Expand", {n.reshape(n.cast(range, DType::kI64, dtype), along), n.numbers(dims)})}};
}

std::vector<Written> replica_rule(NodeScribe& n) {
  return {{n.scalar(DType::kI32, static_cast<double>(n.number("first")))}};
}

// f(x) or f(a, b).
std::vector<Written> arithmetic(NodeScribe& n) {
  const Elements e = elements_of(n);
  return n.narrow_as(e.first, n.write(n.op(), e.in), NodeScribe::wide(n.dtype()));
}

// exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which keeps the digits of small numbers.
std::vector<Written> expm1_rule(NodeScribe& n) {
  const Elements e = elements_of(n);
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref half = n.write("Tanh", {n.write("Mul", {e.in[0], n.scalar(dtype, 0.5)})});
  const Ref more = n.write("Add", {n.write("Exp", {e.in[0]}), n.scalar(dtype, 1)});
  return n.narrow_as(e.first, n.write("Mul", {half, more}), dtype);
}

// log(1 + x) = 2 atanh(x / (2 + x)) near 0.
std::vector<Written> log1p_rule(NodeScribe& n) {
  const Elements e = elements_of(n);
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref small = n.write("Less", {n.write("Abs", {e.in[0]}), n.scalar(dtype, 0.5)});
  const Ref ratio = n.write("Div", {e.in[0], n.write("Add", {e.in[0], n.scalar(dtype, 2)})});
  const Ref near = n.write("Mul", {n.write("Atanh", {ratio}), n.scalar(dtype, 2)});
  const Ref far = n.write("Log", {n.write("Add", {e.in[0], n.scalar(dtype, 1)})});
  return n.narrow_as(e.first, n.write("Where", {small, near, far}), dtype);
}

// Integers by 0, and the lowest one by -1, are what model code gets: a.
std::vector<Written> divide(NodeScribe& n) {
  const DType dtype = n.dtype();
  if (is_float(dtype)) return arithmetic(n);
  const Elements e = elements_of(n);
  const Ref &a = e.in[0], &b = e.in[1], one = n.scalar(dtype, 1);
  const Ref zero = n.write("Equal", {b, n.scalar(dtype, 0)}), negative = n.write("Equal", {b, n.scalar(dtype, -1)});
  const Ref safe = n.write("Where", {n.write("Or", {zero, negative}), one, b});
  const Ref quotient = n.write("Div", {a, safe});
  return n.narrow_as(e.first, n.write("Where", {negative, n.write("Neg", {a}), quotient}), dtype);
}

// The larger or smaller one; among bools these are or and and.
std::vector<Written> extreme(NodeScribe& n) {
  if (n.dtype() != DType::kBool) return arithmetic(n);
  return {{n.write(n.op() == "Max" ? "Or" : "And", {n.in(0), n.in(1)})}};
}

std::vector<Written> compare_rule(NodeScribe& n) {
  constexpr const char* kOps[] = {"Equal", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  const auto kind = static_cast<size_t>(n.choice("kind"));
  Elements e = elements_of(n);
  if (n.dtype() == DType::kBool && kind > 1)
    for (Ref& x : e.in) x = n.cast(x, DType::kBool, DType::kI32);
  Ref y = n.write(kOps[kind], e.in);
  if (kind == 1) y = n.write("Not", {y});
  return n.narrow_as(e.first, y, DType::kBool);
}

std::vector<Written> select_rule(NodeScribe& n) {
  const bool first = n.only_first(1) || n.only_first(2);
  std::vector<Ref> in;
  for (int i = 0; i < 3; ++i) in.push_back(first && n.rank(i) > 0 ? n.first_in(i) : n.in(i));
  if (n.dtype(1) != DType::kBool) return n.narrow_as(first, n.write("Where", in), n.dtype(1));
  // ONNX Runtime has no Where of bools.
  const Ref other = n.write("And", {n.write("Not", {in[0]}), in[2]});
  return n.narrow_as(first, n.write("Or", {n.write("And", {in[0], in[1]}), other}), DType::kBool);
}

// Floats outside of an integer's range become its ends, NaN 0.
Ref to_integer(NodeScribe& n, const Ref& x, DType from, DType to) {
  const int64_t low = to == DType::kI64   ? std::numeric_limits<int64_t>::min()
                      : to == DType::kI32 ? std::numeric_limits<int32_t>::min()
                                          : 0;
  const double above = to == DType::kI64 ? 0x1p63 : to == DType::kI32 ? 0x1p31 : 256;  // the first that does not fit
  const Ref large = n.write("GreaterOrEqual", {x, n.scalar(from, above)});
  const Ref small = n.write("LessOrEqual", {x, n.scalar(from, static_cast<double>(low))});
  const Ref outside = n.write("Or", {n.write("Or", {n.write("IsNaN", {x}), large}), small});
  const Ref inside = n.cast(n.write("Where", {outside, n.scalar(from, 0), x}), from, to);
  const Ref top = n.nodes().constant(tensor_proto(
      to, {}, std::string(static_cast<size_t>(dtype_bytes(to)) - 1, '\xff') + (to == DType::kU8 ? '\xff' : '\x7f')));
  const Ref bottom = n.scalar(to, static_cast<double>(low));
  return n.write("Where", {small, bottom, n.write("Where", {large, top, inside})});
}

std::vector<Written> cast_rule(NodeScribe& n) {
  const DType from = n.dtype(), to = n.dtype("to");
  const bool first = n.only_first(0), narrows = is_float(from) && (is_integer(to) || to == DType::kU8);
  const Ref x = first ? n.first_in(0) : n.in(0);
  const DType wide = NodeScribe::wide(from);
  return n.narrow_as(first, narrows ? to_integer(n, n.cast(x, from, wide), wide, to) : n.cast(x, from, to), to);
}

std::vector<Written> activation_rule(NodeScribe& n) {
  const Elements e = elements_of(n);
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref y = activated(n, e.in[0], dtype, static_cast<Activation>(n.choice("act")), n.real("alpha"));
  return n.narrow_as(e.first, y, dtype);
}

constexpr NodeRule kElementwiseRules[] = {
    {"constant", constant_rule},    {"iota", iota_rule},        {"replica_id", replica_rule},
    {"neg", arithmetic, "Neg"},     {"abs", arithmetic, "Abs"}, {"floor", arithmetic, "Floor"},
    {"round", arithmetic, "Round"}, {"exp", arithmetic, "Exp"}, {"expm1", expm1_rule},
    {"log", arithmetic, "Log"},     {"log1p", log1p_rule},      {"sqrt", arithmetic, "Sqrt"},
    {"sin", arithmetic, "Sin"},     {"cos", arithmetic, "Cos"}, {"tanh", arithmetic, "Tanh"},
    {"erf", arithmetic, "Erf"},     {"add", arithmetic, "Add"}, {"sub", arithmetic, "Sub"},
    {"mul", arithmetic, "Mul"},     {"div", divide, "Div"},     {"max", extreme, "Max"},
    {"min", extreme, "Min"},        {"pow", arithmetic, "Pow"}, {"compare", compare_rule},
    {"select", select_rule},        {"cast", cast_rule},        {"activation", activation_rule},
};

}  // namespace

Elements elements_of(NodeScribe& n) {
  Elements out;
  for (int i = 0; i < n.operands(); ++i) out.first = out.first || n.only_first(i);
  for (int i = 0; i < n.operands(); ++i)
    out.in.push_back(out.first && n.rank(i) > 0 ? n.wide_first_in(i) : n.wide_in(i));
  return out;
}

std::span<const NodeRule> elementwise_rules() { return kElementwiseRules; }

}  // namespace tenon::onnx::out
