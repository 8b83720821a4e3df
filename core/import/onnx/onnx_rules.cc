#include "import/onnx/onnx_rules.h"

#include <map>
#include <set>

namespace tenon::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // domain, op

const std::multimap<Key, const Rule*>& table() {
  static const std::multimap<Key, const Rule*> rules = [] {
    std::multimap<Key, const Rule*> out;
    for (const Rules family :
         {elementwise_rules(), binary_rules(),    conversion_rules(),    quantization_rules(), shape_rules(),
          movement_rules(),    index_rules(),     order_rules(),         reduction_rules(),    product_rules(),
          convolution_rules(), pooling_rules(),   normalization_rules(), resize_rules(),       sampling_rules(),
          recurrent_rules(),   attention_rules(), loss_rules(),          tabular_rules(),      support_vector_rules(),
          control_rules(),     signal_rules(),    host_rules()})
      for (const Rule& rule : family) out.emplace(Key{rule.domain, rule.op}, &rule);
    return out;
  }();
  return rules;
}

// Operands that are numbers of the node rather than weights, from this one on.
size_t first_number(const NodeData& node) {
  static const std::map<std::string_view, size_t> ops = {
      {"Resize", 1},
      {"Upsample", 1},
      {"Clip", 1},
      {"Pad", 1},
      {"OneHot", 1},
      {"Range", 0},
      {"Dropout", 1},
      {"QuantizeLinear", 1},
      {"DequantizeLinear", 1},
      {"QLinearConv", 1},
      {"QLinearMatMul", 1},
      {"Slice", 1},
      {"TopK", 1},
      {"ConstantOfShape", 0},
      {"Tile", 1},
      {"Expand", 1},
      {"Reshape", 1},
      {"MelWeightMatrix", 0},
      {"RoiAlign", 1},
      {"NonMaxSuppression", 2},
  };
  const auto found = ops.find(node.op);
  return node.domain.empty() && found != ops.end() ? found->second : SIZE_MAX;
}

}  // namespace

const Rule* find_rule(std::string_view domain, std::string_view op, int64_t opset) {
  const Rule* best = nullptr;
  const auto [begin, end] = table().equal_range({domain, op});
  for (auto it = begin; it != end; ++it)
    if (it->second->since <= opset && (!best || best->since < it->second->since)) best = it->second;
  return best;
}

bool takes_weight(const NodeData& node, size_t operand) { return operand < first_number(node); }

}  // namespace tenon::onnx
