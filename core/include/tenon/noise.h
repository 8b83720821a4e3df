// Layers that disturb activations while training, and the penalty on them, with Keras's names, defaults and formulas,
// as functions and as objects. x is any float tensor. All functions throw tenon::Error.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

struct GaussianNoiseOptions {
  double stddev = 0;
  std::string name = "gaussian_noise";
};
// x plus numbers of mean 0 and that deviation.
Tensor gaussian_noise(Tensor x, const GaussianNoiseOptions& options);

struct GaussianDropoutOptions {
  double rate = 0;  // 0 to less than 1
  std::string name = "gaussian_dropout";
};
// x times numbers of mean 1 and deviation sqrt(rate / (1 - rate)).
Tensor gaussian_dropout(Tensor x, const GaussianDropoutOptions& options);

struct AlphaDropoutOptions {
  double rate = 0;  // 0 to less than 1
  std::string name = "alpha_dropout";
};
// Elements become selu's limit -1.7581 with probability `rate`, and all are scaled and shifted so that mean 0 and
// variance 1 stay (Klambauer et al. 2017).
Tensor alpha_dropout(Tensor x, const AlphaDropoutOptions& options);

struct ActivityRegularizationOptions {
  double l1 = 0, l2 = 0;
  std::string name = "activity_regularization";
};
// x[B,..], which adds (l1 sum |x| + l2 sum x^2) / B to the loss, in every mode.
Tensor activity_regularization(Tensor x, const ActivityRegularizationOptions& options);

class GaussianNoise : public FunctionLayer<GaussianNoise, GaussianNoiseOptions, gaussian_noise> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit GaussianNoise(double stddev) : FunctionLayer({.stddev = stddev}) {}
};
class GaussianDropout : public FunctionLayer<GaussianDropout, GaussianDropoutOptions, gaussian_dropout> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit GaussianDropout(double rate) : FunctionLayer({.rate = rate}) {}
};
class AlphaDropout : public FunctionLayer<AlphaDropout, AlphaDropoutOptions, alpha_dropout> {
 public:
  using FunctionLayer::FunctionLayer;
  explicit AlphaDropout(double rate) : FunctionLayer({.rate = rate}) {}
};
class ActivityRegularization
    : public FunctionLayer<ActivityRegularization, ActivityRegularizationOptions, activity_regularization> {
 public:
  using FunctionLayer::FunctionLayer;
};

}  // namespace tenon
