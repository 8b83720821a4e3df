#include "time/op_class.h"

#include "tenon/op/table.h"

namespace tpu {
namespace {

using tenon::plugin::NodeView;

using tenon::op::Category;
using tenon::op::Row;

constexpr double kDear = 10;  // as many operations: rather written to memory than computed twice

struct Exception {
  std::string_view op;
  PieceKind kind;
};
constexpr Exception kExceptions[] = {
    {"gather", PieceKind::kMove},
    {"scatter", PieceKind::kMove},
    {"crop_flip", PieceKind::kMove},
    {"cumsum", PieceKind::kRows},
    {"batch_norm_apply", PieceKind::kElementwise},
    {"softmax_cross_entropy_grad", PieceKind::kElementwise},
};

PieceKind kind_of(const Row& row) {
  for (const Exception& e : kExceptions)
    if (e.op == row.name) return e.kind;
  switch (row.category) {
    case Category::kReduction:
      return PieceKind::kReduce;
    case Category::kPooling:
    case Category::kNormalization:
    case Category::kSoftmax:
      return PieceKind::kRows;
    case Category::kProduct:
    case Category::kConvolution:
    case Category::kAttention:
    case Category::kRecurrent:
      return PieceKind::kMatrix;
    case Category::kUpdate:
      return PieceKind::kUpdate;
    case Category::kCollective:
      return PieceKind::kCollective;
    case Category::kSort:
      return PieceKind::kMove;
    default:
      return PieceKind::kElementwise;
  }
}

// Over the memory of operands and results: a row that is larger than the vector memory is read more than once.
double passes_of(std::string_view op) {
  if (op == "softmax" || op == "log_softmax") return 1.5;
  return op == "softmax_grad" || op == "log_softmax_grad" ? 4.0 / 3 : 1;
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
  const Row* row = tenon::op::find(op);
  if (!row) return {};
  const PieceKind kind = kind_of(*row);
  const bool dear = row->vector_ops >= kDear || row->category == Category::kRandom;
  return {kind, static_cast<double>(row->vector_ops),
          kind == PieceKind::kRows || (kind == PieceKind::kElementwise && dear), passes_of(op)};
}

}  // namespace tpu
