// Cross entropies. The other losses: regression_losses.cc.
#include "tenon/losses.h"

#include "base/number.h"
#include "layer/loss/loss_parts.h"

namespace tenon {

namespace losses {

Tensor clipped(Tensor p, double low) { return clamp(p, low, 1 - kEpsilon); }

// The argument of the softmax over this axis, or of the sigmoid, that made `p`; else nothing.
Tensor logits_of(Tensor p, std::string_view op, int64_t axis) {
  const Node* node = p.graph()->defining_node(p.id());
  if (!node || node->op != op) return {};
  const AttrReader attrs(node->attrs);
  const bool fits = op == "softmax" ? attrs.i64("axis") == (axis < 0 ? axis + p.rank() : axis)
                                    : attrs.enumerator("act") == static_cast<int>(Activation::kSigmoid);
  return fits ? Tensor(p.graph(), node->operands[0]) : Tensor();
}

void expect_scores(const char* loss, Tensor scores, Tensor labels) {
  if (!scores || !labels) fail(loss, ": scores or labels were never set");
  if (scores.rank() < 2 || !is_float(scores.dtype()))
    fail(loss, ": scores are ", scores.type().str(), ", expected a float [batch, .., classes]");
}

void expect_labels(const char* loss, Tensor scores, Tensor labels, const Shape& expected) {
  if (!(labels.shape() == expected))
    fail(loss, ": labels are ", labels.type().str(), ", expected shape ", expected.str(), " for scores ",
         scores.type().str());
}

// Integer labels in the shape and dtype that the op takes; [B, 1] is [B].
Tensor integer_labels(const char* loss, Tensor scores, Tensor labels) {
  const Shape expected(std::vector<int64_t>(scores.shape().begin(), scores.shape().end() - 1));
  if (labels.rank() == scores.rank() && labels.dim(-1) == 1)
    labels = reshape(labels, Shape(std::vector<int64_t>(labels.shape().begin(), labels.shape().end() - 1)));
  expect_labels(loss, scores, labels, expected);
  const Tensor whole = as_indices(labels);
  if (!is_integer(whole.dtype())) fail(loss, ": labels are ", labels.type().str(), ", expected i32, i64 or f32");
  return whole;
}

Tensor one_hot_labels(const char* loss, Tensor scores, Tensor labels, double smoothing) {
  expect_labels(loss, scores, labels, scores.shape());
  labels = cast(labels, scores.dtype());
  if (smoothing == 0) return labels;
  return labels * (1 - smoothing) + smoothing / static_cast<double>(scores.dim(-1));
}

Tensor binary_labels(const char* loss, Tensor y, const LossOptions& o) {
  y = axis_last(loss, y, o.axis);
  return o.label_smoothing == 0 ? y : y * (1 - o.label_smoothing) + o.label_smoothing / 2;
}

// The predictions, or the logits that they were made of where the formula takes these; classes are last.
struct Scores {
  Tensor values;
  bool logits;
};
Scores scores_of(const char* loss, Tensor p, std::string_view op, const LossOptions& o) {
  const Tensor made_of = o.from_logits ? p : logits_of(p, op, o.axis);
  return {axis_last(loss, made_of ? made_of : p, o.axis), static_cast<bool>(made_of)};
}

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

LossOptions checked_focal(const char* loss, const FocalOptions& focal) {
  expect_number(cat(loss, ": alpha"), focal.alpha, 0);
  expect_number(cat(loss, ": gamma"), focal.gamma, 0);
  LossOptions o = common(focal);
  o.label_smoothing = focal.label_smoothing;
  o.axis = focal.axis;
  expect_smoothing(loss, o);
  return o;
}

}  // namespace

Tensor categorical_crossentropy(Tensor labels, Tensor p, const LossOptions& o) {
  constexpr const char* kName = "categorical_crossentropy";
  expect_scores(kName, p, labels);
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const auto [x, logits] = scores_of(kName, p, "softmax", o);
  const Tensor y = one_hot_labels(kName, x, axis_last(kName, labels, o.axis), o.label_smoothing);
  if (logits) return reduced(kName, softmax_cross_entropy_per_example(x, y).loss, o);
  const Tensor normal = x / reduce_sum(x, {-1}, true);
  return reduced(kName, -reduce_sum(y * log(clipped(normal, kEpsilon)), {-1}), o);
}

Tensor sparse_categorical_crossentropy(Tensor labels, Tensor p, const LossOptions& o) {
  constexpr const char* kName = "sparse_categorical_crossentropy";
  expect_scores(kName, p, labels);
  expect_smoothing(kName, o);
  const auto [x, logits] = scores_of(kName, p, "softmax", o);
  if (labels.rank() == p.rank()) labels = axis_last(kName, labels, o.axis);
  return sparse_loss(kName, logits ? x : log(clipped(x, kEpsilon)), labels, o);
}

Tensor binary_crossentropy(Tensor labels, Tensor prediction, const LossOptions& o) {
  constexpr const char* kName = "binary_crossentropy";
  expect_smoothing(kName, o);
  expect_dense(kName, o);
  const Pair m = matched(kName, labels, prediction);
  const Tensor y = binary_labels(kName, m.y, o);
  const auto [x, logits] = scores_of(kName, m.p, "activation", o);
  return reduced(kName, sample_mean(logits ? sigmoid_cross_entropy(x, y) : binary_terms(x, y)), o);
}

Tensor log_loss(Tensor labels, Tensor prediction, const LossOptions& o) {
  constexpr const char* kName = "log_loss";
  expect_plain(kName, o);
  const auto [y, p] = matched(kName, labels, prediction);
  const Tensor terms = y * log(p + kEpsilon) + (1.0 - y) * log(1.0 - p + kEpsilon);
  return reduced(kName, sample_mean(-terms), o);
}

Tensor binary_focal_crossentropy(Tensor labels, Tensor prediction, const FocalOptions& focal) {
  constexpr const char* kName = "binary_focal_crossentropy";
  const LossOptions o = checked_focal(kName, focal);
  const Pair m = matched(kName, labels, prediction);
  const Tensor y = binary_labels(kName, m.y, o), x = axis_last(kName, m.p, o.axis);
  const Tensor p = focal.from_logits ? activation(x, Activation::kSigmoid) : x;
  const Tensor terms = focal.from_logits ? sigmoid_cross_entropy(x, y) : binary_terms(p, y);
  const Tensor wrong = 1.0 - (y * p + (1.0 - y) * (1.0 - p));
  Tensor loss = power(wrong, focal.gamma) * terms;
  if (focal.apply_class_balancing) loss = loss * (y * focal.alpha + (1.0 - y) * (1 - focal.alpha));
  return reduced(kName, sample_mean(loss), o);
}

Tensor categorical_focal_crossentropy(Tensor labels, Tensor prediction, const FocalOptions& focal) {
  constexpr const char* kName = "categorical_focal_crossentropy";
  expect_scores(kName, prediction, labels);
  const LossOptions o = checked_focal(kName, focal);
  prediction = axis_last(kName, prediction, o.axis);
  const Tensor y = one_hot_labels(kName, prediction, axis_last(kName, labels, o.axis), o.label_smoothing);
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

Tensor categorical_generalized_cross_entropy(Tensor labels, Tensor p, const GeneralizedOptions& options) {
  constexpr const char* kName = "categorical_generalized_cross_entropy";
  expect_number(cat(kName, ": q"), options.q, 0, 1);
  if (options.q == 0 || options.q == 1) fail(kName, ": q is ", options.q, ", expected between 0 and 1");
  expect_scores(kName, p, labels);
  const Tensor y = one_hot(integer_labels(kName, p, labels), p.dim(-1), p.dtype());
  const Tensor own = reduce_sum(y * p, {-1});
  return reduced(kName, (1.0 - pow(own, scalar_like(own, options.q))) * (1 / options.q), common(options));
}

}  // namespace tenon
