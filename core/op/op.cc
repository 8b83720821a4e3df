#include "op/op.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "op/bounded.h"
#include "op/custom_node.h"
#include "op/decompose.h"
#include "op/signature.h"

namespace tenon {
namespace {

bool in_class(DType dtype, char dtypes) {
  const bool number = is_float(dtype) || is_integer(dtype);
  switch (dtypes) {
    case 'F':
      return is_float(dtype);
    case 'I':
      return is_integer(dtype);
    case 'N':
      return number;
    case 'B':
      return dtype == DType::kBool;
    case 'M':
      return number || dtype == DType::kBool;
    default:
      return dtype != DType::kNone;
  }
}

std::string_view class_text(char dtypes) {
  switch (dtypes) {
    case 'F':
      return "f32, bf16, f16 or f64";
    case 'I':
      return "i32 or i64";
    case 'N':
      return "a float or integer";
    case 'B':
      return "bool";
    case 'M':
      return "a float, integer or bool";
    default:
      return "any dtype";
  }
}

const Signature::Operand* operand_at(const Signature& s, size_t i) {
  if (i < s.operands.size() && !s.operands[i].variadic) return &s.operands[i];
  if (!s.operands.empty() && s.operands.back().variadic && i + 1 >= s.operands.size()) return &s.operands.back();
  return nullptr;
}

void check_operands(const Graph& graph, const Node& node, const Signature& s) {
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Signature::Operand* spec = operand_at(s, i);
    if (!spec) fail(describe(node), ": has ", node.operands.size(), " operands, takes ", s.operands.size());
    const ValueId id = node.operands[i];
    if (id < 0) {
      if (!spec->optional) fail(describe(node), ": operand ", i, " '", spec->name, "' is missing");
      continue;
    }
    if (id >= static_cast<ValueId>(graph.values.size())) fail(describe(node), ": operand ", i, " is no value");
    const DType dtype = graph.type(id).dtype;
    if (!in_class(dtype, spec->dtypes))
      fail(describe(node), ": operand ", i, " '", spec->name, "' is ", graph.type(id).str(), ", expected ",
           class_text(spec->dtypes));
  }
  for (size_t i = node.operands.size(); i < s.operands.size(); ++i)
    if (!s.operands[i].optional) fail(describe(node), ": operand ", i, " '", s.operands[i].name, "' is missing");
}

void check_enumerator(const Node& node, const Signature::Attribute& spec, int32_t number) {
  if (spec.numbers->has(number)) return;
  const int32_t first = spec.numbers->first;
  int32_t last = first;
  while (spec.numbers->has(last + 1)) ++last;
  const auto named = [&](int32_t i) { return cat(i, " (", spec.numbers->text(i), ")"); };
  fail(describe(node), ": attribute '", spec.name, "' is ", number, ", expected ", named(first),
       last == first + 1 ? " or " : " to ", named(last));
}

void check_attributes(Node& node, const Signature& s) {
  for (const Attr& a : node.attrs) {
    if (a.name.starts_with("tenon.")) continue;
    const auto spec = std::find_if(s.attributes.begin(), s.attributes.end(),
                                   [&](const Signature::Attribute& t) { return t.name == a.name; });
    if (spec == s.attributes.end()) fail(describe(node), ": has no attribute '", a.name, "'");
    if (!spec->missing.valueless_by_exception() && spec->missing.index() != a.value.index())
      fail(describe(node), ": attribute '", a.name, "' is not of type ", spec->type);
  }
  for (const Signature::Attribute& spec : s.attributes) {
    if (const AttrValue* value = find_attr(node.attrs, spec.name)) {
      const DType* dtype = std::get_if<DType>(value);
      if (dtype && dtype_bytes(*dtype) == 0 && (spec.required || *dtype != DType::kNone))
        fail(describe(node), ": attribute '", spec.name, "' is dtype ", static_cast<int>(*dtype), ", which is none");
      if (spec.numbers) check_enumerator(node, spec, std::get<Enum>(*value).number);
      continue;
    }
    if (spec.required) fail(describe(node), ": attribute '", spec.name, "' is missing");
    node.attrs.push_back({spec.name, spec.missing});
  }
}

struct Registry {
  std::unordered_map<std::string, const OpDef*> ops;
  std::unordered_map<const OpDef*, Signature> signatures;
  Registry() {
    for (const OpDef* op : all_ops()) {
      ops.emplace(cat(op->name, "@", op->version), op);
      signatures.emplace(op, read_signature(op->row));
    }
  }
};

const Registry& registry() {
  static const Registry* instance = new Registry;  // lives for ever: no destructor order to care about
  return *instance;
}

}  // namespace

