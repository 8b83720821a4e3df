// Every metric against tests/golden/metrics.csv.
#include "tenon/metrics.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>

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

// The two batches of each input, by the letters that the file's first line gives them.
const std::vector<MetricBatch>& batches(const std::string& name) {
  static const std::map<std::string, std::vector<MetricBatch>> all{
      // binary labels, their probabilities, weights
      {"B", {{{4}, {0, 1, 1, 0}, {4}, {0.1, 0.6, 0.5, 0.7}, {1, 2, 0.5, 1}}, {{2}, {1, 0}, {2}, {0.9, 0.3}, {3, 0}}}},
      // regression of two outputs, weights
      {"R", {{{2, 2}, {0, 1, 2, -3}, {2, 2}, {0.5, 0.5, 2, -1}, {1, 3}}, {{1, 2}, {0.5, 4}, {1, 2}, {-0.5, 6}, {2}}}},
      // one-hot labels of three classes, weights
      {"C",
       {{{2, 3}, {0, 1, 0, 0, 0, 1}, {2, 3}, {0.1, 0.8, 0.1, 0.4, 0.4, 0.2}, {1, 3}},
        {{1, 3}, {1, 0, 0}, {1, 3}, {0.25, 0.5, 0.25}, {2}}}},
      // classes of three by number
      {"S", {{{2}, {1, 2}, {2, 3}, {0.1, 0.8, 0.1, 0.4, 0.4, 0.2}, {}}, {{1}, {0}, {1, 3}, {0.25, 0.5, 0.25}, {}}}},
      // classes of four by number, with ties
      {"K",
       {{{2}, {2, 0}, {2, 4}, {0.1, 0.9, 0.8, 0.3, 0.2, 0.2, 0.2, 0.1}, {}},
        {{1}, {3}, {1, 4}, {0.5, 0.1, 0.2, 0.4}, {}}}},
      // classes that were predicted, by number
      {"I", {{{4}, {0, 1, 2, 2}, {4}, {0, 2, 2, 1}, {}}, {{1}, {1}, {1}, {1}, {}}}},
      // several labels of an example at once
      {"L",
       {{{2, 3}, {0, 1, 1, 1, 0, 0}, {2, 3}, {0.2, 0.7, 0.4, 0.9, 0.6, 0.1}, {}},
        {{1, 3}, {1, 1, 0}, {1, 3}, {0.3, 0.8, 0.6}, {}}}},
      {"-", {{{2}, {0, 1}, {2}, {0.2, 0.7}, {}}}},  // never added: what is left is the result of nothing
      // values that are averaged, weights
      {"V", {{{3}, {1, 2, 3}, {3}, {1, 2, 3}, {1, 0, 2}}, {{1}, {10}, {1}, {10}, {0.5}}}},
      // binary labels, logits
      {"Z", {{{4}, {0, 1, 1, 0}, {4}, {-1, 2, 0.5, 0.8}, {}}, {{2}, {1, 0}, {2}, {3, -0.2}, {}}}},
  };
  return all.at(name);
}

std::vector<int64_t> integers(const Arguments& a, const std::string& name) {
  return a.count(name) ? golden::integers(a.at(name)) : std::vector<int64_t>();
}
Numbers thresholds(const Arguments& a) {
  return a.count("thresholds") ? golden::listed(a.at("thresholds")) : Numbers();
}
std::string word(const Arguments& a, const std::string& name, const std::string& missing) {
  return !a.count(name) ? missing : a.at(name) == "None" ? "" : a.at(name);
}
std::optional<int64_t> whole(const Arguments& a, const std::string& name) {
  return a.count(name) ? std::optional(static_cast<int64_t>(number(a, name, 0))) : std::nullopt;
}
std::optional<double> real(const Arguments& a, const std::string& name) {
  return a.count(name) ? std::optional(number(a, name, 0)) : std::nullopt;
}

using Make = std::function<Metric(const Arguments&)>;

