#include "tensorflow_names.h"

#include <algorithm>
#include <utility>

namespace tpu {
namespace {

using tenon::plugin::NodeView;

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"abs", "Abs"},
    {"activation", "Relu"},
    {"activation_grad", "ReluGrad"},
    {"add", "AddV2"},
    {"affine_image", "ImageProjectiveTransformV3"},
    {"all_gather", "AllToAll"},
    {"all_reduce", "CrossReplicaSum"},
    {"argmax", "ArgMax"},
    {"atan2", "Atan2"},
    {"avg_pool", "AvgPool"},
    {"avg_pool_grad", "AvgPoolGrad"},
    {"batch_norm", "FusedBatchNormV3"},
    {"batch_norm_apply", "FusedBatchNormV3"},
    {"batch_norm_grad", "FusedBatchNormGradV3"},
    {"bias_act_grad", "BiasAddGrad"},
    {"broadcast", "BroadcastTo"},
    {"cast", "Cast"},
    {"concat", "ConcatV2"},
    {"conv_bias_act", "Conv2D"},
    {"cos", "Cos"},
    {"crop_flip", "RandomCrop"},
    {"cumsum", "Cumsum"},
    {"div", "RealDiv"},
    {"dot_bias_act", "MatMul"},
    {"dropout", "RandomUniform"},
    {"erf", "Erf"},
    {"exp", "Exp"},
    {"expm1", "Expm1"},
    {"floor", "Floor"},
    {"gather", "GatherV2"},
    {"global_norm", "L2Loss"},
    {"iota", "Range"},
    {"log", "Log"},
    {"log1p", "Log1p"},
    {"log_softmax", "LogSoftmax"},
    {"max", "Maximum"},
    {"max_pool", "MaxPool"},
    {"max_pool_grad", "MaxPoolGrad"},
    {"min", "Minimum"},
    {"mul", "Mul"},
    {"neg", "Neg"},
    {"pad", "PadV2"},
    {"pow", "Pow"},
    {"random", "RandomUniform"},
    {"reduce_scatter", "CrossReplicaSum"},
    {"replica_id", "TPUReplicaId"},
    {"reshape", "Reshape"},
    {"reverse", "ReverseV2"},
    {"round", "Round"},
    {"scatter", "TensorScatterAdd"},
    {"select", "SelectV2"},
    {"sin", "Sin"},
    {"slice", "StridedSlice"},
    {"softmax", "Softmax"},
    {"softmax_cross_entropy", "SparseSoftmaxCrossEntropyWithLogits"},
    {"sort", "TopKV2"},
    {"sqrt", "Sqrt"},
    {"sub", "Sub"},
    {"tanh", "Tanh"},
    {"transpose", "Transpose"},
    // optimizers
    {"adadelta_update", "ResourceApplyAdadelta"},
    {"adagrad_update", "ResourceApplyAdagrad"},
    {"adam_update", "ResourceApplyAdam"},
    {"adamax_update", "ResourceApplyAdaMax"},
    {"adamw_update", "ResourceApplyAdam"},
    {"ftrl_update", "ResourceApplyFtrlV2"},
    {"momentum_update", "ResourceApplyKerasMomentum"},
    {"rmsprop_update", "ResourceApplyRMSProp"},
    {"sgd_update", "ResourceApplyGradientDescent"},
};

// What depends on more than the op's name.
std::string special_name(const NodeView& node) {
  const std::string_view op = node.op();
  const bool three = op.rfind("conv", 0) == 0 && node.operands() > 0 && node.has(0) && node.in(0).rank() == 5;
  const std::string conv = three ? "Conv3D" : "Conv2D";
  if (op == "conv" || op == "conv_bias_act") return conv;
  if (op == "conv_grad_input") return conv + "BackpropInput";
  if (op == "conv_grad_filter") return conv + "BackpropFilter";
  if (op == "dot") return node.in(0).rank() > 2 ? "BatchMatMulV2" : "MatMul";
  if (op == "resize") return node.enumerator("method") == TENON_NEAREST ? "ResizeNearestNeighbor" : "ResizeBilinear";
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
  for (const auto& [op, name] : kNames)
    if (op == node.op()) return std::string(name);
  return camel(node.op());
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
    if (value.extent(axis)) out += "<=";
    out += std::to_string(value.dim(axis));
  }
  return out + "]";
}

}  // namespace tpu
