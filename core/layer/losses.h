// What the losses share: checks, the mean over the last axis, the reduction.
#pragma once

#include "layer/layer.h"
#include "tenon/losses.h"

namespace tenon::losses {

constexpr double kEpsilon = 1e-7;

// [B.., n] -> [B..]: the mean over the last axis; a vector is its own.
Tensor sample_mean(Tensor values);
// The per-sample losses, weighted and reduced. `counted`, when given, is 1 for the samples that count, else 0.
Tensor reduced(const char* loss, Tensor per_sample, const LossOptions& o, Tensor counted = {});
// The target in the prediction's shape and dtype; throws when it has another shape.
Tensor target_like(const char* loss, Tensor prediction, Tensor target);
void expect_smoothing(const char* loss, const LossOptions& o);
// Neither smoothing nor ignored labels mean anything to this loss.
void expect_plain(const char* loss, const LossOptions& o);

}  // namespace tenon::losses
