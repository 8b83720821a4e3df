// The table of primitives and the interpreter.
#include "conformance/reference/reference.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <unordered_map>

#include "conformance/reference/ops.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace tenon::reference {
namespace {

void constant(const NodeView&, const Operands&, Results&) {
  throw std::runtime_error("a constant is an entry of the graph's constants, not a node");
}
constexpr Primitive kConstant = {"constant", constant};

using Primitives = std::unordered_map<std::string_view, const Primitive*>;

const Primitives& table() {
  static const Primitives* all = [] {
    auto* found = new Primitives{{kConstant.op, &kConstant}};
    for (const Span<Primitive>& family : {elementwise_primitives(), movement_primitives(), reduction_primitives(),
                                          contraction_primitives(), random_primitives(), collective_primitives()})
      for (const Primitive& p : family) found->emplace(p.op, &p);
    return found;
  }();
  return *all;
}

// -1: any number.
int operands_of(std::string_view op) {
  const auto operands = op::parse(op::row(op).signature).operands;
  return !operands.empty() && operands.back().variadic ? -1 : static_cast<int>(operands.size());
}

std::string text(int32_t dtype, const Dims& dims) {
  std::string s = std::string(plugin::dtype_name(dtype)) + "[";
  for (size_t d = 0; d < dims.size(); ++d) s += (d ? "," : "") + std::to_string(dims[d]);
  return s + "]";
}

// What x differs in from what is declared, or an empty string.
std::string differs(const std::string& what, const plugin::ValueView& declared, const Tensor& x) {
  if (declared.dtype() != x.dtype || declared.dims().vec() != x.dims) {
    return what + " is declared " + text(declared.dtype(), declared.dims().vec()) + ", found " + text(x.dtype, x.dims);
  }
  const size_t n = static_cast<size_t>(elements(x));
  if (x.f.size() != (is_float(x) ? n : 0) || x.i.size() != (is_float(x) ? 0 : n)) {
    return what + " holds " + std::to_string(x.f.size() + x.i.size()) + " elements, expected " + std::to_string(n);
  }
  return {};
}

std::string check_operands(const NodeView& node, const Operands& in) {
  const int operands = operands_of(node.op()), expected = operands < 0 ? node.operands() : operands;
  if (node.operands() != expected || static_cast<int>(in.size()) != expected) {
    return "has " + std::to_string(node.operands()) + " operands and " + std::to_string(in.size()) +
           " tensors, expected " + std::to_string(expected);
  }
  for (int k = 0; k < expected; ++k) {
    const std::string what = "operand " + std::to_string(k);
    if (!node.has(k) || !in[k]) return what + " is absent";
    const std::string wrong = differs(what, node.in(k), *in[k]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string check_results(const NodeView& node, const Results& out) {
  if (node.results() != static_cast<int>(out.size())) {
    return "has " + std::to_string(node.results()) + " results, expected " + std::to_string(out.size());
  }
  for (int k = 0; k < node.results(); ++k) {
    if (!node.has_result(k)) continue;
    const std::string wrong = differs("result " + std::to_string(k), node.out(k), out[k]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string evaluate(const NodeView& node, const Operands& in, Results& out) {
  const Primitive* primitive = find(node.op());
  if (!primitive || node.version() != 1) return "is no primitive of this version";
  const std::string wrong = check_operands(node, in);
  if (!wrong.empty()) return wrong;
  try {
    primitive->evaluate(node, in, out);
  } catch (const std::exception& e) {
    return e.what();
  }
  return check_results(node, out);
}

// The value of a constant, whose bytes may be those of one element for all.
Tensor constant_value(const plugin::GraphView& view, const tenon_constant& c) {
  const plugin::ValueView value = view.value(c.value);
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(value.dtype()));
  if (c.bytes != width) return from_bytes(value.dtype(), value.dims().vec(), view.constant_data(c));
  const Tensor one = from_bytes(value.dtype(), {}, view.constant_data(c));
  Tensor x = zeros(value.dtype(), value.dims().vec());
  for (int64_t i = 0; i < elements(x); ++i) copy(x, i, one, 0);
  return x;
}

std::string load_constants(const plugin::GraphView& view, std::vector<Tensor>& values) {
  for (uint32_t k = 0; k < view.n_constants(); ++k) {
    const tenon_constant& c = view.constant(k);
    const plugin::ValueView value = view.value(c.value);
    if (c.bytes != static_cast<uint64_t>(value.bytes()) &&
        c.bytes != static_cast<uint64_t>(plugin::dtype_bytes(value.dtype()))) {
      return "constant " + std::to_string(k) + " has " + std::to_string(c.bytes) + " bytes, expected " +
             std::to_string(value.bytes());
    }
    values[c.value] = constant_value(view, c);
  }
  return {};
}

std::string load_inputs(const plugin::GraphView& view, const std::vector<Tensor>& inputs, Rounding rounding,
                        std::vector<Tensor>& values) {
  if (inputs.size() != view.n_inputs()) {
    return "the graph has " + std::to_string(view.n_inputs()) + " inputs, given " + std::to_string(inputs.size());
  }
  for (uint32_t k = 0; k < view.n_inputs(); ++k) {
    const uint32_t id = view.input(k).value;
    const std::string wrong = differs("input " + std::to_string(k), view.value(id), inputs[k]);
    if (!wrong.empty()) return wrong;
    values[id] = inputs[k];
    if (rounding == Rounding::kDtype) round_to_dtype(values[id]);
  }
  return {};
}

std::string run_node(const NodeView& node, Rounding rounding, std::vector<Tensor>& values) {
  Operands in;
  for (int k = 0; k < node.operands(); ++k) in.push_back(node.has(k) ? &values[node.operand_id(k)] : nullptr);
  Results out;
  const std::string wrong = evaluate_node(node, in, out);
  if (!wrong.empty()) return wrong;
  for (int k = 0; k < node.results(); ++k) {
    if (!node.has_result(k)) continue;
    if (rounding == Rounding::kDtype) round_to_dtype(out[k]);
    values[node.result_id(k)] = std::move(out[k]);
  }
  return {};
}

}  // namespace

const Primitive* find(std::string_view op) {
  const auto found = table().find(op);
  return found == table().end() ? nullptr : found->second;
}

Dims list(const NodeView& node, std::string_view name) { return node.list(name).vec(); }

Dims list(const NodeView& node, std::string_view name, size_t size, int64_t missing) {
  const Dims items = list(node, name);
  if (items.empty()) return Dims(size, missing);
  if (items.size() != size) {
    throw std::runtime_error("attribute " + std::string(name) + " has " + std::to_string(items.size()) +
                             " items, expected " + std::to_string(size));
  }
  return items;
}

size_t axis_of(const NodeView& node, size_t rank) {
  const int64_t axis = node.i64("axis");
  require(axis >= 0 && axis < static_cast<int64_t>(rank), "axis outside the rank");
  return static_cast<size_t>(axis);
}

std::vector<std::string_view> primitives() {
  std::vector<std::string_view> names;
  for (const op::Row* row : op::kRows)
    if (is_primitive(row->name)) names.push_back(row->name);
  return names;
}

bool is_primitive(std::string_view op) { return find(op) != nullptr; }

std::string evaluate_node(const NodeView& node, const std::vector<const Tensor*>& in, std::vector<Tensor>& out) {
  const std::string wrong = evaluate(node, in, out);
  if (wrong.empty()) return {};
  return std::string(node.op()) + " '" + std::string(node.name()) + "': " + wrong;
}

std::string evaluate_graph(const tenon_graph& graph, const std::vector<Tensor>& inputs, Rounding rounding,
                           std::vector<Tensor>& results) {
  const plugin::GraphView view(graph);
  std::vector<Tensor> values(view.n_values());
  std::string wrong = load_inputs(view, inputs, rounding, values);
  if (wrong.empty()) wrong = load_constants(view, values);
  for (uint32_t k = 0; wrong.empty() && k < view.n_nodes(); ++k) wrong = run_node(view.node(k), rounding, values);
  if (!wrong.empty()) return wrong;
  results.clear();
  for (uint32_t k = 0; k < view.n_results(); ++k) results.push_back(values[view.result(k).value]);
  return {};
}

}  // namespace tenon::reference
