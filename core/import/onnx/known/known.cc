#include "import/onnx/known/known.h"

#include "import/onnx/known/known_ops.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 20, kMostInAll = int64_t{1} << 26;

}  // namespace

const Array* Known::held(ValueId value) const {
  const auto found = values_.find(value);
  if (found != values_.end()) return &found->second;
  return graph_.values[static_cast<size_t>(value)].node < 0 ? of_input_(value) : nullptr;
}

const Array* Known::refuse(const std::string& op) { return op_ = op, nullptr; }

const Array* Known::find(ValueId value) {
  input_.clear();
  op_.clear();
  std::vector<ValueId> waiting = {value};
  while (!waiting.empty()) {
    const ValueId next = waiting.back();
    if (held(next)) {
      waiting.pop_back();
      continue;
    }
    const tenon::Value& it = graph_.values[static_cast<size_t>(next)];
    if (it.node < 0) return input_ = graph_.inputs[static_cast<size_t>(it.index)].name, nullptr;
    const Node& node = graph_.nodes[static_cast<size_t>(it.node)];
    if (it.type.shape.elements() > kMostElements || node.results.size() != 1) return refuse(node.op);
    const size_t before = waiting.size();
    for (const ValueId operand : node.operands)
      if (operand != kAbsent && !held(operand)) waiting.push_back(operand);
    if (waiting.size() > before) continue;
    if (!compute(next)) return refuse(node.op);
    waiting.pop_back();
  }
  return held(value);
}

bool Known::compute(ValueId value) {
  const tenon::Value& it = graph_.values[static_cast<size_t>(value)];
  const Node& node = graph_.nodes[static_cast<size_t>(it.node)];
  std::vector<const Array*> operands;
  for (const ValueId operand : node.operands) {
    if (operand == kAbsent) return false;
    operands.push_back(held(operand));
  }
  Array out;
  if (!compute_on_host(node, it.type, operands, &out)) return false;
  elements_ += out.elements();
  if (elements_ > kMostInAll) return false;
  values_.emplace(value, std::move(out));
  return true;
}

}  // namespace tenon::onnx
