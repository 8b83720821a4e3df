// Metrics as objects: names, what is chosen by shapes, metrics of losses and of functions of one's own.
#include <gtest/gtest.h>

#include "tenon/metrics.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

struct Given {
  Shape shape;
  Numbers numbers;
};

double value(const Metric& metric, const Given& y, const Given& p) {
  Graph graph;
  const Tensor labels = feed(graph, "y", y.shape, y.shape.rank() < p.shape.rank() ? DType::kI64 : DType::kF32);
  const MetricOp op = metric(labels, feed(graph, "p", p.shape));
  return op.value(Session(graph, op.sums).run({{"y", y.numbers}, {"p", p.numbers}}));
}

TEST(MetricObject, ChoosesTheAccuracyByShapes) {
  for (const char* name : {"accuracy", "acc"}) {
    EXPECT_EQ(Metric(name).name(), name);
    EXPECT_EQ(value(name, {{2, 1}, {1, 0}}, {{2, 1}, {0.7, 0.6}}), 0.5);
    EXPECT_EQ(value(name, {{2}, {1, 0}}, {{2}, {0.7, 0.6}}), 0.5);
    EXPECT_EQ(value(name, {{2}, {1, 0}}, {{2, 2}, {0.3, 0.7, 0.4, 0.6}}), 0.5);
    EXPECT_EQ(value(name, {{2, 1}, {1, 0}}, {{2, 2}, {0.3, 0.7, 0.4, 0.6}}), 0.5);
    EXPECT_EQ(value(name, {{2, 2}, {0, 1, 1, 0}}, {{2, 2}, {0.3, 0.7, 0.4, 0.6}}), 0.5);
  }
}

TEST(MetricObject, ChoosesTheCrossentropyByShapes) {
  const double expected = -std::log(0.7);
  EXPECT_NEAR(value("crossentropy", {{1, 1}, {1}}, {{1, 1}, {0.7}}), expected, 1e-6);
  EXPECT_NEAR(value("ce", {{1}, {1}}, {{1, 2}, {0.3, 0.7}}), expected, 1e-6);
  EXPECT_NEAR(value("ce", {{1, 2}, {0, 1}}, {{1, 2}, {0.3, 0.7}}), expected, 1e-6);
}

TEST(MetricObject, IsMadeOfALossOrItsName) {
  EXPECT_EQ(value(MeanSquaredError(), {{2, 1}, {1, 3}}, {{2, 1}, {2, 1}}), 2.5);
  EXPECT_EQ(value("mae", {{2, 1}, {1, 3}}, {{2, 1}, {2, 1}}), 1.5);
  EXPECT_EQ(Metric("mae").name(), "mae");
  EXPECT_EQ(Metric(MeanSquaredError()).name(), "mean_squared_error");
  // the cosine, where the loss is its negative
  EXPECT_NEAR(value(CosineSimilarity(), {{1, 2}, {1, 0}}, {{1, 2}, {2, 0}}), 1, 1e-6);
}

TEST(MetricObject, OfALossCountsNoSampleOfTheIgnoredClass) {
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 2});
  EXPECT_NEAR(value(loss, {{2}, {0, 2}}, {{2, 3}, Numbers(6, 0)}), std::log(3.0), 1e-6);
}

TEST(MetricObject, IsMadeOfFunctionsOfOnesOwn) {
  const Metric largest("largest", [](Tensor y, Tensor p, Tensor) {
    return MetricOp({reduce_sum(p), reduce_sum(y)}, [](const MetricOp::Sums& s) { return s[0][0] - s[1][0]; });
  });
  EXPECT_EQ(value(largest, {{2}, {1, 3}}, {{2}, {2, 7}}), 5);
  const Metric distance = MeanMetricWrapper([](Tensor y, Tensor p) { return abs(y - p); }, "distance");
  EXPECT_EQ(distance.name(), "distance");
  EXPECT_EQ(value(distance, {{2}, {1, 3}}, {{2}, {2, 7}}), 2.5);
  const Metric plain("plain", [](Tensor y, Tensor p, Tensor) { return MetricOp{reduce_sum(p), reduce_sum(y)}; });
  EXPECT_EQ(value(plain, {{2}, {1, 3}}, {{2}, {2, 6}}), 2);
}

TEST(MetricObject, OfSeveralNumbersIsTheirMean) {
  // of the first class both, of the second one of two predictions is right
  const Metric f1 = F1Score({.threshold = 0.5});
  EXPECT_NEAR(value(f1, {{2, 2}, {1, 1, 1, 0}}, {{2, 2}, {1, 1, 1, 1}}), (1 + 2.0 / 3) / 2, 1e-6);
}

TEST(MetricObject, SaysWhatDoesNotFit) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3});
  EXPECT_EQ(error_of([] { Metric("acuracy"); }), "no metric of name 'acuracy'; did you mean 'accuracy'?");
  EXPECT_EQ(error_of([] { AUC({.curve = "roc"}); }), "auc: curve is 'roc', expected one of 'ROC', 'PR'");
  EXPECT_EQ(error_of([] { MeanIoU({}); }), "mean_io_u: num_classes is 0, expected 1 to 16384");
  EXPECT_EQ(error_of([&] { AUC()
                           (x, reduce_sum(x, {0})); }),
            "auc: labels are f32[2,3], predictions f32[3], expected one shape");
  EXPECT_EQ(error_of([&] { Precision({.top_k = 4})(x, x); }),
            "precision: top_k is 4, expected 1 to the number of classes of f32[2,3]");
  EXPECT_EQ(error_of([&] { Metric("own", [](Tensor, Tensor, Tensor) { return MetricOp(); })(x, x); }),
            "metric 'own' gave no sums");
}

}  // namespace
}  // namespace tenon
