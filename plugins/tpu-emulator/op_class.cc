#include "op_class.h"

#include <unordered_map>

namespace tpu {
namespace {

using tenon::plugin::NodeView;

constexpr double kDear = 10;  // as many operations: rather written to memory than computed twice

// Polynomials of the vector unit, counted in multiplications and additions. A TPU draws random numbers in hardware.
const std::unordered_map<std::string_view, OpClass>& table() {
  constexpr auto E = PieceKind::kElementwise;
  static const std::unordered_map<std::string_view, OpClass> ops = {
      {"exp", {E, 12, true}},
      {"expm1", {E, 16, true}},
      {"log", {E, 14, true}},
      {"log1p", {E, 16, true}},
      {"sqrt", {E, 6, false}},
      {"sin", {E, 20, true}},
      {"cos", {E, 20, true}},
      {"tanh", {E, 16, true}},
      {"erf", {E, 24, true}},
      {"pow", {E, 28, true}},
      {"atan2", {E, 30, true}},
      {"div", {E, 6, false}},
      {"random", {E, 6, true}},
      {"dropout", {E, 9, true}},
      {"floor", {E, 2, false}},
      {"round", {E, 2, false}},
      {"iota", {E, 1, false}},
      {"resize", {E, 12, true}},
      {"affine_image", {E, 40, true}},
      {"reduce", {PieceKind::kReduce, 1}},
      {"argmax", {PieceKind::kReduce, 3}},
      {"global_norm", {PieceKind::kReduce, 2}},
      {"softmax", {PieceKind::kRows, 20, true, 1.5}},
      {"log_softmax", {PieceKind::kRows, 20, true, 1.5}},
      {"softmax_grad", {PieceKind::kRows, 6, true, 4.0 / 3}},
      {"log_softmax_grad", {PieceKind::kRows, 20, true, 4.0 / 3}},
      {"softmax_cross_entropy", {PieceKind::kRows, 20, true}},
      {"softmax_cross_entropy_grad", {E, 16, true}},
      {"layer_norm", {PieceKind::kRows, 8, true}},
      {"layer_norm_grad", {PieceKind::kRows, 12, true}},
      {"max_pool", {PieceKind::kRows, 2, true}},
      {"avg_pool", {PieceKind::kRows, 2, true}},
      {"max_pool_grad", {PieceKind::kRows, 4, true}},
      {"avg_pool_grad", {PieceKind::kRows, 2, true}},
      {"cumsum", {PieceKind::kRows, 14, true}},
      {"dot", {PieceKind::kMatrix, 0}},
      {"dot_bias_act", {PieceKind::kMatrix, 0}},
      {"conv", {PieceKind::kMatrix, 0}},
      {"conv_bias_act", {PieceKind::kMatrix, 0}},
      {"conv_grad_input", {PieceKind::kMatrix, 0}},
      {"conv_grad_filter", {PieceKind::kMatrix, 0}},
      {"attention", {PieceKind::kMatrix, 0}},
      {"attention_grad", {PieceKind::kMatrix, 0}},
      {"lstm", {PieceKind::kMatrix, 0}},
      {"lstm_grad", {PieceKind::kMatrix, 0}},
      {"gru", {PieceKind::kMatrix, 0}},
      {"gru_grad", {PieceKind::kMatrix, 0}},
      {"all_reduce", {PieceKind::kCollective, 0}},
      {"all_gather", {PieceKind::kCollective, 0}},
      {"reduce_scatter", {PieceKind::kCollective, 0}},
      {"gather", {PieceKind::kMove, 1}},
      {"scatter", {PieceKind::kMove, 1}},
      {"crop_flip", {PieceKind::kMove, 1}},
      {"sort", {PieceKind::kMove, 60}},
  };
  return ops;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

double activation_ops(int32_t act) {
  switch (act) {
    case TENON_ACT_NONE:
      return 0;
    case TENON_ACT_RELU:
      return 1;
    case TENON_ACT_RELU6:
    case TENON_ACT_LEAKY_RELU:
      return 2;
    case TENON_ACT_HARD_SIGMOID:
    case TENON_ACT_HARD_SWISH:
      return 5;
    case TENON_ACT_GELU:
      return 30;
    default:
      return 20;
  }
}

OpClass op_class(const NodeView& node) {
  const std::string_view op = node.op();
  if (op == "activation" || op == "activation_grad") {
    const double ops = 1 + activation_ops(node.enumerator("act"));
    return {PieceKind::kElementwise, ops, ops > kDear};
  }
  if (ends_with(op, "_update")) return {PieceKind::kUpdate, 16};
  const auto found = table().find(op);
  return found == table().end() ? OpClass{} : found->second;
}

}  // namespace tpu
