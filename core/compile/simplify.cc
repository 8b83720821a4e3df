#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/number.h"
#include "base/strings.h"
#include "compile/rewrite.h"
#include "op/custom_node.h"
#include "tenon/op/table.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

// The value of a constant all of whose elements are equal (stored as one element), as a double; only
// for dtypes that a double holds exactly.
std::optional<double> splat(const Graph& graph, Tensor t) {
  const Node* node = graph.defining_node(t.id());
  if (!node || node->op != "constant") return {};
  const std::string& bytes = std::get<std::string>(*find_attr(node->attrs, "value"));
  const auto read = [&](auto value) -> std::optional<double> {
    if (bytes.size() != sizeof value) return {};
    std::memcpy(&value, bytes.data(), sizeof value);
    return static_cast<double>(value);
  };
  switch (t.dtype()) {
    case DType::kF32:
      return read(float{});
    case DType::kF64:
      return read(double{});
    case DType::kI32:
      return read(int32_t{});
    default:
      return {};
  }
}

std::optional<double> fold_unary(std::string_view op, double x) {
  if (op == "neg") return -x;
  if (op == "abs") return std::fabs(x);
  if (op == "sqrt") return std::sqrt(x);
  if (op == "exp") return std::exp(x);
  if (op == "log") return std::log(x);
  return {};
}

std::optional<double> fold_binary(std::string_view op, double a, double b, bool integer) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "max" && a == a && b == b) return std::max(a, b);
  if (op == "min" && a == a && b == b) return std::min(a, b);
  if (integer) return {};
  if (op == "div") return a / b;
  if (op == "pow") return std::pow(a, b);
  return {};
}

class Simplifier {
 public:
  explicit Simplifier(const Graph& from) : rewrite_(from) {}

  Graph run() {
    return rewrite_.run([this](const Node& node, const Tensors& operands) { return visit(node, operands); });
  }

 private:
  Graph& to() { return rewrite_.to(); }

  // An exchange in which one replica takes part.
  static bool is_alone(const Node& node) {
    if (!op::is_collective(node.op)) return false;
    const AttrValue* replicas = find_attr(node.attrs, "replicas");
    return replicas && std::get<int64_t>(*replicas) == 1;
  }

  Tensors visit(const Node& node, const Tensors& given) {
    if (is_alone(node)) return given;
    if (node.results.size() == 1) {
      if (const Tensor t = folded(node, given)) return {t};
      if (const Tensor t = identity(node, given)) return {t};
    }
    const Tensors operands = op::repeats_operands(node.op) ? narrowed(given) : given;
    const bool still_fits = shape_survives(node, given, operands);
    return merged(node, still_fits ? operands : given);
  }

  // An elementwise operand that repeats one number becomes that number, rank 0.
  Tensors narrowed(const Tensors& operands) {
    Tensors out = operands;
    for (Tensor& t : out) {
      if (t.rank() == 0) continue;
      const Node* node = to().defining_node(t.id());
      if (node && node->op == "broadcast" && to().type(node->operands[0]).shape.rank() == 0)
        t = Tensor(&to(), node->operands[0]);
      else if (const auto v = splat(to(), t))
        t = scalar(t.dtype(), *v);
    }
    return out;
  }

  static bool shape_survives(const Node&, const Tensors& before, const Tensors& after) {
    int rank = 0, now = 0;
    for (const Tensor& t : before) rank = std::max(rank, t ? t.rank() : 0);
    for (const Tensor& t : after) now = std::max(now, t ? t.rank() : 0);
    return rank == now;
  }

  Tensor scalar(DType dtype, double value) { return constant_of({dtype, {}}, value); }

  Tensor constant_of(const Type& type, double value) {
    const std::string key = cat("constant ", type.str(), " ", value);
    auto [it, fresh] = seen_.try_emplace(key);
    if (fresh) {
      it->second = {full(to(), type.dtype, type.shape, value)};
    }
    return it->second[0];
  }

  Tensor folded(const Node& node, const Tensors& operands) {
    const Type& type = result_type(node);
    std::optional<double> value;
    if (operands.size() == 1 && operands[0]) {
      const auto x = splat(to(), operands[0]);
      if (x && (node.op == "reshape" || node.op == "broadcast" || node.op == "transpose"))
        value = x;
      else if (x && is_float(type.dtype))
        value = fold_unary(node.op, *x);
      else if (x && node.op == "cast" && type.dtype == DType::kF32)
        value = x;
    } else if (operands.size() == 2 && operands[0] && operands[1]) {
      const auto a = splat(to(), operands[0]), b = splat(to(), operands[1]);
      if (a && b && type.dtype == operands[0].dtype()) value = fold_binary(node.op, *a, *b, is_integer(type.dtype));
    }
    if (!value || !fits(type.dtype, *value)) return {};
    return constant_of(type, *value);
  }

  // x * 1, x + 0, x - 0, x / 1; reshape of reshape.
  Tensor identity(const Node& node, const Tensors& operands) {
    const Type& type = result_type(node);
    if (node.op == "reshape" || node.op == "cast" || node.op == "broadcast")
      if (operands[0].type() == type) return operands[0];
    if (node.op == "reshape")
      if (const Node* inner = to().defining_node(operands[0].id()); inner && inner->op == "reshape")
        return reshape_of(node, Tensor(&to(), inner->operands[0]));
    if (operands.size() != 2 || !operands[0] || !operands[1]) return {};
    const Tensor left = operands[0], right = operands[1];
    const auto a = splat(to(), left), b = splat(to(), right);
    if (left.type() == type && b) {
      if (*b == 1 && (node.op == "mul" || node.op == "div")) return left;
      if (*b == 0 && !std::signbit(*b) && (node.op == "add" || node.op == "sub")) return left;
    }
    if (right.type() == type && a) {
      if (*a == 1 && node.op == "mul") return right;
      if (*a == 0 && node.op == "add") return right;
    }
    return {};
  }

  Tensor reshape_of(const Node& node, Tensor x) { return x.type() == result_type(node) ? x : merged(node, {x})[0]; }

  const Type& result_type(const Node& node) const { return types_ ? (*types_)[node.results[0]].type : empty_; }

  // The same op on the same operands computes the same value.
  Tensors merged(const Node& node, const Tensors& operands) {
    std::string key = cat(node.op, "@", node.version);
    for (const Tensor& t : operands) append(key, cat(" ", t ? t.id() : -1));
    if (node.custom)
      for (const Type& t : node.custom->results) append(key, cat(" ", t.str()));
    for (const Attr& a : node.attrs) {
      append(key, cat(" ", a.name, "="));
      if (const auto* bytes = std::get_if<std::string>(&a.value))
        key += *bytes;
      else
        append(key, to_text(a.value));
    }
    const auto it = seen_.find(key);
    if (it != seen_.end()) return it->second;
    return seen_.emplace(key, rewrite_.copy(node, operands)).first->second;
  }

 public:
  void set_types(const std::deque<Value>& values) { types_ = &values; }

 private:
  Rewrite rewrite_;
  const std::deque<Value>* types_ = nullptr;
  Type empty_;
  std::unordered_map<std::string, Tensors> seen_;
};

}  // namespace

Graph simplify(const Graph& graph) {
  const Graph moved = set_activations_apart(activate_before_pooling(graph));
  Simplifier simplifier(moved);
  simplifier.set_types(moved.values);
  const Graph simple = simplifier.run();
  Rewrite sweep(simple);  // of what became unused on the way
  return sweep.run([&](const Node& node, const Tensors& operands) { return sweep.copy(node, operands); });
}

}  // namespace tenon
