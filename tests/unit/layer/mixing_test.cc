// MixUp and CutMix: what is mixed with what, and how much of it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tenon/augmentation.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

constexpr size_t kBatch = 150, kHeight = 4, kWidth = 5, kPixels = kHeight * kWidth;

using Mix = std::function<Tensors(const Tensors&)>;
Mix mixing(const MixUpOptions& o = {}) {
  return [=](const Tensors& xs) { return mix_up(xs, o); };
}
Mix cutting(const CutMixOptions& o = {}) {
  return [=](const Tensors& xs) { return cut_mix(xs, o); };
}

// All pixels of image i are i, and its label is class i.
struct Batch {
  Numbers images, labels;
};
Batch batch() {
  Batch b{{}, Numbers(kBatch * kBatch, 0)};
  for (size_t i = 0; i < kBatch; ++i) {
    b.images.insert(b.images.end(), kPixels, static_cast<double>(i));
    b.labels[i * kBatch + i] = 1;
  }
  return b;
}

Batch mixed(const Mix& mix, Mode mode = Mode::kTrain, double step = 0) {
  Graph graph;
  graph.mode = mode;
  const Tensor x = feed(graph, "x", {kBatch, kHeight, kWidth, 1}), y = feed(graph, "y", {kBatch, kBatch});
  Session session(graph, mix({x, y}));
  const Batch b = batch();
  const auto out = session.run({{"x", b.images}, {"y", b.labels}, {"seed", {1}}, {"global_step", {step}}});
  return {out[0], out[1]};
}

// What an example was mixed with, and how much of itself is left. With itself: all of it.
struct Label {
  size_t other;
  double own;
};
std::vector<Label> labels_of(const Batch& b) {
  std::vector<Label> out;
  for (size_t i = 0; i < kBatch; ++i) {
    Label label{i, b.labels[i * kBatch + i]};
    for (size_t k = 0; k < kBatch; ++k) {
      const double share = b.labels[i * kBatch + k];
      if (share == 0 || k == i) continue;
      EXPECT_EQ(label.other, i) << "a third example is in it";
      label.other = k;
      EXPECT_NEAR(share, 1 - label.own, 1e-6);
    }
    out.push_back(label);
  }
  return out;
}

// ws have the mean and variance of Beta(a, a).
void expect_beta(const Numbers& ws, double a) {
  double mean = 0, square = 0;
  for (const double w : ws) mean += w / static_cast<double>(ws.size());
  for (const double w : ws) square += (w - mean) * (w - mean) / static_cast<double>(ws.size());
  const double variance = 1 / (4 * (2 * a + 1));
  EXPECT_NEAR(mean, 0.5, 4 * std::sqrt(variance / static_cast<double>(ws.size())));
  EXPECT_NEAR(square, variance, 0.1 * variance);
}

TEST(Mixing, PassesExamplesAsTheyAreUnlessTraining) {
  for (const Mix& mix : {mixing(), cutting()}) {
    const Batch y = mixed(mix, Mode::kEval), x = batch();
    EXPECT_EQ(y.images, x.images);
    EXPECT_EQ(y.labels, x.labels);
  }
}

TEST(Mixing, DrawsInEachStep) {
  for (const Mix& mix : {mixing(), cutting()}) {
    const Batch y = mixed(mix);
    EXPECT_EQ(mixed(mix).images, y.images);
    EXPECT_NE(mixed(mix, Mode::kTrain, 1).images, y.images);
  }
}

TEST(MixUp, MixesImagesAsItMixesLabels) {
  const Batch y = mixed(mixing({.alpha = 0.7}));
  const std::vector<Label> labels = labels_of(y);
  for (size_t i = 0; i < kBatch; ++i) {
    const auto [other, own] = labels[i];
    const double expected = own * static_cast<double>(i) + (1 - own) * static_cast<double>(other);
    for (size_t p = 0; p < kPixels; ++p) EXPECT_NEAR(y.images[i * kPixels + p], expected, 1e-3);
  }
}

// With alpha = 1 weights are uniform, and no example is left out by chance as with 0.2, where many weights are near 0 or 1.
TEST(MixUp, TakesEachExampleOnce) {
  std::set<size_t> others;
  for (const Label& label : labels_of(mixed(mixing({.alpha = 1})))) others.insert(label.other);
  EXPECT_EQ(others.size(), kBatch);
}

TEST(MixUp, DrawsWeightsOfTheBetaDistribution) {
  for (const double alpha : {0.2, 1.0, 3.0}) {
    SCOPED_TRACE(alpha);
    Numbers ws;
    for (int step = 0; step < 8; ++step) {
      const std::vector<Label> labels = labels_of(mixed(mixing({.alpha = alpha}), Mode::kTrain, step));
      for (size_t i = 0; i < kBatch; ++i)
        if (labels[i].other != i) ws.push_back(labels[i].own);
    }
    expect_beta(ws, alpha);
  }
}

TEST(CutMix, PastesARectangleAndMixesLabelsByItsPixels) {
  const Batch y = mixed(cutting());
  const std::vector<Label> labels = labels_of(y);
  size_t partly = 0;
  for (size_t i = 0; i < kBatch; ++i) {
    std::set<size_t> rows, columns;
    size_t pasted = 0;
    for (size_t p = 0; p < kPixels; ++p) {
      const double pixel = y.images[i * kPixels + p];
      if (pixel == static_cast<double>(i)) continue;
      EXPECT_EQ(pixel, static_cast<double>(labels[i].other));
      rows.insert(p / kWidth), columns.insert(p % kWidth), ++pasted;
    }
    EXPECT_EQ(pasted, rows.size() * columns.size());
    EXPECT_NEAR(labels[i].own, 1 - static_cast<double>(pasted) / kPixels, 1e-6);
    partly += pasted > 0 && pasted < kPixels;
  }
  EXPECT_GT(partly, kBatch / 4);
}

TEST(CutMix, DrawsAreasAsItsFactorSays) {
  const auto whole = [](Factor factor) {  // images that are left or replaced as a whole
    size_t n = 0;
    for (const Label& label : labels_of(mixed(cutting({.factor = factor})))) n += label.own == 0 || label.own == 1;
    return n;
  };
  EXPECT_EQ(whole({0, 0}), kBatch);        // Beta(1e-6, 1e-6): 0 or 1
  EXPECT_LT(whole({1, 1}), kBatch * 0.4);  // uniform
}

TEST(Mixing, LayersGiveWhatFunctionsGive) {
  const Mix layer = [](const Tensors& xs) { return MixUp({.alpha = 1}).all(xs); };
  const Batch y = mixed(layer), expected = mixed(mixing({.alpha = 1}));
  EXPECT_EQ(y.images, expected.images);
  EXPECT_EQ(y.labels, expected.labels);
}

TEST(Mixing, SaysWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 4, 3}), classes = feed(graph, "y", {2}, DType::kI32);
  EXPECT_EQ(error_of([&] {
              mix_up({x, classes}, {.name = "m"});
            }),
            "mix_up 'm': labels are i32[2], expected floats, 2 examples; classes as one_hot() has them");
  EXPECT_EQ(error_of([&] { mix_up(x, {.alpha = 0, .name = "a"}); }), "mix_up 'a': alpha is 0, expected more than 0");
  EXPECT_EQ(error_of([&] {
              cut_mix(x, {.factor = {0.5, 2}, .name = "c"});
            }),
            "cut_mix 'c': factor is 0.5 to 2, expected two numbers from 0 to 1");
}

}  // namespace
}  // namespace tenon
