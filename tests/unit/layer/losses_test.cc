// Every loss against tests/golden/losses.csv.
#include "tenon/losses.h"
#include "tenon/gradients.h"

#include <gtest/gtest.h>

#include <set>

#include "op/op.h"
#include "tenon/layers.h"
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

// The batches that the file's first line lists.
struct LossBatch {
  Shape labels_shape;
  Numbers labels;
  Shape prediction_shape;
  Numbers prediction;
};

const Numbers kPlain{0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.25, 0.5, 0.25};
const Numbers kUnnormal{0.2, 0.8, 0.2, 0.3, 0.3, 0.4, 1, 2, 1};
const Numbers kLogits{1, 2, 0.5, -1, 0, 3, 0, 4, -2};
const Numbers kOneHot{0, 1, 0, 0, 0, 1, 1, 0, 0};

const LossBatch& batch(const std::string& name) {
  static const std::map<std::string, LossBatch> all{
      {"real", {{3, 2}, {0, 1, 2, -3, 0.5, 4}, {3, 2}, {0.5, 0.5, 2, -1, -0.5, 6}}},
      {"probabilities", {{3, 2}, {0, 1, 1, 0, 1, 1}, {3, 2}, {0.2, 0.7, 0.6, 0.4, 0.9, 0.05}}},
      {"binary_logits", {{3, 2}, {0, 1, 1, 0, 1, 1}, {3, 2}, {-1, 2, 0.5, -0.5, 3, -2}}},
      {"one_hot", {{3, 3}, kOneHot, {3, 3}, kPlain}},
      {"one_hot_unnormalized", {{3, 3}, kOneHot, {3, 3}, kUnnormal}},
      {"one_hot_logits", {{3, 3}, kOneHot, {3, 3}, kLogits}},
      {"sparse", {{3}, {1, 2, 0}, {3, 3}, kPlain}},
      {"sparse_unnormalized", {{3}, {1, 2, 0}, {3, 3}, kUnnormal}},
      {"sparse_logits", {{3}, {1, 2, 0}, {3, 3}, kLogits}},
      {"signs", {{3, 2}, {-1, 1, 1, -1, 1, 1}, {3, 2}, {-1, 2, 0.5, -0.5, 3, -2}}},
      {"positive", {{3, 2}, {0, 1, 2, 3, 0.5, 4}, {3, 2}, {0.5, 0.5, 2, 1, 0.25, 6}}},
      {"certain", {{2, 2}, {0, 1, 1, 0}, {2, 2}, {0, 1, 0, 1}}},
  };
  return all.at(name);
}

using Plain = Tensor (*)(Tensor, Tensor, const LossOptions&);

// The same options of another function.
template <class Options>
Options as(const LossOptions& o) {
  Options out;
  out.sample_weight = o.sample_weight;
  out.reduction = o.reduction;
  return out;
}

FocalOptions focal_of(const Arguments& a, const LossOptions& o) {
  FocalOptions focal = as<FocalOptions>(o);
  focal.from_logits = flag(a, "from_logits");
  focal.apply_class_balancing = flag(a, "apply_class_balancing");
  focal.axis = o.axis;
  return focal;
}
HuberOptions huber_of(const Arguments& a, const LossOptions& o) {
  HuberOptions huber = as<HuberOptions>(o);
  huber.delta = number(a, "delta", 1);
  return huber;
}
// Keras has them the other way round.
OverlapOptions overlap_of(const Arguments& a, const LossOptions& o) {
  OverlapOptions overlap = as<OverlapOptions>(o);
  overlap.alpha = number(a, "beta", 0.5);
  overlap.beta = number(a, "alpha", 0.5);
  return overlap;
}