const OpDef* find_op(std::string_view name, int version) {
  const auto& ops = registry().ops;
  const auto it = ops.find(cat(name, "@", version));
  return it == ops.end() ? nullptr : it->second;
}

const Signature& signature_of(const OpDef& op) { return registry().signatures.at(&op); }

bool has_decomposition(const Node& node) {
  return node.custom ? bool(node.custom->rules.decomposition) : !find_op(node.op, node.version)->primitive();
}

namespace {

// A node's attributes as rules ask for them; defaults are filled in.
class NodeAttributes : public op::Attributes, private AttrReader {
 public:
  using AttrReader::AttrReader;
  int64_t number(std::string_view name) const override {
    const AttrValue* value = find_attr(attrs(), name);
    if (value && std::holds_alternative<bool>(*value)) return flag(name);
    if (value && std::holds_alternative<DType>(*value)) return static_cast<int64_t>(dtype(name));
    if (value && std::holds_alternative<Enum>(*value)) return enumerator(name);
    return i64(name);
  }
  double f64(std::string_view name) const override { return AttrReader::f64(name); }
  op::Ints list(std::string_view name) const override { return AttrReader::list(name); }
  uint64_t bytes(std::string_view name) const override { return AttrReader::bytes(name).size(); }
};

std::vector<op::Type> operand_types(const Graph& graph, const Node& node) {
  std::vector<op::Type> out;
  out.reserve(node.operands.size());
  for (const ValueId id : node.operands) {
    if (id < 0) {
      out.emplace_back();
      continue;
    }
    const Type& type = graph.type(id);
    out.push_back({static_cast<int32_t>(type.dtype), op::Shape(type.shape.begin(), type.shape.end())});
  }
  return out;
}

std::vector<Type> result_types(const std::vector<op::Type>& inferred) {
  std::vector<Type> out;
  for (const op::Type& t : inferred) {
    t.shape.elements();
    if (std::any_of(t.shape.begin(), t.shape.end(), [](int64_t d) { return d < 1; }))
      op::fail("result ", t.str(), " has an empty dimension");
    out.push_back({static_cast<DType>(t.dtype), Shape(std::span(t.shape.begin(), t.shape.end()))});
  }
  return out;
}

}  // namespace

std::vector<Type> infer_by_rule(const Graph& graph, const Node& node, const Signature& signature) {
  const std::vector<op::Type> operands = operand_types(graph, node);
  const NodeAttributes attributes(node.attrs);
  op::Infer context(signature.operands, operands, attributes);
  try {
    signature.shape_rule(context);
    return result_types(context.results());
  } catch (const op::Wrong& wrong) {
    fail(describe(node), ": ", wrong.text);
  }
}

std::vector<Type> infer(const Graph& graph, Node& node) {
  if (node.custom) return infer_custom(node);
  const OpDef* def = find_op(node.op, node.version);
  if (!def) fail(describe(node), ": no op of name ", node.op, " and version ", node.version);
  const Signature& signature = signature_of(*def);
  check_operands(graph, node, signature);
  check_attributes(node, signature);
  return infer_by_rule(graph, node, signature);
}

namespace {

// How many replicas take part in a collective whose attributes do not say.
void count_replicas(const Graph& graph, Node& node) {
  if (!op::is_collective(node.op) || graph.replicas == 1 || find_attr(node.attrs, "replicas")) return;
  const AttrValue* group = find_attr(node.attrs, "group");
  const int64_t size = group && std::get<int64_t>(*group) > 0 ? std::get<int64_t>(*group) : graph.replicas;
  if (graph.replicas % size != 0)
    fail(describe(node), ": group is ", size, ", expected a divisor of the ", graph.replicas, " replicas");
  node.attrs.push_back({"replicas", size});
}

// Composites whose kernels draw for each unit; what they are made of need not.
bool draws_apart(const Node& node) {
  return node.op == "dropout" || (node.op == "attention" && AttrReader(node.attrs).f64("rate") > 0);
}

void check_all_of(const Graph& graph, std::string_view op, const Tensors& operands) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && !operands[i].is_of(graph)) fail(op, ": operand ", i, " is ", foreign_text(operands[i]));
}

}  // namespace