std::map<std::string, Make> class_makers() {
  const auto iou = [](const Arguments& a) {
    return IoUOptions{.num_classes = static_cast<int64_t>(number(a, "num_classes", 0)),
                      .target_class_ids = integers(a, "target_class_ids")};
  };
  const auto r2 = [](const Arguments& a) {
    return R2Score({.class_aggregation = word(a, "class_aggregation", "uniform_average")});
  };
  return {
      {"R2Score", r2},
      {"F1Score",
       [](const Arguments& a) {
         return F1Score({.average = word(a, "average", ""), .threshold = real(a, "threshold")});
       }},
      {"FBetaScore",
       [](const Arguments& a) {
         return FBetaScore(
             {.average = word(a, "average", ""), .beta = number(a, "beta", 1), .threshold = real(a, "threshold")});
       }},
      {"IoU", [=](const Arguments& a) { return IoU(iou(a)); }},
      {"MeanIoU", [=](const Arguments& a) { return MeanIoU(iou(a)); }},
      {"BinaryAccuracy", [](const Arguments& a) { return BinaryAccuracy({.threshold = number(a, "threshold", 0.5)}); }},
      {"TopKCategoricalAccuracy",
       [](const Arguments& a) { return TopKCategoricalAccuracy({.k = whole(a, "k").value_or(5)}); }},
      {"SparseTopKCategoricalAccuracy",
       [](const Arguments& a) { return SparseTopKCategoricalAccuracy({.k = whole(a, "k").value_or(5)}); }}};
}

std::map<std::string, Make> threshold_makers() {
  const auto shares = [](const Arguments& a) {
    return PrecisionOptions{.thresholds = thresholds(a), .top_k = whole(a, "top_k"), .class_id = whole(a, "class_id")};
  };
  const auto auc = [](const Arguments& a) {
    return AUC({.num_thresholds = static_cast<int64_t>(number(a, "num_thresholds", 200)),
                .curve = word(a, "curve", "ROC"),
                .summation_method = word(a, "summation_method", "interpolation"),
                .thresholds = thresholds(a),
                .multi_label = flag(a, "multi_label"),
                .from_logits = flag(a, "from_logits")});
  };
  const auto at = [](const Arguments& a) { return number(a, "0", 0); };
  return {{"Precision", [=](const Arguments& a) { return Precision(shares(a)); }},
          {"Recall", [=](const Arguments& a) { return Recall(shares(a)); }},
          {"PrecisionAtRecall", [=](const Arguments& a) { return PrecisionAtRecall(at(a)); }},
          {"RecallAtPrecision", [=](const Arguments& a) { return RecallAtPrecision(at(a)); }},
          {"SensitivityAtSpecificity", [=](const Arguments& a) { return SensitivityAtSpecificity(at(a)); }},
          {"SpecificityAtSensitivity", [=](const Arguments& a) { return SpecificityAtSensitivity(at(a)); }},
          {"AUC", auc}};
}

LossOptions smoothed(const Arguments& a) {
  return {.from_logits = flag(a, "from_logits"), .label_smoothing = number(a, "label_smoothing", 0)};
}

Metric metric_of(const std::string& name, const Arguments& a) {
  static const std::map<std::string, Make> classes = class_makers(), by_threshold = threshold_makers();
  if (const auto it = classes.find(name); it != classes.end()) return it->second(a);
  if (const auto it = by_threshold.find(name); it != by_threshold.end()) return it->second(a);
  if (name == "Mean") return {"mean", [](Tensor y, Tensor, Tensor w) { return mean(y, w); }};
  if (name == "Sum") return {"sum", [](Tensor y, Tensor, Tensor w) { return sum(y, w); }};
  if (name == "Accuracy") return Accuracy();
  if (name == "BinaryIoU") return BinaryIoU();
  if (name == "BinaryCrossentropy") return BinaryCrossentropy(smoothed(a));
  if (name == "CategoricalCrossentropy") return CategoricalCrossentropy(smoothed(a));
  EXPECT_TRUE(a.empty()) << name;
  return Metric(name);
}

