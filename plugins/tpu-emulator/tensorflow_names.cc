#include "tensorflow_names.h"

#include <algorithm>

#include "tenon/op/table.h"

namespace tpu {
namespace {

using tenon::plugin::NodeView;

// What depends on more than the op's name.
std::string special_name(const NodeView& node) {
  const std::string_view op = node.op();
  const bool three = op.rfind("conv", 0) == 0 && node.operands() > 0 && node.has(0) && node.in(0).rank() == 5;
  const std::string conv = three ? "Conv3D" : "Conv2D";
  if (op == "conv" || op == "conv_bias_act") return conv;
  if (op == "conv_grad_input") return conv + "BackpropInput";
  if (op == "conv_grad_filter") return conv + "BackpropFilter";
  if (op == "dot") return node.in(0).rank() > 2 ? "BatchMatMulV2" : "MatMul";
  if (op == "resize") return node.enumerator("method") == TENON_RESIZE_NEAREST ? "ResizeNearestNeighbor" : "ResizeBilinear";
  if (op == "reduce") {
    static constexpr const char* kKinds[] = {"Sum", "Prod", "Max", "Min"};
    return kKinds[std::clamp(node.enumerator("kind"), 0, 3)];
  }
  if (op == "compare") {
    static constexpr const char* kKinds[] = {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"};
    return kKinds[std::clamp(node.enumerator("kind"), 0, 5)];
  }
  if (op == "foreign")
    if (const tenon_attr* origin = node.find("origin"))
      return {reinterpret_cast<const char*>(node.graph().attr_data(*origin)), origin->count};
  return {};
}

// "layer_norm_grad" -> "LayerNormGrad".
std::string camel(std::string_view op) {
  std::string out;
  bool upper = true;
  for (char c : op) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

}  // namespace

std::string tensorflow_op(const NodeView& node) {
  if (std::string name = special_name(node); !name.empty()) return name;
  const tenon::op::Row* row = tenon::op::find(node.op());
  return row && !row->tensorflow.empty() ? std::string(row->tensorflow) : camel(node.op());
}

const char* tensorflow_dtype(int32_t dtype) {
  static constexpr const char* kDtypes[] = {"invalid", "float", "bfloat16", "half", "double",
                                            "int32",   "int64", "uint8",    "bool"};
  return dtype >= 0 && dtype <= TENON_BOOL ? kDtypes[dtype] : "invalid";
}

const char* hlo_dtype(int32_t dtype) {
  static constexpr const char* kDtypes[] = {"token", "f32", "bf16", "f16", "f64", "s32", "s64", "u8", "pred"};
  return dtype >= 0 && dtype <= TENON_BOOL ? kDtypes[dtype] : "token";
}

std::string hlo_shape(const tenon::plugin::ValueView& value) {
  std::string out = std::string(hlo_dtype(value.dtype())) + "[";
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (axis) out += ',';
    out += std::to_string(value.dim(axis));
  }
  return out + "]";
}

}  // namespace tpu
