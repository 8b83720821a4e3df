// Cross entropies. The other losses: regression_losses.cc.
#include "tenon/losses.h"

#include "base/number.h"
#include "layer/losses.h"

namespace tenon {

namespace losses {

Tensor clipped(Tensor p, double low) { return clamp(p, low, 1 - kEpsilon); }

// The argument of the softmax over the last axis, or of the sigmoid, that made `p`; else nothing.
Tensor logits_of(Tensor p, std::string_view op) {
  const Node* node = p.graph()->defining_node(p.id());
  if (!node || node->op != op) return {};
  const AttrReader attrs(node->attrs);
  const bool fits = op == "softmax" ? attrs.i64("axis") == p.rank() - 1
                                    : attrs.enumerator("act") == static_cast<int>(Activation::kSigmoid);
  return fits ? Tensor(p.graph(), node->operands[0]) : Tensor();
}

void expect_scores(const char* loss, Tensor scores, Tensor labels) {
  if (!scores || !labels) fail(loss, ": scores or labels were never set");
  if (scores.rank() < 2 || !is_float(scores.dtype()))
    fail(loss, ": scores are ", scores.type().str(), ", expected a float [batch, .., classes]");
}

void expect_labels(const char* loss, Tensor scores, Tensor labels, bool sparse) {
  Shape expected = scores.shape();
  if (sparse) expected = Shape(std::vector<int64_t>(scores.shape().begin(), scores.shape().end() - 1));
  if (!(labels.shape() == expected))
    fail(loss, ": labels are ", labels.type().str(), ", expected shape ", expected.str(), " for scores ",
         scores.type().str());
  if (sparse && !is_integer(labels.dtype())) fail(loss, ": labels are ", labels.type().str(), ", expected i32 or i64");
}

// Integer labels in the shape and dtype that the op takes; [B, 1] is [B].
Tensor integer_labels(const char* loss, Tensor scores, Tensor labels) {
  if (labels.rank() == scores.rank() && labels.dim(-1) == 1)
    labels = reshape(labels, Shape(std::vector<int64_t>(labels.shape().begin(), labels.shape().end() - 1)));
  if (labels.dtype() == DType::kU8) labels = cast(labels, DType::kI32);
  expect_labels(loss, scores, labels, true);
  return labels;
}

Tensor one_hot_labels(const char* loss, Tensor scores, Tensor labels, double smoothing) {
  expect_labels(loss, scores, labels, false);
  labels = cast(labels, scores.dtype());
  if (smoothing == 0) return labels;
  return labels * (1 - smoothing) + smoothing / static_cast<double>(scores.dim(-1));
}

Tensor binary_labels(const char* loss, Tensor prediction, Tensor labels, double smoothing) {
  const Tensor y = target_like(loss, prediction, labels);
  return smoothing == 0 ? y : y * (1 - smoothing) + smoothing / 2;
}

// 1 where the label is `ignored`: such samples are not counted.
Tensor counted(Tensor labels, const LossOptions& o) {
  if (!o.ignore_class) return {};
  const Tensor ignored = full(*labels.graph(), labels.dtype(), {}, static_cast<double>(*o.ignore_class));
  return cast(compare(labels, ignored, CompareKind::kNe), DType::kF32);
}

Tensor sparse_loss(const char* loss, Tensor logits, Tensor labels, const LossOptions& o) {
  labels = integer_labels(loss, logits, labels);
  const double k = static_cast<double>(logits.dim(-1)), s = o.label_smoothing;
  CrossEntropyOptions options{1 - s + s / k, s / k};
  if (o.ignore_class) options.ignore = *o.ignore_class;
  return reduced(loss, softmax_cross_entropy_per_example(logits, labels, options).loss, o, counted(labels, o));
}

void expect_dense(const char* loss, const LossOptions& o) {
  if (o.ignore_class) fail(loss, ": ignore_class is for integer labels, these are one number a class");
}

// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) without overflow
Tensor sigmoid_cross_entropy(Tensor x, Tensor y) { return maximum(x, scalar_like(x, 0)) - x * y + log1p(exp(-abs(x))); }

Tensor binary_terms(Tensor p, Tensor y) {
  const Tensor q = clipped(p, kEpsilon);
  return -(y * log(q) + (1.0 - y) * log(1.0 - q));
}

Tensor power(Tensor x, double exponent) { return exponent == 2 ? square(x) : pow(x, scalar_like(x, exponent)); }

}  // namespace losses

using namespace losses;

namespace {

void expect_focal(const char* loss, const FocalOptions& focal) {
  expect_number(cat(loss, ": alpha"), focal.alpha, 0);
  expect_number(cat(loss, ": gamma"), focal.gamma, 0);
}

}  // namespace

Tensor softmax_cross_entropy(Tensor logits, Tensor labels, const LossOptions& o) {
  constexpr const char* kName = "softmax_cross_entropy";
  expect_scores(kName, logits, labels);
  expect_smoothing(kName, o);
  if (!is_float(labels.dtype())) {
    // one-hot integers have the logits' shape; [B, 1] beside one class are indices
    if (!(labels.shape() == logits.shape()) || logits.dim(-1) == 1) return sparse_loss(kName, logits, labels, o);
  }
  expect_dense(kName, o);
  const Tensor y = one_hot_labels(kName, logits, labels, o.label_smoothing);
  return reduced(kName, softmax_cross_entropy_per_example(logits, y).loss, o);
}

Tensor categorical_cross_entropy(Tensor p, Tensor labels, const LossOptions& o) {
  constexpr const char* kName = "categorical_cross_entropy";
  expect_scores(kName, p, labels);
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const Tensor y = one_hot_labels(kName, p, labels, o.label_smoothing);
  if (const Tensor x = logits_of(p, "softmax")) return reduced(kName, softmax_cross_entropy_per_example(x, y).loss, o);
  const Tensor normal = p / reduce_sum(p, {-1}, true);
  return reduced(kName, -reduce_sum(y * log(clipped(normal, kEpsilon)), {-1}), o);
}

Tensor sparse_categorical_cross_entropy(Tensor p, Tensor labels, const LossOptions& o) {
  constexpr const char* kName = "sparse_categorical_cross_entropy";
  expect_scores(kName, p, labels);
  expect_smoothing(kName, o);
  const Tensor x = logits_of(p, "softmax");
  return sparse_loss(kName, x ? x : log(clipped(p, kEpsilon)), labels, o);
}

Tensor binary_cross_entropy(Tensor prediction, Tensor labels, bool from_logits, const LossOptions& o) {
  constexpr const char* kName = "binary_cross_entropy";
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const Tensor y = binary_labels(kName, prediction, labels, o.label_smoothing);
  const Tensor x = from_logits ? prediction : logits_of(prediction, "activation");
  return reduced(kName, sample_mean(x ? sigmoid_cross_entropy(x, y) : binary_terms(prediction, y)), o);
}

Tensor binary_focal_cross_entropy(Tensor prediction, Tensor labels, const FocalOptions& focal, const LossOptions& o) {
  constexpr const char* kName = "binary_focal_cross_entropy";
  expect_focal(kName, focal);
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const Tensor y = binary_labels(kName, prediction, labels, o.label_smoothing);
  const Tensor p = focal.from_logits ? activation(prediction, sigmoid) : prediction;
  const Tensor terms = focal.from_logits ? sigmoid_cross_entropy(prediction, y) : binary_terms(p, y);
  const Tensor wrong = 1.0 - (y * p + (1.0 - y) * (1.0 - p));
  Tensor loss = power(wrong, focal.gamma) * terms;
  if (focal.apply_class_balancing) loss = loss * (y * focal.alpha + (1.0 - y) * (1 - focal.alpha));
  return reduced(kName, sample_mean(loss), o);
}

Tensor categorical_focal_cross_entropy(Tensor prediction, Tensor labels, const FocalOptions& focal,
                                       const LossOptions& o) {
  constexpr const char* kName = "categorical_focal_cross_entropy";
  expect_focal(kName, focal);
  expect_scores(kName, prediction, labels);
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const Tensor y = one_hot_labels(kName, prediction, labels, o.label_smoothing);
  Tensor p, logs;
  if (focal.from_logits) {
    p = softmax(prediction);
    logs = log_softmax(prediction);
  } else {
    p = clipped(prediction / reduce_sum(prediction, {-1}, true), kEpsilon);
    logs = log(p);
  }
  return reduced(kName, reduce_sum(power(1.0 - p, focal.gamma) * (y * logs), {-1}) * -focal.alpha, o);
}

}  // namespace tenon
