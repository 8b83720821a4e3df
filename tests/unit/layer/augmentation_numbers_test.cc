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
template <class Options, Tensor (*function)(Tensor, const Options&)>
Change changing(const Options& o) {
  return [=](Tensor x) { return function(x, o); };
}
constexpr auto degeneration = changing<RandomColorDegenerationOptions, random_color_degeneration>;
constexpr auto inversion = changing<RandomInvertOptions, random_invert>;
constexpr auto sharpness = changing<RandomSharpnessOptions, random_sharpness>;
constexpr auto posterization = changing<RandomPosterizationOptions, random_posterization>;
constexpr auto solarized = changing<SolarizationOptions, solarization>;
constexpr auto stretched = changing<AutoContrastOptions, auto_contrast>;
constexpr auto equalized = changing<EqualizationOptions, equalization>;
constexpr auto one_of_all = changing<RandAugmentOptions, rand_augment>;

const std::map<std::string, Change>& changes() {
  constexpr auto kNearest = ResizeMethod::kNearest;
  static const std::map<std::string, Change> all{
      {"RandomColorDegeneration((0.0, 0.0))", degeneration({{0, 0}})},
      {"RandomColorDegeneration((0.4, 0.4))", degeneration({{0.4, 0.4}})},
      {"RandomColorDegeneration((1.0, 1.0), value_range=(0, 1))", degeneration({{1, 1}, {0, 1}})},
      {"RandomGrayscale(0.5)", changing<RandomGrayscaleOptions, random_grayscale>({0.5})},
      {"RandomInvert((0.5, 0.5))", inversion({{0.5, 0.5}})},
      {"RandomInvert((0.5, 0.5), value_range=(0, 1))", inversion({{0.5, 0.5}, {0, 1}})},
      {"RandomSharpness((0.0, 0.0))", sharpness({{0, 0}})},
      {"RandomSharpness((0.5, 0.5))", sharpness({{0.5, 0.5}})},
      {"RandomSharpness((0.9, 0.9), value_range=(0, 1))", sharpness({{0.9, 0.9}, {0, 1}})},
      {"RandomPosterization((1, 1))", posterization({{1, 1}})},
      {"RandomPosterization((3, 3))", posterization({{3, 3}})},
      {"RandomPosterization((8, 8))", posterization({{8, 8}})},
      {"RandomPosterization((3, 3), value_range=(0, 1))", posterization({{3, 3}, {0, 1}})},
      {"RandomPosterization((2, 4))", posterization({{2, 4}})},
      {"Solarization()", solarized({})},
      {"Solarization(value_range=(0, 1))", solarized({.value_range = {0, 1}})},
      {"AutoContrast()", stretched({})},
      {"AutoContrast(value_range=(0, 1))", stretched({.value_range = {0, 1}})},
      {"Equalization()", equalized({})},
      {"Equalization(value_range=(0, 1))", equalized({.value_range = {0, 1}})},
      {"Equalization(bins=4)", equalized({.bins = 4})},
      {"RandAugment(num_ops=1, factor=(0.0, 0.0))", one_of_all({.num_ops = 1, .factor = {0, 0}})},
      {"RandAugment(num_ops=1, factor=(0.0, 0.0), value_range=(0, 1))",
       one_of_all({.value_range = {0, 1}, .num_ops = 1, .factor = {0, 0}})},
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
    if (row.at("part").find(" of ") == 1) cases[row.at("case")].push_back(row);
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
    for (const int count : found) EXPECT_GT(count, rows.size() <= 2 ? kCopies / 5 : 0);
  }
}

TEST(Augmentation, OfAnotherFactorGivesOtherNumbers) {
  for (const golden::Row& row : golden::rows("../fixtures/numbers.csv")) {
    if (row.at("case") != "RandomHue((0.4, 0.4))") continue;
    for (const Numbers& image : changed(hue({{0.41, 0.41}}), 255))
      EXPECT_FALSE(near(image, golden::numbers(row.at("values")), 0.1));
  }
}

// The draws of Keras's are of the pixels 0 to 255, so its fixtures have none: 60 is added, and what is not below 100 inverted.
TEST(Solarization, AddsAndInvertsAboveTheThreshold) {
  const SolarizationOptions o{{60.0 / 255, 60.0 / 255}, {100.0 / 255, 100.0 / 255}};
  const Numbers image = changed(solarized(o), 180)[0];
  for (size_t i = 0; i < kElements; ++i) {
    const double pixel = static_cast<double>(7 * i % 18) * 10 + 60;
    EXPECT_NEAR(image[i], pixel < 99.9 ? pixel : 255 - pixel, 1e-3);
  }
}

// An image of its own beside another one: what the other one holds makes no difference.
TEST(Equalization, CountsThePixelsOfEachImage) {
  Graph graph;
  graph.mode = Mode::kTrain;
  Session session(graph, {equalization(feed(graph, "x", {3, 1, 4, 1}))});
  const Numbers y = session.run({{"x", {10, 10, 20, 30, 7, 7, 7, 7, 0, 1, 2, 255}}})[0];
  EXPECT_EQ(y, (Numbers{0, 0, 128, 255, 7, 7, 7, 7, 0, 85, 170, 255}));
}

TEST(AutoContrast, StretchesInAllModesAndLeavesASingleValue) {
  Graph graph;
  graph.mode = Mode::kPredict;
  Session session(graph, {auto_contrast(feed(graph, "x", {2, 1, 2, 1}))});
  EXPECT_EQ(session.run({{"x", {10, 20, 7, 7}}})[0], (Numbers{0, 255, 7, 7}));
}

TEST(RandAugment, ChangesNothingButWhileTraining) {
  Graph graph;
  graph.mode = Mode::kPredict;
  const Tensor x = feed(graph, "x", {2, 4, 4, 3});
  Session session(graph, {rand_augment(x)});
  Numbers pixels(96, 3);
  pixels[5] = 200;
  EXPECT_EQ(session.run({{"x", pixels}})[0], pixels);
}

TEST(RandAugment, SaysWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 4, 3});
  EXPECT_EQ(model_testing::error_of([&] { rand_augment(x, {.num_ops = 0}); }),
            "rand_augment 'rand_augment': num_ops is 0, expected 1 to 100");
  EXPECT_EQ(model_testing::error_of([&] {
              random_posterization(x, {.factor = {2, 4.5}});
            }),
            "random_posterization 'random_posterization': factor is 4.5, expected whole numbers of bits");
  EXPECT_EQ(model_testing::error_of([&] {
              solarization(x, {.value_range = {1, 1}});
            }),
            "solarization 'solarization': value_range is 1 to 1, expected more than one value");
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