// A loss of Keras's name; nothing when there is none.
Tensor loss_of(const std::string& name, const Arguments& a, Tensor y, Tensor p, const LossOptions& o) {
  static const std::map<std::string, Plain> plain{
      {"MeanSquaredError", mean_squared_error},
      {"MeanAbsoluteError", mean_absolute_error},
      {"MeanAbsolutePercentageError", mean_absolute_percentage_error},
      {"MeanSquaredLogarithmicError", mean_squared_logarithmic_error},
      {"LogCosh", log_cosh},
      {"CosineSimilarity", cosine_similarity},
      {"Poisson", poisson},
      {"KLDivergence", kl_divergence},
      {"Hinge", hinge},
      {"SquaredHinge", squared_hinge},
      {"CategoricalHinge", categorical_hinge},
      {"BinaryCrossentropy", binary_crossentropy},
      {"CategoricalCrossentropy", categorical_crossentropy},
      {"SparseCategoricalCrossentropy", sparse_categorical_crossentropy},
      {"tf1.losses.softmax_cross_entropy", categorical_crossentropy},
      {"tf1.losses.sparse_softmax_cross_entropy", sparse_categorical_crossentropy},
      {"tf1.losses.sigmoid_cross_entropy", binary_crossentropy},
      {"tf1.losses.mean_squared_error", mean_squared_error},
      {"tf1.losses.absolute_difference", mean_absolute_error},
      {"tf1.losses.log_loss", log_loss},
      {"tf1.losses.hinge_loss", hinge},
  };
  if (const auto it = plain.find(name); it != plain.end()) return it->second(y, p, o);
  if (name == "Huber" || name == "tf1.losses.huber_loss") return huber(y, p, huber_of(a, o));
  if (name == "BinaryFocalCrossentropy") return binary_focal_crossentropy(y, p, focal_of(a, o));
  if (name == "CategoricalFocalCrossentropy") return categorical_focal_crossentropy(y, p, focal_of(a, o));
  if (name == "CategoricalGeneralizedCrossEntropy")
    return categorical_generalized_cross_entropy(y, p, as<GeneralizedOptions>(o));
  if (name == "Dice") return dice(y, p, as<OverlapOptions>(o));
  if (name == "Tversky") return tversky(y, p, overlap_of(a, o));
  ADD_FAILURE() << "no loss " << name;
  return {};
}

Loss object_of(const std::string& name, const Arguments& a, const LossOptions& o) {
  if (name == "Huber") return Huber(huber_of(a, o));
  if (name == "BinaryFocalCrossentropy") return BinaryFocalCrossentropy(focal_of(a, o));
  if (name == "CategoricalFocalCrossentropy") return CategoricalFocalCrossentropy(focal_of(a, o));
  if (name == "CategoricalGeneralizedCrossEntropy")
    return CategoricalGeneralizedCrossEntropy(as<GeneralizedOptions>(o));
  if (name == "Dice") return Dice(as<OverlapOptions>(o));
  if (name == "Tversky") return Tversky(overlap_of(a, o));
  using Maker = Loss (*)(const LossOptions&);
  static const std::map<std::string, Maker> makers{{"MeanSquaredError", MeanSquaredError},
                                                   {"MeanAbsoluteError", MeanAbsoluteError},
                                                   {"MeanAbsolutePercentageError", MeanAbsolutePercentageError},
                                                   {"MeanSquaredLogarithmicError", MeanSquaredLogarithmicError},
                                                   {"LogCosh", LogCosh},
                                                   {"CosineSimilarity", CosineSimilarity},
                                                   {"Poisson", Poisson},
                                                   {"KLDivergence", KLDivergence},
                                                   {"Hinge", Hinge},
                                                   {"SquaredHinge", SquaredHinge},
                                                   {"CategoricalHinge", CategoricalHinge},
                                                   {"BinaryCrossentropy", BinaryCrossentropy},
                                                   {"CategoricalCrossentropy", CategoricalCrossentropy},
                                                   {"SparseCategoricalCrossentropy", SparseCategoricalCrossentropy}};
  const auto it = makers.find(name);
  return it == makers.end() ? Loss() : it->second(o);
}

