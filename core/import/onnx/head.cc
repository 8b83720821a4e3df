#include "import/onnx/head.h"

#include <set>
#include <string_view>
#include <unordered_map>

namespace tenon::onnx {
namespace {

class Origins {
 public:
  explicit Origins(const GraphData& graph) {
    for (const NodeData& node : graph.nodes)
      for (const std::string& name : node.outputs) nodes_[name] = &node;
  }
  const NodeData* of(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string, const NodeData*> nodes_;
};

bool is_one_of(const NodeData& node, const std::set<std::string_view>& ops) {
  return node.domain.empty() && ops.count(node.op) != 0 && !node.inputs.empty();
}

// Ops behind a last dense layer that turn its result into an answer.
bool is_answer(const NodeData& node) {
  static const std::set<std::string_view> ops = {"Softmax", "LogSoftmax", "Sigmoid",   "Identity", "Cast", "Reshape",
                                                 "Flatten", "Squeeze",    "Unsqueeze", "ArgMax",   "Tanh", "Relu"};
  return is_one_of(node, ops);
}

}  // namespace

std::optional<Head> find_head(const OnnxFile& file) {
  if (file.graph.outputs.empty()) return std::nullopt;
  const Origins origins(file.graph);
  std::unordered_map<std::string, const TensorData*> weights;
  for (const TensorData& data : file.graph.initializers) weights[data.name] = &data;
  std::string at = file.graph.outputs[0].name;
  const NodeData* node = origins.of(at);
  while (node && is_answer(*node)) at = node->inputs[0], node = origins.of(at);
  if (!node || node->inputs.size() < 2) return std::nullopt;
  Head head{node->inputs[0], at, 0};
  const auto units = [&](const NodeData& product) -> int64_t {
    const auto weight = weights.find(product.inputs[1]);
    if (weight == weights.end() || weight->second->dims.size() != 2) return 0;
    const AttrData* turned = product.attr("transB");
    return weight->second->dims[turned && !turned->integers.empty() && turned->integers[0] != 0 ? 0 : 1];
  };
  if (node->op == "Add") {
    for (const std::string& input : node->inputs) {
      const NodeData* product = origins.of(input);
      if (!product || product->op != "MatMul" || product->inputs.size() < 2) continue;
      head.input = product->inputs[0];
      head.units = units(*product);
      return head;
    }
    return std::nullopt;
  }
  if (node->op != "Gemm" && node->op != "MatMul") return std::nullopt;
  head.units = units(*node);
  return head;
}

std::string find_scores(const OnnxFile& file) {
  static const std::set<std::string_view> answers = {"Softmax", "LogSoftmax", "Sigmoid", "ArgMax"},
                                          passes = {"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  if (file.graph.outputs.empty()) return "";
  const Origins origins(file.graph);
  std::string at = file.graph.outputs[0].name, out = at;
  for (const NodeData* node = origins.of(at); node; node = origins.of(at)) {
    const bool answers_here = is_one_of(*node, answers);
    if (!answers_here && !is_one_of(*node, passes)) break;
    at = node->inputs[0];
    if (answers_here) out = at;
  }
  return out;
}

}  // namespace tenon::onnx
