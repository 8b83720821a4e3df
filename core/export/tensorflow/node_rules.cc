#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {

const NodeRule* find_rule(std::string_view op) {
  for (const auto& family :
       {elementwise_rules(), movement_rules(), index_rules(), reduction_rules(), product_rules(), network_rules()})
    for (const NodeRule& rule : family)
      if (rule.op == op) return &rule;
  return nullptr;
}

bool writes_whole(const PortableNode& node) {
  if (!find_rule(node.op)) return false;
  if (node.op != "resize") return true;
  for (const PortableAttr& attr : node.attrs)  // which pixel is nearest, TensorFlow decides in f32
    if (attr.name == "method")
      return attr.value == tenon::AttrValue(Enum{static_cast<int32_t>(ResizeMethod::kBilinear)});
  return true;
}

}  // namespace tenon::tensorflow
