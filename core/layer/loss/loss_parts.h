// What the losses share: checks, the mean over the last axis, the reduction.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "layer/object/layer_scope.h"
#include "tenon/losses.h"

namespace tenon {

struct Loss::Impl {
  std::string name;
  LossOptions options;  // reduction, ignore_class
  // The loss with this weight and reduction.
  std::function<Tensor(Tensor y_true, Tensor y_pred, Tensor sample_weight, Reduction reduction)> call;
  double metric_sign = 1;   // a metric of it is that much of the per-sample losses
  bool heeds_mask = false;  // the function itself takes the mask of the predictions
};

namespace losses {

constexpr double kEpsilon = 1e-7;

// [B.., n] -> [B..]: the mean over the last axis; a vector is its own.
Tensor sample_mean(Tensor values);
// The per-sample losses, weighted and reduced. `counted`, when given, is 1 for the samples that count, else 0.
Tensor reduced(const char* loss, Tensor per_sample, const LossOptions& o, Tensor counted = {});
// 1 where the label is not options.ignore_class; nothing without one.
Tensor counted(Tensor labels, const LossOptions& o);

struct Pair {
  Tensor y, p;
};
// As Keras brings [B] and [B, 1] to one rank; others stay.
Pair one_rank(Tensor y, Tensor p);
// The tensor with this axis as its last one, as all losses are written.
Tensor axis_last(const char* loss, Tensor x, int64_t axis);
// y_true in the shape and dtype of the prediction, and the prediction; throws when they have other shapes.
Pair matched(const char* loss, Tensor y_true, Tensor y_pred);
void expect_smoothing(const char* loss, const LossOptions& o);
// Neither logits, smoothing nor ignored labels mean anything to this loss.
void expect_plain(const char* loss, const LossOptions& o);

// All names that a Loss may be made by, and whether `name` is one.
std::vector<std::string_view> loss_names();
bool is_loss(const std::string& name);

// Reads the three members that these options share.
template <class Options>
LossOptions common(const Options& o) {
  LossOptions out;
  out.sample_weight = o.sample_weight;
  out.reduction = o.reduction;
  out.name = o.name;
  return out;
}

}  // namespace losses
}  // namespace tenon
