// Metrics that are total / count against tests/golden/metrics.csv.
#include "tenon/metrics.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tenon/losses.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Arguments;
using golden::flag;
using golden::number;
using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

struct MetricBatch {
  Shape labels_shape;
  Numbers labels;
  Shape scores_shape;
  Numbers scores, weights;
};

// The two batches of each input that the file's first line lists.
const std::vector<MetricBatch>& batches(const std::string& name) {
  static const std::map<std::string, std::vector<MetricBatch>> all{
      {"B", {{{4}, {0, 1, 1, 0}, {4}, {0.1, 0.6, 0.5, 0.7}, {1, 2, 0.5, 1}}, {{2}, {1, 0}, {2}, {0.9, 0.3}, {3, 0}}}},
      {"R", {{{2, 2}, {0, 1, 2, -3}, {2, 2}, {0.5, 0.5, 2, -1}, {1, 3}}, {{1, 2}, {0.5, 4}, {1, 2}, {-0.5, 6}, {2}}}},
      {"C",
       {{{2, 3}, {0, 1, 0, 0, 0, 1}, {2, 3}, {0.1, 0.8, 0.1, 0.4, 0.4, 0.2}, {1, 3}},
        {{1, 3}, {1, 0, 0}, {1, 3}, {0.25, 0.5, 0.25}, {2}}}},
      {"S", {{{2}, {1, 2}, {2, 3}, {0.1, 0.8, 0.1, 0.4, 0.4, 0.2}, {}}, {{1}, {0}, {1, 3}, {0.25, 0.5, 0.25}, {}}}},
      {"K",
       {{{2}, {2, 0}, {2, 4}, {0.1, 0.9, 0.8, 0.3, 0.2, 0.2, 0.2, 0.1}, {}},
        {{1}, {3}, {1, 4}, {0.5, 0.1, 0.2, 0.4}, {}}}},
      {"V", {{{3}, {1, 2, 3}, {3}, {1, 2, 3}, {1, 0, 2}}, {{1}, {10}, {1}, {10}, {0.5}}}},
      {"Z", {{{4}, {0, 1, 1, 0}, {4}, {-1, 2, 0.5, 0.8}, {}}, {{2}, {1, 0}, {2}, {3, -0.2}, {}}}},
  };
  return all.at(name);
}

using BuildMetric = std::function<Metric(Tensor labels, Tensor scores, Tensor weight)>;

LossOptions each(double smoothing = 0) {
  LossOptions o;
  o.reduction = Reduction::kNone;
  o.label_smoothing = smoothing;
  return o;
}

// A metric of Keras's name; nothing when it is none that Tenon has.
BuildMetric metric_of(const std::string& name, const Arguments& a) {
  const int64_t k = static_cast<int64_t>(number(a, "k", 5));
  const double threshold = number(a, "threshold", 0.5), smoothing = number(a, "label_smoothing", 0);
  const bool logits = flag(a, "from_logits");
  const bool plain = a.empty();
  if (name == "Mean") return [](Tensor y, Tensor, Tensor w) { return mean(y, w); };
  if (name == "Accuracy") return [](Tensor y, Tensor p, Tensor w) { return accuracy(y, p, w); };
  if (name == "BinaryAccuracy")
    return [=](Tensor y, Tensor p, Tensor w) { return binary_accuracy(y, p, threshold, w); };
  if (name == "CategoricalAccuracy") return categorical_accuracy;
  if (name == "SparseCategoricalAccuracy") return sparse_categorical_accuracy;
  if (name == "SparseTopKCategoricalAccuracy")
    return [=](Tensor y, Tensor p, Tensor w) { return sparse_top_k_categorical_accuracy(y, p, k, w); };
  if (name == "TopKCategoricalAccuracy")
    return [=](Tensor y, Tensor p, Tensor w) { return top_k_categorical_accuracy(y, p, k, w); };
  if (name == "MeanSquaredError") return mean_squared_error_metric;
  if (name == "MeanAbsoluteError") return mean_absolute_error_metric;
  if (name == "CosineSimilarity") return cosine_similarity_metric;
  if (name == "LogCoshError") return [](Tensor y, Tensor p, Tensor w) { return mean(log_cosh(p, y, each()), w); };
  if (name == "KLDivergence") return [](Tensor y, Tensor p, Tensor w) { return mean(kl_divergence(p, y, each()), w); };
  if (name == "Hinge") return [](Tensor y, Tensor p, Tensor w) { return mean(hinge(p, y, each()), w); };
  if (name == "CategoricalHinge")
    return [](Tensor y, Tensor p, Tensor w) { return mean(categorical_hinge(p, y, each()), w); };
  if (name == "BinaryCrossentropy")
    return [=](Tensor y, Tensor p, Tensor w) { return mean(binary_cross_entropy(p, y, logits, each(smoothing)), w); };
  if (name == "CategoricalCrossentropy")
    return [=](Tensor y, Tensor p, Tensor w) { return mean(categorical_cross_entropy(p, y, each(smoothing)), w); };
  if (name == "SparseCategoricalCrossentropy")
    return [=](Tensor y, Tensor p, Tensor w) { return mean(sparse_categorical_cross_entropy(p, y, each()), w); };
  if (name == "Precision" && plain) return [](Tensor y, Tensor p, Tensor w) { return precision(y, p, 0.5, w); };
  if (name == "Recall" && plain) return [](Tensor y, Tensor p, Tensor w) { return recall(y, p, 0.5, w); };
  return {};
}

