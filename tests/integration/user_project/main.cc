// A user's own program: points in a square, is each inside the circle? Its model is written here, trained
// on the best device there is, and must be right about 95 % of points that it never saw.
//   my_model MODEL_DIR
#include <cstdio>
#include <random>
#include <vector>

#include "tenon/estimator.h"

using namespace tenon;

// features["point"] is f32[batch, 2]; labels i32[batch], 1 inside the circle.
EstimatorSpec circle_model(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  Tensor x = dense(features["point"], {.units = 32, .activation = relu});
  x = dense(x, {.units = 32, .activation = relu});
  Tensor logits = dense(x, {.units = 2});
  EstimatorSpec spec{.mode = mode, .predictions = {{"probabilities", softmax(logits)}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
  spec.eval_metrics = {{"accuracy", sparse_categorical_accuracy(labels, logits)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(Adam(params.get<double>("learning_rate")), spec.loss);
  return spec;
}

Result<Dataset> points(int count, unsigned seed, bool training) {
  std::mt19937 random(seed);
  std::vector<float> coordinates(2 * count);
  std::vector<int32_t> labels(count);
  for (float& c : coordinates) c = static_cast<float>(random()) / 2147483648.0f - 1;  // [-1, 1)
  for (int i = 0; i < count; ++i) {
    const float a = coordinates[2 * i], b = coordinates[2 * i + 1];
    labels[i] = a * a + b * b < 0.64f;
  }
  return Dataset::from_memory({memory_feature<float>("point", DType::kF32, Shape{2}, coordinates),
                               memory_feature<int32_t>("label", DType::kI32, Shape{}, labels)},
                              {.batch_size = 64, .training = training, .repeat = training});
}

int failed(const Status& status) {
  std::fprintf(stderr, "my_model: %s\n", status.message().c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: my_model MODEL_DIR\n"), 2;
  Result<Dataset> train = points(4096, 1, true), test = points(1024, 2, false);
  if (!train.ok()) return failed(train.status());
  if (!test.ok()) return failed(test.status());

  Estimator estimator(circle_model, {.model_dir = argv[1], .seed = 7}, {{"learning_rate", 0.01}});
  Result<TrainAndEvaluateResult> result =
      train_and_evaluate(estimator, {.input = *train, .max_steps = 600, .steps_between_evals = 600}, {.input = *test});
  if (!result.ok()) return failed(result.status());

  const double accuracy = result->eval.at("accuracy");
  std::printf("accuracy %.4f after %lld steps\n", accuracy, static_cast<long long>(result->train.global_step));
  return accuracy >= 0.95 ? 0 : failed(Status(Code::kInternal, "expected an accuracy of 0.95 or more"));
}