std::string weights_of(const Arguments& a) {
  for (const char* name : {"sample_weight", "weights"})
    if (a.count(name)) return a.at(name);
  return {};
}

LossOptions options_of(const Arguments& a, Graph& graph) {
  LossOptions o;
  o.from_logits = flag(a, "from_logits");
  o.label_smoothing = number(a, "label_smoothing", 0);
  if (a.count("ignore_class")) o.ignore_class = static_cast<int64_t>(number(a, "ignore_class", 0));
  static const std::map<std::string, Reduction> reductions{
      {"sum_over_batch_size", Reduction::kSumOverBatchSize},
      {"mean", Reduction::kSumOverBatchSize},
      {"sum", Reduction::kSum},
      {"None", Reduction::kNone},
      {"mean_with_sample_weight", Reduction::kMeanWithSampleWeight},
      {"weighted_mean", Reduction::kMeanWithSampleWeight},  // TensorFlow 1's names
      {"weighted_sum_over_batch_size", Reduction::kSumOverBatchSize},
      {"weighted_sum", Reduction::kSum}};
  if (a.count("weights")) o.reduction = Reduction::kSumByNonzeroWeights;
  if (a.count("reduction")) o.reduction = reductions.at(a.at("reduction"));
  if (const std::string weights = weights_of(a); !weights.empty()) {
    const bool nested = weights.rfind("[[", 0) == 0;
    o.sample_weight = feed(graph, "weight", nested ? Shape{3, 1} : Shape{3});
  }
  return o;
}

enum class Way : uint8_t { kFunction, kObject };

// The loss of one row of the file with `reduction`, when given, in place of the row's; nothing where there is no object.
Numbers loss_of(const golden::Row& row, Way way, std::optional<Reduction> reduction) {
  const Arguments a = golden::arguments(row.at("arguments"));
  const LossBatch& b = batch(row.at("input"));
  Graph graph;
  const bool sparse = b.labels_shape.rank() == 1;
  const Tensor y = feed(graph, "y", b.labels_shape, sparse ? DType::kI32 : DType::kF32);
  const Tensor p = feed(graph, "p", b.prediction_shape);
  LossOptions o = options_of(a, graph);
  if (row.at("loss") == "tf1.losses.sigmoid_cross_entropy" || row.at("loss").ends_with("softmax_cross_entropy"))
    o.from_logits = true;
  if (reduction) o.reduction = *reduction;
  Tensor loss;
  if (way == Way::kFunction) {
    loss = loss_of(row.at("loss"), a, y, p, o);
  } else {
    const Tensor weight = std::exchange(o.sample_weight, {});
    const Loss object = object_of(row.at("loss"), a, o);
    if (!object) return {};
    loss = object(y, p, weight);
  }
  EXPECT_EQ(loss.dtype(), DType::kF32);
  model_testing::Feeds feeds{{"y", b.labels}, {"p", b.prediction}};
  if (o.sample_weight || !weights_of(a).empty()) feeds["weight"] = golden::listed(weights_of(a));
  return Session(graph, {loss}).run(feeds)[0];
}

// The same with samples along the last axis and what each has along the first.
Numbers turned_loss_of(const golden::Row& row) {
  const Arguments a = golden::arguments(row.at("arguments"));
  const LossBatch& b = batch(row.at("input"));
  Graph graph;
  const bool sparse = b.labels_shape.rank() == 1;
  const Tensor y = feed(graph, "y", b.labels_shape, sparse ? DType::kI32 : DType::kF32);
  const Tensor p = transpose(feed(graph, "p", b.prediction_shape), {1, 0});
  LossOptions o = options_of(a, graph);
  o.axis = 0;
  Session session(graph, {loss_of(row.at("loss"), a, sparse ? y : transpose(y, {1, 0}), p, o)});
  model_testing::Feeds feeds{{"y", b.labels}, {"p", b.prediction}};
  if (o.sample_weight) feeds["weight"] = golden::listed(weights_of(a));
  return session.run(feeds)[0];
}

