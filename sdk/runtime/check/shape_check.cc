// Whether the results of a node of a published op are what its rule makes of its operands (tenon/op/infer.h).
#include <cstdlib>

#include "runtime/check/node_check.h"
#include "tenon/op/infer.h"
#include "tenon/op/table.h"
#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

class NodeAttributes : public op::Attributes {
 public:
  NodeAttributes(const NodeView& node, const op::Signature& signature) : node_(node), signature_(signature) {}

  int64_t number(std::string_view name) const override {
    if (node_.find(name)) return node_.i64(name);
    const std::string text = missing(name);
    return text == "true" ? 1 : std::strtoll(text.c_str(), nullptr, 10);
  }
  double f64(std::string_view name) const override {
    return node_.find(name) ? node_.f64(name) : std::strtod(missing(name).c_str(), nullptr);
  }
  op::Ints list(std::string_view name) const override { return node_.list(name).vec(); }
  uint64_t bytes(std::string_view name) const override {
    const tenon_attr* a = node_.find(name);
    return a ? a->count : 0;
  }

 private:
  std::string missing(std::string_view name) const {
    const op::Signature::Attribute* known = signature_.attribute(name);
    return known ? std::string(known->missing) : "";
  }

  const NodeView& node_;
  const op::Signature& signature_;
};

op::Type type_of(const ValueView& value) {
  constexpr int32_t kUnknown = -1;  // 0 is an absent operand's
  return {value.dtype() ? value.dtype() : kUnknown, op::Shape(value.dims().begin(), value.dims().end())};
}

void expect_results(const NodeView& node, const std::vector<op::Type>& expected) {
  for (int i = 0; i < node.results(); ++i) {
    if (!node.has_result(i)) continue;
    if (static_cast<size_t>(i) >= expected.size()) op::fail("has result ", i, ", which its attributes do not ask for");
    const op::Type found = type_of(node.out(i)), &right = expected[static_cast<size_t>(i)];
    if (!op::agree(found, right)) op::fail("result ", i, " is ", found.str(), ", expected ", right.str());
  }
}

void check(const NodeView& node, const op::Signature& signature, op::ShapeRule rule) {
  std::vector<op::Type> operands;
  for (int i = 0; i < node.operands(); ++i) operands.push_back(node.has(i) ? type_of(node.in(i)) : op::Type());
  const NodeAttributes attributes(node, signature);
  op::Infer infer(signature.operands, operands, attributes);
  rule(infer);
  expect_results(node, infer.results());
}

}  // namespace

std::string shape_fault(const NodeView& node) {
  const op::Signature* signature = signature_of(node);
  const op::Row* row = signature ? op::find(node.op()) : nullptr;
  if (!row) return {};
  try {
    check(node, *signature, op::shape_rule(*row));
  } catch (const op::Wrong& wrong) {
    return wrong.text;
  }
  return {};
}

}  // namespace tenon::plugin
