#include "runtime/check/node_check.h"

#include <algorithm>

#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

using op::Signature;

bool is_in_class(int32_t dtype, char dtypes) {
  const bool integer = dtype == TENON_I32 || dtype == TENON_I64, boolean = dtype == TENON_BOOL;
  if (dtype_bytes(dtype) == 0 || dtypes == 'A') return true;  // what is not known here is a kernel's to refuse
  if (dtypes == 'F') return is_float(dtype);
  if (dtypes == 'I') return integer;
  if (dtypes == 'B') return boolean;
  return is_float(dtype) || integer || (dtypes == 'M' && boolean);
}

std::string operand_fault(const NodeView& node, const std::vector<Signature::Operand>& operands) {
  for (size_t k = 0; k < operands.size(); ++k) {
    const Signature::Operand& o = operands[k];
    const int first = static_cast<int>(k);
    for (int i = first; i < (o.variadic ? std::max(node.operands(), first + 1) : first + 1); ++i) {
      const std::string what = "operand " + std::to_string(i) + " '" + std::string(o.name) + "'";
      if (!node.has(i) && !o.optional) return what + " is missing";
      if (node.has(i) && !is_in_class(node.in(i).dtype(), o.dtypes))
        return what + " is " + dtype_name(node.in(i).dtype()) + ", which the op does not take";
    }
  }
  const bool any_number = !operands.empty() && operands.back().variadic;
  if (!any_number && node.operands() > static_cast<int>(operands.size()))
    return "has " + std::to_string(node.operands()) + " operands, expected " + std::to_string(operands.size()) +
           " at the most";
  return {};
}

std::string result_fault(const NodeView& node, const std::vector<Signature::Result>& results) {
  int n = static_cast<int>(results.size());
  for (int i = 0; i < n; ++i)
    if (const Signature::Result& r = results[static_cast<size_t>(i)]; !r.optional && !node.has_result(i))
      return "result " + std::to_string(i) + " '" + std::string(r.name) + "' is missing";
  if (node.op() == "all_reduce") n = node.operands();
  if (node.results() > n)
    return "has " + std::to_string(node.results()) + " results, expected " + std::to_string(n) + " at the most";
  return {};
}

int32_t attribute_type(std::string_view name) {
  if (name == "i64") return TENON_ATTR_I64;
  if (name == "f64") return TENON_ATTR_F64;
  if (name == "bool") return TENON_ATTR_BOOL;
  if (name == "dtype") return TENON_ATTR_DTYPE;
  if (name == "enum") return TENON_ATTR_ENUM;
  return name == "bytes" ? TENON_ATTR_BYTES : TENON_ATTR_LIST;
}

std::string attribute_fault(const NodeView& node, const std::vector<Signature::Attribute>& attributes) {
  for (const Signature::Attribute& known : attributes) {
    const tenon_attr* a = node.find(known.name);
    if (!a && known.required) return "attribute '" + std::string(known.name) + "' is missing";
    if (a && a->type != attribute_type(known.type))
      return "attribute '" + std::string(known.name) + "' is no " + std::string(known.type);
  }
  return {};
}

std::string fault_of(const NodeView& node, const Signature& signature) {
  if (std::string fault = operand_fault(node, signature.operands); !fault.empty()) return fault;
  if (std::string fault = result_fault(node, signature.results); !fault.empty()) return fault;
  if (std::string fault = attribute_fault(node, signature.attributes); !fault.empty()) return fault;
  return shape_fault(node);
}

}  // namespace

std::string node_fault(const NodeView& node) {
  const Signature* signature = signature_of(node);
  if (!signature) return {};
  const std::string fault = fault_of(node, *signature);
  return fault.empty() ? fault : std::string(node.op()) + " '" + std::string(node.name()) + "' " + fault;
}

}  // namespace tenon::plugin