TEST(Losses, TakeTheirAxisWhereItIs) {
  const std::set<std::string> with_axis{
      "BinaryCrossentropy",           "BinaryFocalCrossentropy",       "CategoricalCrossentropy",
      "CategoricalFocalCrossentropy", "SparseCategoricalCrossentropy", "CosineSimilarity"};
  int tried = 0;
  for (const golden::Row& row : golden::rows("losses.csv")) {
    if (!with_axis.count(row.at("loss"))) continue;
    SCOPED_TRACE(row.at("input") + " " + row.at("loss") + " " + row.at("arguments"));
    golden::expect_near(turned_loss_of(row), golden::numbers(row.at("value")), 1e-6);
    ++tried;
  }
  EXPECT_EQ(tried, 21);
}

TEST(CategoricalCrossentropy, UsesTheLogitsOfASoftmaxAlongItsAxis) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2, 1}), y = feed(graph, "y", {1, 2, 1});
  Session session(graph, {categorical_crossentropy(y, softmax(x, 1), {.axis = 1})});
  golden::expect_near(session.run({{"x", {200, 0}}, {"y", {0, 1}}})[0], {200}, 1e-6);
}

TEST(Losses, GiveKerasNumbers) {
  int tried = 0, objects = 0;
  for (const golden::Row& row : golden::rows("losses.csv")) {
    SCOPED_TRACE(row.at("input") + " " + row.at("loss") + " " + row.at("arguments"));
    const Numbers expected = golden::numbers(row.at("value"));
    golden::expect_near(loss_of(row, Way::kFunction, {}), expected, 1e-6);
    if (const Numbers value = loss_of(row, Way::kObject, {}); !value.empty()) {
      golden::expect_near(value, expected, 1e-6);
      ++objects;
    }
    const auto each = row.find("per_sample");
    if (each != row.end() && each->second.find(' ') != std::string::npos)
      golden::expect_near(loss_of(row, Way::kFunction, Reduction::kNone), golden::numbers(each->second), 1e-6);
    ++tried;
  }
  EXPECT_EQ(tried, 62);
  EXPECT_EQ(objects, 46);
}

// The gradient of each loss by the prediction, by central differences of the f64 graph.
TEST(Losses, HaveTheGradientOfTheirValue) {
  for (const golden::Row& row : golden::rows("losses.csv")) {
    const Arguments a = golden::arguments(row.at("arguments"));
    if (a.count("reduction") || !weights_of(a).empty()) continue;
    if (row.at("input") == "certain" || row.at("loss") == "MeanAbsolutePercentageError") continue;  // clipped; huge
    if (row.at("input") == "real" && row.at("loss") == "MeanSquaredLogarithmicError") continue;     // clipped
    SCOPED_TRACE(row.at("input") + " " + row.at("loss") + " " + row.at("arguments"));
    const LossBatch& b = batch(row.at("input"));
    Numbers prediction = b.prediction;
    for (size_t i = 0; i < prediction.size(); ++i)
      prediction[i] += 0.003 * static_cast<double>(i + 1);  // off the kinks
    Graph graph;
    const bool sparse = b.labels_shape.rank() == 1;
    const Tensor y = feed(graph, "y", b.labels_shape, sparse ? DType::kI32 : DType::kF64);
    const Tensor p = feed(graph, "p", b.prediction_shape, DType::kF64);
    LossOptions o = options_of(a, graph);
    o.reduction = Reduction::kNone;
    // the per-sample losses are f32: differences of a batch of one would drown in their rounding
    const Tensor loss = reduce_sum(loss_of(row.at("loss"), a, y, p, o));
    Session session(graph, {loss, gradients(loss, {p})[0]});
    const Numbers gradient = session.run({{"y", b.labels}, {"p", prediction}})[1];
    for (size_t i = 0; i < prediction.size(); ++i) {
      const double step = 1e-3;
      Numbers up = prediction, down = prediction;
      up[i] += step, down[i] -= step;
      const double difference =
          session.run({{"y", b.labels}, {"p", up}})[0][0] - session.run({{"y", b.labels}, {"p", down}})[0][0];
      EXPECT_NEAR(gradient[i], difference / (2 * step), 2e-3 * std::max(1.0, std::fabs(gradient[i]))) << i;
    }
  }
}

