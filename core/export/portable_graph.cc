#include "export/portable_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"

namespace tenon {
namespace {

// What an attribute's number is at 0 rows, and what each row adds.
AttrValue number_at(const AttrValue& value, const std::vector<int64_t>& each, int64_t rows) {
  if (each.empty()) return value;
  if (const int64_t* base = std::get_if<int64_t>(&value)) return *base + each[0] * rows;
  std::vector<int64_t> list = std::get<std::vector<int64_t>>(value);
  for (size_t i = 0; i < list.size(); ++i) list[i] += each[i] * rows;
  return list;
}

Status check_value(const PortableGraph& graph, int value, std::vector<bool>& defined, const std::string& what) {
  if (value < 0 || static_cast<size_t>(value) >= graph.values.size())
    return invalid(what, " is value ", value, " of ", graph.values.size());
  if (defined[static_cast<size_t>(value)]) return invalid(what, " is value ", value, ", which is defined twice");
  defined[static_cast<size_t>(value)] = true;
  return {};
}

Status check_use(const std::vector<bool>& defined, int value, const std::string& what) {
  if (value < 0 || static_cast<size_t>(value) >= defined.size() || !defined[static_cast<size_t>(value)])
    return invalid(what, " is value ", value, ", which is not defined before it");
  return {};
}

Status check_attr(const PortableAttr& attr, const PortableNode& node) {
  if (attr.each.empty()) return {};
  const auto* list = std::get_if<std::vector<int64_t>>(&attr.value);
  if (std::holds_alternative<int64_t>(attr.value) ? attr.each.size() == 1 : list && list->size() == attr.each.size())
    return {};
  return invalid(node.op, " '", node.name, "': attribute '", attr.name, "' cannot depend on the number of rows");
}

Status check_node(const PortableNode& node, const PortableGraph& graph, std::vector<bool>& defined) {
  const std::string name = cat(node.op, " '", node.name, "'");
  for (const int operand : node.operands)
    if (operand != -1) TENON_TRY(check_use(defined, operand, cat("an operand of ", name)));
  for (const int result : node.results) TENON_TRY(check_value(graph, result, defined, cat("a result of ", name)));
  for (const PortableAttr& attr : node.attrs) TENON_TRY(check_attr(attr, node));
  return {};
}

}  // namespace

Type PortableValue::at(int64_t rows) const {
  std::vector<int64_t> sizes;
  for (const PerRows& dim : dims) sizes.push_back(dim.at(rows));
  return {dtype, Shape(sizes)};
}

AttrValue PortableAttr::at(int64_t rows) const { return number_at(value, each, rows); }

Status PortableGraph::verify() const {
  std::vector<bool> defined(values.size());
  std::set<std::string_view> names;
  for (const PortableInput& input : inputs) {
    TENON_TRY(check_value(*this, input.value, defined, cat("input '", input.name, "'")));
    if (!names.insert(input.name).second) return invalid("there are two inputs '", input.name, "'");
  }
  for (const PortableNode& node : nodes) TENON_TRY(check_node(node, *this, defined));
  names.clear();
  for (const PortableResult& result : results) {
    TENON_TRY(check_use(defined, result.value, cat("result '", result.name, "'")));
    if (!names.insert(result.name).second) return invalid("there are two results '", result.name, "'");
  }
  return {};
}

PortableGraph part_of(const PortableGraph& graph, const std::vector<std::string>& results) {
  PortableGraph out;
  std::vector<bool> live(graph.values.size());
  for (const PortableResult& result : graph.results)
    if (std::find(results.begin(), results.end(), result.name) != results.end())
      out.results.push_back(result), live[static_cast<size_t>(result.value)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const PortableNode& node = graph.nodes[i];
    if (std::none_of(node.results.begin(), node.results.end(), [&](int r) { return live[static_cast<size_t>(r)]; }))
      continue;
    for (const int r : node.results) live[static_cast<size_t>(r)] = true;
    for (const int operand : node.operands)
      if (operand >= 0) live[static_cast<size_t>(operand)] = true;
    out.nodes.push_back(node);
  }
  std::reverse(out.nodes.begin(), out.nodes.end());
  for (const PortableInput& input : graph.inputs)
    if (live[static_cast<size_t>(input.value)]) out.inputs.push_back(input);
  std::vector<int> place(graph.values.size(), -1);
  for (size_t v = 0; v < live.size(); ++v)
    if (live[v]) place[v] = static_cast<int>(out.values.size()), out.values.push_back(graph.values[v]);
  const auto renumber = [&](int& value) { value = value < 0 ? -1 : place[static_cast<size_t>(value)]; };
  for (PortableInput& input : out.inputs) renumber(input.value);
  for (PortableNode& node : out.nodes) {
    std::for_each(node.operands.begin(), node.operands.end(), renumber);
    std::for_each(node.results.begin(), node.results.end(), renumber);
  }
  for (PortableResult& result : out.results) renumber(result.value);
  return out;
}

}  // namespace tenon
