#include "import/onnx/lookups.h"

#include <algorithm>
#include <set>

namespace tenon::onnx {
namespace {

// Ops that leave numbers as they are.
bool passes_on(const NodeData& node) {
  static const std::set<std::string_view> ops = {"Cast",      "Identity", "Reshape", "Flatten", "Squeeze",
                                                 "Unsqueeze", "Slice",    "Split",   "Expand",  "Transpose"};
  return node.domain.empty() && ops.count(node.op) != 0 && !node.inputs.empty();
}

bool along_rows(const NodeData& gather) {
  const AttrData* axis = gather.attr("axis");
  return !axis || axis->integers.empty() || axis->integers[0] == 0;
}

// What is known of the first operand is known of the results.
template <class Known>
void spread(const NodeData& node, Known& known) {
  const auto found = known.find(node.inputs[0]);
  if (found == known.end()) return;
  const auto of = found->second;
  for (const std::string& name : node.outputs) known[name] = of;
}

}  // namespace

std::unordered_map<std::string, int64_t> rows_looked_up(const GraphData& graph) {
  std::unordered_map<std::string, const TensorData*> tables;
  for (const TensorData& data : graph.initializers)
    if (data.dims.size() >= 2) tables[data.name] = &data;
  std::unordered_map<std::string, std::string> input_of;  // by value, the input whose numbers it has
  for (const ValueData& input : graph.inputs) input_of[input.name] = input.name;
  std::unordered_map<std::string, int64_t> out;
  for (const NodeData& node : graph.nodes) {
    if (passes_on(node)) {
      if (node.op == "Identity" || node.op == "Cast") spread(node, tables);
      spread(node, input_of);
      continue;
    }
    if (node.op != "Gather" || !node.domain.empty() || node.inputs.size() < 2 || !along_rows(node)) continue;
    const auto table = tables.find(node.inputs[0]);
    const auto input = input_of.find(node.inputs[1]);
    if (table == tables.end() || input == input_of.end()) continue;
    const int64_t rows = table->second->dims[0];
    const auto [found, is_new] = out.emplace(input->second, rows);
    if (!is_new) found->second = std::min(found->second, rows);
  }
  return out;
}

}  // namespace tenon::onnx
