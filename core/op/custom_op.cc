#include "op/custom_node.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

bool is_word(std::string_view text) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// "acme.softsign"
bool is_custom_name(std::string_view name) {
  size_t words = 0;
  for (size_t at = 0; at <= name.size(); ++words) {
    const size_t end = std::min(name.find('.', at), name.size());
    if (!is_word(name.substr(at, end - at))) return false;
    at = end + 1;
  }
  return words > 1 && !name.starts_with("tenon.");
}

Attrs attributes_of(std::string_view op, const std::vector<CustomAttribute>& attributes) {
  Attrs out;
  for (const CustomAttribute& a : attributes) {
    if (!is_word(a.name)) fail(op, ": attribute '", a.name, "': expected lower-case letters, digits and _");
    if (find_attr(out, a.name)) fail(op, ": attribute '", a.name, "' is given twice");
    out.push_back({a.name, std::visit([](const auto& v) { return AttrValue(v); }, a.value)});
  }
  return out;
}

void check_types(std::string_view op, const std::vector<Type>& types) {
  if (types.empty()) fail(op, ": has no results");
  for (const Type& t : types) {
    if (dtype_bytes(t.dtype) == 0) fail(op, ": a result is dtype ", static_cast<int>(t.dtype), ", which is none");
    t.shape.elements();  // throws where there are too many
    for (int64_t d : t.shape)
      if (d < 1) fail(op, ": result ", t.str(), " has an empty dimension");
  }
}

}  // namespace

std::vector<Type> infer_custom(const Node& node) { return node.custom->results; }

Tensors decompose_custom(Graph& graph, const Node& node, const Tensors& operands) {
  const Building building(graph);  // for constants
  const size_t variables = graph.variables.size(), inputs = graph.inputs.size();
  const Tensors results = node.custom->rules.decomposition(operands);
  if (graph.variables.size() != variables || graph.inputs.size() != inputs)
    fail(describe(node), ": its decomposition makes variables or inputs");
  const std::vector<Type>& types = node.custom->results;
  if (results.size() != types.size())
    fail(describe(node), ": decomposes to ", results.size(), " results, expected ", types.size());
  for (size_t r = 0; r < types.size(); ++r) {
    if (!results[r]) fail(describe(node), ": result ", r, " of its decomposition was never set");
    if (!results[r].is_of(graph))
      fail(describe(node), ": result ", r, " of its decomposition is ", foreign_text(results[r]));
    if (!(results[r].type() == types[r]))
      fail(describe(node), ": result ", r, " of its decomposition is ", results[r].type().str(), ", expected ",
           types[r].str());
  }
  return results;
}

Tensors custom_gradient(const Node& node, const Gradient& context) {
  const CustomRules& rules = node.custom->rules;
  if (!rules.gradient) {
    if (!rules.decomposition) fail(describe(node), ": has neither a gradient nor a decomposition to differentiate");
    return {};
  }
  CustomGradient given{context.inputs(), {}, {}};
  for (size_t r = 0; r < node.results.size(); ++r) {
    given.results.push_back(context.out(static_cast<int>(r)));
    given.gradients.push_back(context.g(static_cast<int>(r)));
  }
  Tensors gradients = rules.gradient(given);
  if (gradients.size() != node.operands.size())
    fail(describe(node), ": its gradient gives ", gradients.size(), " tensors, expected one an input, ",
         node.operands.size());
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i] && !gradients[i].is_of(context.graph()))
      fail(describe(node), ": gradient ", i, " is ", foreign_text(gradients[i]));
  return gradients;
}

Tensors custom_op(std::string_view name, const Tensors& inputs, const std::vector<CustomAttribute>& attributes,
                  const std::vector<Type>& results, CustomRules rules) {
  if (!is_custom_name(name))
    fail("custom_op: name '", name, "': expected VENDOR.OP of lower-case letters, digits and _, as 'acme.softsign'");
  const auto first = std::find_if(inputs.begin(), inputs.end(), [](const Tensor& t) { return bool(t); });
  if (first == inputs.end()) fail(name, ": has no inputs");
  if (first->is_left_over()) fail(name, ": input ", first - inputs.begin(), " is ", foreign_text(*first));
  check_types(name, results);
  Node node;
  node.op = name;
  node.attrs = attributes_of(name, attributes);
  node.custom = std::make_shared<const CustomNode>(CustomNode{results, std::move(rules)});
  return emit(*first->graph(), std::move(node), inputs);
}

}  // namespace tenon
