// The toy problem of TPUEstimator's guide: features [[1., 1.5]], labels [[0.3]], one dense unit, mean squared error,
// Adagrad 0.05, batches of 8; one step of training, one of evaluation. Nothing in the model says where it runs.
//   toy_estimator DEVICE [MODEL_DIR]     writes the lines of the Estimator's log, then the result of the evaluation
#include <cstdio>

#include "tenon/estimator.h"

namespace tenon {
namespace {

EstimatorSpec model_fn(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor y = dense(features["features"], {.units = 1, .kernel_initializer = zeros()});
  EstimatorSpec spec{.mode = mode, .predictions = {{"predictions", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, y);
  AdagradOptions adagrad;
  adagrad.learning_rate = 0.05;
  if (mode == Mode::kTrain) spec.train_op = minimize(CrossShard(Adagrad(adagrad)), spec.loss);
  return spec;
}

Result<Dataset> input_fn(int64_t batch_size) {
  std::vector<float> features, labels;
  for (int64_t i = 0; i < batch_size; ++i) {
    features.insert(features.end(), {1.0f, 1.5f});
    labels.push_back(0.3f);
  }
  return Dataset::from_memory({memory_feature<float>("features", DType::kF32, {2}, features),
                               memory_feature<float>("label", DType::kF32, {1}, labels)},
                              {.batch_size = batch_size, .repeat = true, .drop_remainder = true});
}

Status run(const char* device, const char* model_dir) {
  RunConfig config;
  config.device = device;
  config.model_dir = model_dir;
  config.tpu = TPUConfig{.iterations_per_loop = 1};
  config.log_lines = LogLines::kEstimator;
  Estimator estimator(model_fn, config);
  estimator.set_events({.on_info = [](const std::string& line) { std::printf("%s\n", line.c_str()); }});
  TENON_ASSIGN(const Dataset input, input_fn(8));
  TENON_TRY(estimator.train({.input = input, .steps = 1}).status());
  TENON_ASSIGN(const EvalResult result, estimator.evaluate({.input = input, .steps = 1}));
  std::printf("{'loss': %.8g, 'global_step': %.0f}\n", result.at("loss"), result.at("global_step"));
  return {};
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: toy_estimator DEVICE [MODEL_DIR]\n"), 2;
  const tenon::Status status = tenon::run(argv[1], argc > 2 ? argv[2] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "toy_estimator: %s\n", status.message().c_str());
  return 1;
}
