// Changes of images whose factor is given: what Keras gives for them (tests/fixtures/numbers.csv), in either direction.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tenon/augmentation.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::feed;
using model_testing::Session;
using Change = std::function<Tensor(Tensor)>;

constexpr int64_t kCopies = 40;
constexpr size_t kElements = 18;

Change hue(const RandomHueOptions& o) {
  return [=](Tensor x) { return random_hue(x, o); };
}
Change saturation(const RandomSaturationOptions& o) {
  return [=](Tensor x) { return random_saturation(x, o); };
}
Change shear(const RandomShearOptions& o) {
  return [=](Tensor x) { return random_shear(x, o); };
}

const std::map<std::string, Change>& changes() {
  constexpr auto kNearest = ResizeMethod::kNearest;
  static const std::map<std::string, Change> all{
      {"RandomHue((0.0, 0.0))", hue({{0, 0}})},
      {"RandomHue((0.4, 0.4))", hue({{0.4, 0.4}})},
      {"RandomHue((1.0, 1.0))", hue({{1, 1}})},
      {"RandomHue((0.4, 0.4), value_range=(0, 1))", hue({{0.4, 0.4}, {0, 1}})},
      {"RandomSaturation((0.0, 0.0), value_range=(0, 1))", saturation({{0, 0}, {0, 1}})},
      {"RandomSaturation((0.3, 0.3), value_range=(0, 1))", saturation({{0.3, 0.3}, {0, 1}})},
      {"RandomSaturation((0.5, 0.5), value_range=(0, 1))", saturation({{0.5, 0.5}, {0, 1}})},
      {"RandomSaturation((0.8, 0.8), value_range=(0, 1))", saturation({{0.8, 0.8}, {0, 1}})},
      {"RandomSaturation((1.0, 1.0), value_range=(0, 1))", saturation({{1, 1}, {0, 1}})},
      {"RandomSaturation((0.3, 0.3))", saturation({{0.3, 0.3}})},
      {"RandomShear((0.0, 0.0), (0.0, 0.0))", shear({})},
      {"RandomShear((0.5, 0.5))", shear({{0.5, 0.5}})},
      {"RandomShear((0.5, 0.5), (0.25, 0.25))", shear({{0.5, 0.5}, {0.25, 0.25}})},
      {"RandomShear((0.0, 0.0), (1.0, 1.0), fill_mode='constant', fill_value=9.0)",
       shear({.y_factor = {1, 1}, .fill_mode = FillMode::kConstant, .fill_value = 9})},
      {"RandomShear((0.6, 0.6), (0.3, 0.3), fill_mode='nearest', interpolation='nearest')",
       shear({{0.6, 0.6}, {0.3, 0.3}, kNearest, FillMode::kNearest})},
  };
  return all;
}

// Copies of the image that the fixture describes, changed.
std::vector<Numbers> changed(const Change& change, double most) {
  Numbers x;
  for (size_t i = 0; i < kCopies * kElements; ++i)
    x.push_back(static_cast<double>(7 * (i % kElements) % 18) / 18 * most);
  Graph graph;
  graph.mode = Mode::kTrain;
  Session session(graph, {change(feed(graph, "x", {kCopies, 2, 3, 3}))});
  const Numbers y = session.run({{"x", x}, {"seed", {1}}, {"global_step", {0}}})[0];
  std::vector<Numbers> images;
  for (size_t i = 0; i < y.size(); i += kElements) images.emplace_back(y.begin() + i, y.begin() + i + kElements);
  return images;
}

bool near(const Numbers& a, const Numbers& b, double tolerance) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= tolerance)) return false;
  return a.size() == b.size();
}

TEST(Augmentation, OfAGivenFactorGivesKerasNumbersInEitherDirection) {
  std::map<std::string, std::vector<golden::Row>> cases;
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv"))
    if (row.at("case").starts_with("Random")) cases[row.at("case")].push_back(row);
  EXPECT_EQ(cases.size(), changes().size());
  for (const auto& [name, rows] : cases) {
    SCOPED_TRACE(name);
    const double most = golden::numbers(rows[0].at("part").substr(5))[0];
    std::vector<int> found(rows.size(), 0);
    for (const Numbers& image : changed(changes().at(name), most)) {
      int fits = 0;
      for (size_t r = 0; r < rows.size(); ++r) {
        const bool is = near(image, golden::numbers(rows[r].at("values")), 2e-6 * most);
        found[r] += is, fits += is;
      }
      EXPECT_EQ(fits, 1);
    }
    for (const int count : found) EXPECT_GT(count, kCopies / 5);
  }
}

TEST(Augmentation, OfAnotherFactorGivesOtherNumbers) {
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv")) {
    if (row.at("case") != "RandomHue((0.4, 0.4))") continue;
    for (const Numbers& image : changed(hue({{0.41, 0.41}}), 255))
      EXPECT_FALSE(near(image, golden::numbers(row.at("values")), 0.1));
  }
}

// Keras lets it grow to the end of value_range, 255, and gives negative colours.
TEST(RandomSaturation, EndsAtPureColours) {
  for (const Numbers& image : changed(saturation({{1, 1}}), 255))
    for (size_t pixel = 0; pixel < kElements; pixel += 3)
      EXPECT_NEAR(*std::min_element(image.begin() + pixel, image.begin() + pixel + 3), 0, 1e-3);
}

TEST(RandomHue, TakesImagesOfThreeChannels) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 4, 1});
  EXPECT_EQ(model_testing::error_of([&] { random_hue(x, {.factor = 0.5}); }),
            "random_hue 'random_hue': input is f32[2,4,4,1], expected 3 channels: red, green, blue");
}

}  // namespace
}  // namespace tenon