// What a batch adds to a metric.
MetricOp::Sums sums(const MetricBatch& b, const Metric& metric, bool weighted, MetricOp& op) {
  Graph graph;
  const bool sparse = b.labels_shape.rank() < b.scores_shape.rank();
  const Tensor y = feed(graph, "y", b.labels_shape, sparse ? DType::kI64 : DType::kF32);
  const Tensor p = feed(graph, "p", b.scores_shape);
  const Tensor w = weighted ? feed(graph, "w", {static_cast<int64_t>(b.weights.size())}) : Tensor();
  op = metric(y, p, w);
  for (const Tensor& s : op.sums) EXPECT_EQ(s.dtype(), DType::kF32);
  const auto out = Session(graph, op.sums).run({{"y", b.labels}, {"p", b.scores}, {"w", b.weights}});
  op.sums.clear();
  return out;
}

// Keras takes the mean over the last axis even of a vector: a batch of it is one value. Ours counts its samples.
bool counts_batches(const MetricBatch& b, const std::string& metric) {
  return b.scores_shape.rank() == 1 && (metric == "BinaryCrossentropy" || metric == "Hinge");
}

void add(MetricOp::Sums& total, const MetricOp::Sums& part, double times) {
  if (total.empty()) total.resize(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    total[i].resize(part[i].size());
    for (size_t k = 0; k < part[i].size(); ++k) total[i][k] += times * part[i][k];
  }
}

Numbers result(const golden::Row& row) {
  const Metric metric = metric_of(row.at("metric"), golden::arguments(row.at("arguments")));
  MetricOp::Sums total;
  MetricOp op;
  for (const MetricBatch& b : batches(row.at("input"))) {
    MetricOp::Sums part = sums(b, metric, row.at("weighted") == "yes", op);
    if (counts_batches(b, row.at("metric"))) part = {{part[0][0] / part[1][0]}, {1}};
    add(total, part, row.at("input") == "-" ? 0 : 1);
  }
  return op.values(total);
}

TEST(Metrics, GiveKerasNumbersOverTwoBatches) {
  int tried = 0;
  for (const golden::Row& row : golden::rows("metrics.csv")) {
    SCOPED_TRACE(row.at("input") + " " + row.at("metric") + " " + row.at("arguments") + " " + row.at("weighted"));
    const Numbers actual = result(row), expected = golden::numbers(row.at("result"));
    ++tried;
    if (expected.size() == 1 && std::isnan(expected[0]))
      EXPECT_TRUE(std::isnan(actual.at(0)));
    else
      golden::expect_near(actual, expected, 1e-6);
  }
  EXPECT_EQ(tried, 77);
}

double top_k(const Numbers& scores, double label, int64_t k) {
  Graph graph;
  const int64_t classes = static_cast<int64_t>(scores.size());
  const Tensor y = feed(graph, "y", {1}, DType::kI32), p = feed(graph, "p", {1, classes});
  Session session(graph, {sparse_top_k_categorical_accuracy(y, p, k).sums[0]});
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
  const MetricOp m = mean(v, w);
  const auto results = Session(graph, m.sums).run({{"v", {2, 4, std::nan("")}}, {"w", {1, 1, 0}}});
  EXPECT_EQ(results[0][0], 6);
  EXPECT_EQ(results[1][0], 2);
}

TEST(Metrics, TakeAColumnOfLabels) {
  Graph graph;
  const Tensor y = feed(graph, "y", {2, 1}, DType::kI64), p = feed(graph, "p", {2, 2}), s = feed(graph, "s", {2});
  Session session(graph, {sparse_categorical_accuracy(y, p).sums[0], accuracy(y, argmax(p)).sums[0],
                          binary_accuracy(y, s).sums[0], accuracy(y, y).sums[0]});
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
