// The first program of TPUEstimator's guide: a model of one neuron, one step of training and one of evaluation, on any device.
// Nothing in the model says where it runs. What the Estimator logs is on standard error.
#include "examples/example_program.h"
#include "tenon/estimator.h"

using namespace tenon;

EstimatorSpec model_fn(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor y = dense(features["features"], {.units = 1});
  EstimatorSpec spec{.mode = mode, .predictions = {{"predictions", y}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = mean_squared_error(labels, y);
  if (mode == Mode::kTrain) spec.train_op = minimize(CrossShard(Adagrad(0.05)), spec.loss);
  return spec;
}

Result<Dataset> input_fn(const InputContext&, const Params& params) {
  return Dataset::from_arrays({{"features", Array({1.0f, 1.5f}, {1, 2})}, {"label", Array({0.3f}, {1, 1})}},
                              {.batch_size = params.get<int64_t>("batch_size"), .repeat = true});
}

examples::Figures train(const examples::Flags& flags) {
  Estimator estimator(model_fn, {.model_dir = flags["model_dir"],
                                 .device = flags.device,
                                 .seed = flags.seed,
                                 .train_batch_size = 8,
                                 .eval_batch_size = 8,
                                 .tpu = TPUConfig{.iterations_per_loop = 1},
                                 .log_lines = LogLines::kEstimator});
  if (flags.json) estimator.set_events({});
  check(estimator.train({.input = {input_fn}, .steps = 1}).status());
  const EvalResult result = estimator.evaluate({.input = {input_fn}, .steps = 1}).take();
  return {{"loss", result.at("loss")}, {"global_step", result.at("global_step")}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train, {.own = {{"model_dir", ""}}}); }
