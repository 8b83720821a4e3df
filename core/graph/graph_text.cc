// The readable form of a graph.
#include "base/strings.h"
#include "graph/graph.h"
#include "tenon/op/enumerations.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace tenon {
namespace {

constexpr std::string_view kRoles[] = {"state", "feed", "scalar"};
constexpr std::string_view kModes[] = {"last", "each", "until"};

std::string ids(const std::vector<ValueId>& values) {
  std::string out;
  for (ValueId id : values) {
    if (!out.empty()) out += ", ";
    if (id < 0)
      out += '_';
    else
      append(out, cat("%", id));
  }
  return out;
}

std::string types(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (ValueId id : values) names.push_back(graph.type_text(id));
  return join(names);
}

// The name of an enum attribute's value, for a published op.
std::string_view enumerator(std::string_view op, const Attr& a, Enum value) {
  const op::Row* row = op::find(op);
  if (!row) return {};
  const op::Signature signature = op::parse(row->signature);
  const op::Signature::Attribute* attribute = signature.attribute(a.name);
  const op::Enumeration* numbers = attribute ? op::enumeration(attribute->enumeration) : nullptr;
  return numbers ? numbers->text(value.number) : std::string_view();
}

std::string value_text(const std::string& op, const Attr& a) {
  const Enum* value = std::get_if<Enum>(&a.value);
  const std::string_view name = value ? enumerator(op, a, *value) : std::string_view();
  return name.empty() ? to_text(a.value) : std::string(name);
}

std::string attributes(const std::string& op, const Attrs& attrs) {
  if (attrs.empty()) return "";
  std::vector<std::string> parts;
  for (const Attr& a : attrs) parts.push_back(cat(a.name, "=", value_text(op, a)));
  return cat(" {", join(parts), "}");
}

struct AttrText {
  std::string operator()(int64_t v) const { return cat(v); }
  std::string operator()(double v) const { return cat(v); }
  std::string operator()(bool v) const { return cat(v); }
  std::string operator()(DType v) const { return std::string(dtype_name(v)); }
  std::string operator()(Enum v) const { return cat("#", v.number); }
  std::string operator()(const std::string& v) const { return cat("<", v.size(), " bytes>"); }
  std::string operator()(const std::vector<int64_t>& v) const { return cat("[", join(v, ","), "]"); }
};

}  // namespace

std::string to_text(const AttrValue& value) { return std::visit(AttrText(), value); }

std::string to_text(const Graph& graph) {
  std::string out;
  for (const GraphInput& i : graph.inputs)
    append(out, cat("%", i.value, " = ", kRoles[static_cast<int>(i.role)], " ", graph.type_text(i.value), " '", i.name,
                    "'\n"));
  for (const Node& n : graph.nodes)
    append(out, cat(ids(n.results), " = ", n.op, "(", ids(n.operands), ")", attributes(n.op, n.attrs), " : ",
                    types(graph, n.results), " '", n.name, "'\n"));
  for (const Output& r : graph.results) {
    append(out, cat("result %", r.value, " ", kModes[static_cast<int>(r.mode)]));
    if (r.alias >= 0) append(out, cat(" in place of %", graph.inputs[r.alias].value));
    append(out, cat(" '", r.name, "'\n"));
  }
  return out;
}

}  // namespace tenon