Numbers totals(const MetricBatch& b, const BuildMetric& metric, bool weighted) {
  Graph graph;
  const bool sparse = b.labels_shape.rank() < b.scores_shape.rank();
  const Tensor y = feed(graph, "y", b.labels_shape, sparse ? DType::kI64 : DType::kF32);
  const Tensor p = feed(graph, "p", b.scores_shape);
  const Tensor w = weighted ? feed(graph, "w", {static_cast<int64_t>(b.weights.size())}) : Tensor();
  const Metric m = metric(y, p, w);
  EXPECT_EQ(m.total.type().str(), "f32[]");
  EXPECT_EQ(m.count.type().str(), "f32[]");
  const auto results = Session(graph, {m.total, m.count}).run({{"y", b.labels}, {"p", b.scores}, {"w", b.weights}});
  return {results[0][0], results[1][0]};
}

// Keras takes the mean over the last axis even of a vector: a batch of it is one value. Ours counts its samples.
bool counts_batches(const MetricBatch& b, const std::string& metric) {
  return b.scores_shape.rank() == 1 && (metric == "BinaryCrossentropy" || metric == "Hinge");
}

TEST(Metrics, GiveKerasNumbersOverTwoBatches) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("metrics.csv")) {
    const BuildMetric metric = metric_of(row.at("metric"), golden::arguments(row.at("arguments")));
    if (!metric || row.at("input") == "-" || row.at("input") == "L") continue;
    SCOPED_TRACE(row.at("input") + " " + row.at("metric") + " " + row.at("arguments") + " " + row.at("weighted"));
    Numbers sum{0, 0};
    for (const MetricBatch& b : batches(row.at("input"))) {
      Numbers each = totals(b, metric, row.at("weighted") == "yes");
      if (counts_batches(b, row.at("metric"))) each = {each[0] / each[1], 1};
      sum[0] += each[0], sum[1] += each[1];
    }
    golden::expect_near({sum[0] / sum[1]}, golden::numbers(row.at("result")), 1e-6);
    ++seen;
  }
  EXPECT_GE(seen, 29);
}

double top_k(const Numbers& scores, double label, int64_t k) {
  Graph graph;
  const int64_t classes = static_cast<int64_t>(scores.size());
  const Tensor y = feed(graph, "y", {1}, DType::kI32), p = feed(graph, "p", {1, classes});
  Session session(graph, {sparse_top_k_categorical_accuracy(y, p, k).total});
  return session.run({{"y", {label}}, {"p", scores}})[0][0];
}

TEST(TopK, CountsTiesAndTakesInfiniteScores) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(top_k({1, 1, 1}, 2, 1), 1);
  EXPECT_EQ(top_k({-kInf, 2, 1}, 1, 1), 1);
  EXPECT_EQ(top_k({-kInf, 2, 1}, 0, 2), 0);
  EXPECT_EQ(top_k({kInf, 2, 1}, 0, 1), 1);
}

TEST(TopK, MissesLabelsOutOfRangeAndNaN) {
  EXPECT_EQ(top_k({3, 2, 1}, 3, 3), 0);
  EXPECT_EQ(top_k({3, 2, 1}, -1, 3), 0);
  EXPECT_EQ(top_k({3, std::nan(""), 1}, 1, 3), 0);
}

TEST(Metrics, DoNotCountThePaddingOfAPartialBatch) {
  Graph graph;
  const Tensor v = feed(graph, "v", {3}), w = feed(graph, "w", {3});
  const Metric m = mean(v, w);
  const auto results = Session(graph, {m.total, m.count}).run({{"v", {2, 4, std::nan("")}}, {"w", {1, 1, 0}}});
  EXPECT_EQ(results[0][0], 6);
  EXPECT_EQ(results[1][0], 2);
}

TEST(Metrics, TakeAColumnOfLabels) {
  Graph graph;
  const Tensor y = feed(graph, "y", {2, 1}, DType::kI64), p = feed(graph, "p", {2, 2}), s = feed(graph, "s", {2});
  Session session(graph, {sparse_categorical_accuracy(y, p).total, accuracy(y, argmax(p)).total,
                          binary_accuracy(y, s).total, accuracy(y, y).total});
  for (const Numbers& n : session.run({{"y", {1, 0}}, {"p", {0, 1, 1, 0}}, {"s", {0.9, 0.1}}})) EXPECT_EQ(n[0], 2);
}

TEST(Metrics, SayWhatDoesNotFit) {
  Graph graph;
  const Tensor y = feed(graph, "y", {3}, DType::kI32), p = feed(graph, "p", {2, 4});
  EXPECT_EQ(error_of([&] { sparse_categorical_accuracy(y, p); }),
            "sparse_categorical_accuracy: labels are i32[3], expected shape [2] for scores f32[2,4]");
  EXPECT_EQ(error_of([&] { accuracy(y, p); }), "accuracy: labels are i32[3], predictions f32[2,4], expected one shape");
  EXPECT_EQ(error_of([&] { categorical_accuracy(y, p); }),
            "categorical_accuracy: labels are i32[3], expected shape [2,4]");
  EXPECT_EQ(error_of([&] {
              sparse_top_k_categorical_accuracy(y, feed(graph, "q", {3, 4}), 0);
            }),
            "sparse_top_k_categorical_accuracy: k is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { mean(Tensor()); }), "mean: the values were never set");
}

}  // namespace
}  // namespace tenon