Tensors emit(Graph& graph, std::string_view op, const Tensors& operands, Attrs attrs, std::string_view name) {
  Node node;
  node.op = op;
  node.attrs = std::move(attrs);
  node.name = name;
  return emit(graph, std::move(node), operands);
}

Tensors emit(Graph& graph, Node node, const Tensors& operands) {
  check_all_of(graph, node.op, operands);
  for (const Tensor& t : operands) node.operands.push_back(t ? t.id() : kAbsent);
  // Optional ones at the end are left out; one of many is never optional.
  const OpDef* def = find_op(node.op, node.version);
  const bool variadic = def && !signature_of(*def).operands.empty() && signature_of(*def).operands.back().variadic;
  while (def && !variadic && !node.operands.empty() && node.operands.back() == kAbsent) node.operands.pop_back();
  const std::string shown = node.name.empty() ? node.op : node.name;
  node.name = graph.scope().empty() ? shown : cat(graph.scope(), "/", shown);  // for messages
  count_replicas(graph, node);
  const std::vector<Type> types = infer(graph, node);
  const bool bounded = !graph.dynamic_dims.empty();
  if (bounded && has_dynamic_operand(graph, node)) return emit_bounded(graph, std::move(node), types, shown);
  if (graph.same_draws && draws_apart(node)) return emit_decomposed(graph, std::move(node), types, shown);
  std::vector<Bounds> bounds;
  if (bounded) bounds = fixed_bounds(graph, node, types);
  node.name = shown;
  const NodeId id = graph.add_node(std::move(node), types);
  Tensors results;
  for (ValueId v : graph.nodes[id].results) {
    if (bounded) graph.set_bounds(v, std::move(bounds[results.size()]));
    results.emplace_back(&graph, v);
  }
  return results;
}

Tensors emit_all(std::string_view op, const Tensors& operands, Attrs attrs, std::string_view name) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    if (operands[i].is_left_over()) fail(op, ": operand ", i, " is ", foreign_text(operands[i]));
    return emit(*operands[i].graph(), op, operands, std::move(attrs), name);
  }
  fail(op, ": has no operands");
}

Tensor emit1(std::string_view op, const Tensors& operands, Attrs attrs, std::string_view name) {
  return emit_all(op, operands, std::move(attrs), name)[0];
}

namespace {

Status verify_nodes(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[i];
    if (!names.insert(graph.nodes[i].name).second) return invalid(describe(node), ": its name is used twice");
    for (ValueId id : node.operands)
      if (id >= 0 && id < static_cast<ValueId>(graph.values.size()) && graph.values[id].node >= static_cast<NodeId>(i))
        return invalid(describe(node), ": uses %", id, " before it is defined");
    const std::vector<Type> types = infer(graph, node);
    if (types.size() != node.results.size())
      return invalid(describe(node), ": has ", node.results.size(), " results, expected ", types.size());
    for (size_t r = 0; r < types.size(); ++r)
      if (!(graph.type(node.results[r]) == types[r]))
        return invalid(describe(node), ": result ", r, " is ", graph.type(node.results[r]).str(), ", expected ",
                       types[r].str());
  }
  return {};
}

Status verify_results(const Graph& graph) {
  for (const Output& r : graph.results) {
    if (r.value < 0 || r.value >= static_cast<ValueId>(graph.values.size()))
      return invalid("result '", r.name, "': %", r.value, " is no value");
    if (r.alias < 0) continue;
    if (r.alias >= static_cast<int>(graph.inputs.size()) || graph.inputs[r.alias].role != Role::kState)
      return invalid("result '", r.name, "': updates input ", r.alias, ", which is no state");
    const Type& state = graph.type(graph.inputs[r.alias].value);
    if (!(graph.type(r.value) == state))
      return invalid("result '", r.name, "' is ", graph.type(r.value).str(), ", the state that it updates is ",
                     state.str());
  }
  return {};
}

}  // namespace

Status verify(const Graph& graph) {
  try {
    TENON_TRY(verify_nodes(graph));
  } catch (const Error& e) {
    return e.status();
  }
  return verify_results(graph);
}

}  // namespace tenon
