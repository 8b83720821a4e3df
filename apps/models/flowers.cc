// The reference CNN of TensorFlow's TPUEstimator days: 299x299x3, two 5x5 convolutions with max-pools, dense 300,
// dropout, one logit a class. 32,863,585 parameters for 5 classes, 32,864,805 with batch normalisation.
#include "models/models.h"

namespace tenon::models {
namespace {

// Dense, then batch normalisation if it is wanted, then the activation.
Tensor dense_block(Tensor x, int64_t units, Activation activation, bool batch_norm) {
  if (!batch_norm) return dense(x, {.units = units, .activation = activation});
  return batch_normalization(dense(x, {.units = units}), {.activation = activation});
}

}  // namespace

EstimatorSpec flowers(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const auto size = [&](const char* name) { return params.get<int64_t>(name); };
  const bool batch_norm = params.get<bool>("batch_norm");
  const auto convolve = [&](Tensor x, int64_t filters, int64_t kernel) {
    return max_pool2d(conv2d(x, {.filters = filters, .kernel = kernel, .padding = same, .activation = relu}), 2);
  };
  Tensor x = image_of(features, params);  // [batch, 299, 299, 3]
  x = convolve(x, size("nfil1"), size("ksize1"));
  x = convolve(x, size("nfil2"), size("ksize2"));
  x = dense_block(flatten(x), 300, relu, batch_norm);
  x = dropout(x, params.get<double>("dprob"));
  const Tensor logits = dense_block(x, size("num_classes"), linear, batch_norm);
  return classify(logits, labels, mode, CrossShard(make_optimizer(params)));
}

// The smaller one of TensorFlow's image tutorial, which benchmarks use: 180x180x3.
EstimatorSpec flowers180(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  Tensor x = image_of(features, params);
  for (int64_t filters : {16, 32, 64})
    x = max_pool2d(conv2d(x, {.filters = filters, .kernel = 3, .padding = same, .activation = relu}), 2);
  x = dense(flatten(x), {.units = 128, .activation = relu});
  return classify(dense(x, {.units = params.get<int64_t>("num_classes")}), labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
