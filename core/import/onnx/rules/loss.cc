// Losses that models of training have in their graph.
#include <algorithm>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace loss_ops {
namespace {

// Log probabilities x[N,C,D..] of targets [N,D..], weighted, with some that count for nothing.
Tensor likelihood(Call& c, Tensor x, Tensor target, size_t weight) {
  const int64_t classes = x.dim(1);
  const Tensor rows = axis_to_end(x, 1);
  const Tensor label = cast(target, DType::kI64);
  const Tensor chosen = one_hot(label, classes, x.dtype());
  // What is not chosen may be -inf, which 0 times would be NaN.
  const Tensor on = compare(chosen, scalar_like(chosen, 0), CompareKind::kNe);
  Tensor loss = neg(reduce_sum(select(on, rows, scalar_like(rows, 0)), {rows.rank() - 1}));
  Tensor count = full(c.graph(), x.dtype(), label.shape(), 1);
  if (c.has(weight)) count = gather(c.in(weight), clamp(label, 0, static_cast<double>(classes - 1)), 0);
  if (c.has_attr("ignore_index")) {
    const Tensor ignored =
        compare(label, scalar_like(label, static_cast<double>(c.integer("ignore_index", 0))), CompareKind::kEq);
    count = select(ignored, scalar_like(count, 0), count);
    loss = select(ignored, scalar_like(loss, 0), loss);
  }
  loss = mul(loss, count);
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  return reduction == "sum" ? reduce_sum(loss) : div(reduce_sum(loss), reduce_sum(count));
}

void negative_log_likelihood(Call& c) { c.give(likelihood(c, c.in(0), c.in(1), 2)); }

void softmax_cross_entropy_loss(Call& c) {
  const Tensor log_p = log_softmax(c.in(0), 1);
  c.give(likelihood(c, log_p, c.in(1), 2));
  c.give(log_p);
}

constexpr Rule kRules[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
};

}  // namespace
}  // namespace loss_ops

Rules loss_rules() { return loss_ops::kRules; }

}  // namespace tenon::onnx
