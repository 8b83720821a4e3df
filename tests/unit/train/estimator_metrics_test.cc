// Metrics of several sums in an Estimator's evaluation, against tests/golden/metrics.csv.
#include "base/strings.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// Scores as they are fed; the one weight does not change them.
EstimatorSpec scored(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor scores = reshape(features["x"], {features["x"].dim(0)});
  EstimatorSpec spec{.mode = mode, .predictions = {{"scores", scores}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = reduce_mean(dense(features["x"], {.units = 1})) * 0.0;
  spec.eval_metrics = {{"auc", AUC()(labels, scores)},
                       {"pr", AUC({.curve = "PR"})(labels, scores)},
                       {"iou", BinaryIoU()(labels, scores)},
                       {"rmse", RootMeanSquaredError()(labels, scores)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(SGD({.learning_rate = 0.0}), spec.loss);
  return spec;
}

TEST(EstimatorMetrics, OfSeveralSumsAreThoseOfAllBatches) {
  const std::vector<float> x{0.1f, 0.6f, 0.5f, 0.7f, 0.9f, 0.3f};
  const std::vector<int32_t> y{0, 1, 1, 0, 1, 0};
  for (const char* device : {"cpu", "cpu:units=2"})
    for (const int64_t batch : {2, 4, 6}) {  // 4: the last batch has fewer rows
      SCOPED_TRACE(cat(device, " ", batch));
      const Dataset data = Dataset::from_memory({memory_feature<float>("x", DType::kF32, {1}, x),
                                                 memory_feature<int32_t>("label", DType::kI32, {}, y)},
                                                {.batch_size = batch})
                               .take();
      TemporaryDirectory dir;
      RunConfig config = cpu(dir.path());
      config.device = device;
      Estimator estimator(scored, config);
      check(estimator.train({.input = data, .max_steps = 1}).status());
      const EvalResult r = estimator.evaluate({.input = data}).take();
      EXPECT_NEAR(r.at("auc"), 0.777777791, 1e-6);
      EXPECT_NEAR(r.at("pr"), 0.768950939, 1e-6);
      EXPECT_NEAR(r.at("iou"), 0.708333373, 1e-6);
      EXPECT_NEAR(r.at("rmse"), std::sqrt(1.01 / 6), 1e-6);  // 0.01 + 0.16 + 0.25 + 0.49 + 0.01 + 0.09
    }
}

}  // namespace
}  // namespace tenon