TEST(SparseCategoricalCrossentropy, TakesIndicesAndAColumn) {
  Numbers values;
  for (const Shape& shape : {Shape{3}, Shape{3, 1}}) {
    Graph graph;
    const Tensor y = feed(graph, "y", shape, DType::kI64), x = feed(graph, "x", {3, 3});
    Session session(graph, {sparse_categorical_crossentropy(y, x, {.from_logits = true})});
    values.push_back(session.run({{"x", kLogits}, {"y", {1, 2, 0}}})[0][0]);
  }
  golden::expect_near(values, {1.51694453, 1.51694453}, 1e-6);
}

TEST(CategoricalCrossentropy, UsesTheLogitsOfASoftmax) {
  // the probability of the label underflows: from probabilities the loss would be -log(1e-7) = 16.1
  for (bool sparse : {false, true}) {
    Graph graph;
    const Tensor x = feed(graph, "x", {1, 2});
    const Tensor y = sparse ? feed(graph, "y", {1}, DType::kI32) : feed(graph, "y", {1, 2});
    const Tensor p = softmax(x);
    Session session(graph, {sparse ? sparse_categorical_crossentropy(y, p) : categorical_crossentropy(y, p)});
    golden::expect_near(session.run({{"x", {200, 0}}, {"y", sparse ? Numbers{1} : Numbers{0, 1}}})[0], {200}, 1e-6);
  }
}

TEST(BinaryCrossentropy, UsesTheLogitsOfASigmoid) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 1}), y = feed(graph, "y", {1, 1});
  Session session(graph, {binary_crossentropy(y, sigmoid(x))});
  golden::expect_near(session.run({{"x", {200}}, {"y", {0}}})[0], {200}, 1e-6);
}

TEST(Losses, WithZeroWeightsAreZeroAndNotNaN) {
  Graph graph;
  const Tensor p = feed(graph, "p", {2, 2}), y = feed(graph, "y", {2, 2}), w = feed(graph, "w", {2});
  const LossOptions o{.sample_weight = w, .reduction = Reduction::kMeanWithSampleWeight};
  Session session(graph, {mean_squared_error(y, p, o)});
  EXPECT_EQ(session.run({{"p", {1, 2, 3, 4}}, {"y", {0, 0, 0, 0}}, {"w", {0, 0}}})[0][0], 0);
}

TEST(Losses, WeighSamplesOfSequencesByTheirFirstAxis) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 2, 2}), y = feed(graph, "y", {2, 2}, DType::kI32), w = feed(graph, "w", {2});
  Session session(graph, {sparse_categorical_crossentropy(
                             y, x, {.from_logits = true, .sample_weight = w, .reduction = Reduction::kSum})});
  // every position costs log 2; the second sequence has weight 3
  golden::expect_near(session.run({{"x", Numbers(8, 0)}, {"y", {0, 1, 1, 0}}, {"w", {1, 3}}})[0], {8 * std::log(2.0)},
                      1e-6);
}

TEST(Losses, OfSixteenBitPredictionsAreSummedInF32) {
  Graph graph;
  const Tensor p = feed(graph, "p", {1000}, DType::kBF16), y = feed(graph, "y", {1000}, DType::kBF16);
  Session session(graph, {mean_absolute_error(y, p)});
  EXPECT_EQ(session.run({{"p", Numbers(1000, 1)}, {"y", Numbers(1000, 0)}})[0][0], 1);
}

