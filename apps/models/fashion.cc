// A small convolutional network for 28x28 images: what `make quickstart` trains on Fashion-MNIST. The file to read
// first, and to change: a model is a function from features and labels to an EstimatorSpec.
#include "models/models.h"

namespace tenon::models {

EstimatorSpec fashion(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const Padding padding = params.get<std::string>("padding") == "same" ? same : valid;
  Tensor x = image_of(features, params);  // [batch, 28, 28, 1]
  x = max_pool2d(conv2d(x, {.filters = 32, .kernel = 3, .padding = padding, .activation = relu}), 2);
  x = max_pool2d(conv2d(x, {.filters = 64, .kernel = 3, .padding = padding, .activation = relu}), 2);
  x = dropout(flatten(x), params.get<double>("dropout"));
  const Tensor logits = dense(x, {.units = params.get<int64_t>("num_classes")});
  return classify(logits, labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