struct Inputs {
  Graph graph;
  Tensor f32(const Shape& s) { return feed(graph, "x", s); }
  Tensor i32(const Shape& s) { return feed(graph, "i", s, DType::kI32); }
};

// Keras 3.15 of the same floats: keras.losses.categorical_generalized_cross_entropy(y, p, 0.5).
TEST(Losses, GeneralizedCrossEntropyTakesClassesThatAreFloats) {
  Graph graph;
  const Tensor y = feed(graph, "y", {3}), p = feed(graph, "p", {3, 3});
  Session session(graph, {categorical_generalized_cross_entropy(y, p, {.q = 0.5, .reduction = Reduction::kNone})});
  const Numbers found = session.run({{"y", {0, 2, 1}}, {"p", {0.7, 0.2, 0.1, 0.1, 0.3, 0.6, 0.3, 0.4, 0.3}}})[0];
  golden::expect_near(found, {0.32667994, 0.45080662, 0.73508894}, 1e-6);
}

TEST(Losses, SayWhatDoesNotFit) {
  Inputs in;
  EXPECT_EQ(error_of([&] {
              categorical_crossentropy(in.f32({2, 4}), in.f32({2, 4}), {.axis = 2});
            }),
            "categorical_crossentropy: axis is 2, expected one of f32[2,4]");
  EXPECT_EQ(error_of([&] {
              mean_squared_error(in.f32({2, 4}), in.f32({2, 4}), {.axis = 1});
            }),
            "mean_squared_error: axis is for cross entropies and cosine_similarity");
  EXPECT_EQ(error_of([&] {
              mean_squared_error(in.f32({2, 4}), in.f32({2, 3}));
            }),
            "mean_squared_error: prediction is f32[2,3], target f32[2,4], expected one shape");
  EXPECT_EQ(error_of([&] {
              mean_squared_error(in.f32({2, 4}), {});
            }),
            "mean_squared_error: prediction or target was never set");
  EXPECT_EQ(error_of([&] {
              sparse_categorical_crossentropy(in.i32({3}), in.f32({2, 3}));
            }),
            "sparse_categorical_crossentropy: labels are i32[3], expected shape [2] for scores f32[2,3]");
  EXPECT_EQ(error_of([&] {
              categorical_crossentropy(in.f32({2}), in.f32({2, 3}));
            }),
            "categorical_crossentropy: labels are f32[2], expected shape [2,3] for scores f32[2,3]");
  EXPECT_EQ(error_of([&] {
              sparse_categorical_crossentropy(cast(in.f32({2}), DType::kBF16), in.f32({2, 3}));
            }),
            "sparse_categorical_crossentropy: labels are bf16[2], expected i32, i64 or f32");
  EXPECT_EQ(error_of([&] { sparse_categorical_crossentropy(in.i32({2}), in.f32({2})); }),
            "sparse_categorical_crossentropy: scores are f32[2], expected a float [batch, .., classes]");
  EXPECT_EQ(error_of([&] {
              categorical_crossentropy(in.f32({2, 3}), in.f32({2, 3}), {.label_smoothing = 2});
            }),
            "categorical_crossentropy: label_smoothing is 2, expected 0 to 1");
  EXPECT_EQ(error_of([&] {
              huber(in.f32({2, 3}), in.f32({2, 3}), {.delta = 0});
            }),
            "huber: delta is 0, expected more than 0");
  EXPECT_EQ(error_of([&] {
              hinge(in.f32({2, 3}), in.f32({2, 3}), {.label_smoothing = 0.1});
            }),
            "hinge: label_smoothing is 0.1, expected none");
  EXPECT_EQ(error_of([&] {
              mean_squared_error(in.f32({2, 3}), in.f32({2, 3}), {.sample_weight = in.f32({3})});
            }),
            "mean_squared_error: sample_weight is f32[3], expected one number for each of [2]");
}

}  // namespace
}  // namespace tenon
