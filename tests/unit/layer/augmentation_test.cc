// Random changes of images: their ranges, and that nothing changes but while training.
#include "tenon/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;
using Augment = std::function<Tensor(Tensor)>;

constexpr int64_t kImages = 400;

// Each image of [kImages, h, w, 1] holds 0, 1, ... , by row.
Numbers counted_images(int64_t h, int64_t w) {
  Numbers out;
  for (int64_t i = 0; i < kImages * h * w; ++i) out.push_back(static_cast<double>(i % (h * w)));
  return out;
}

Numbers augmented(const Augment& layer, int64_t h, int64_t w, Mode mode = Mode::kTrain, double step = 0) {
  Graph graph;
  graph.mode = mode;
  Session session(graph, {layer(feed(graph, "x", {kImages, h, w, 1}))});
  return session.run({{"x", counted_images(h, w)}, {"seed", {1}}, {"global_step", {step}}})[0];
}

// Images of three channels, and the second of them.
Tensor coloured(Tensor x) { return concat({zeros_like(x), x, full_like(x, 6)}, 3); }
Tensor grey(Tensor x) { return slice(x, {0, 0, 0, 1}, {x.dim(0), x.dim(1), x.dim(2), 2}, {}); }

const std::map<std::string, Augment>& all() {
  static const std::map<std::string, Augment> layers{
      {"flip", [](Tensor x) { return random_flip(x); }},
      {"rotation", [](Tensor x) { return random_rotation(x, {.factor = 0.2}); }},
      {"zoom", [](Tensor x) { return random_zoom(x, {.height_factor = 0.5}); }},
      {"translation", [](Tensor x) { return random_translation(x, {.height_factor = 0.3, .width_factor = 0.3}); }},
      {"shear", [](Tensor x) { return random_shear(x, {.x_factor = 0.3}); }},
      {"hue", [](Tensor x) { return grey(random_hue(coloured(x), {.factor = 0.5})); }},
      {"saturation", [](Tensor x) { return grey(random_saturation(coloured(x), {.factor = 0.5})); }},
      {"erasing",
       [](Tensor x) {
         return random_erasing(x, {.factor = {1, 1}, .scale = {0.3, 0.6}});
       }},
      {"contrast", [](Tensor x) { return random_contrast(x, {.factor = 0.5}); }},
      {"brightness", [](Tensor x) { return random_brightness(x, {.factor = 0.2}); }},
  };
  return layers;
}

TEST(Augmentation, PassesImagesAsTheyAreUnlessTraining) {
  for (const auto& [name, layer] : all())
    for (const Mode mode : {Mode::kEval, Mode::kPredict})
      EXPECT_EQ(augmented(layer, 2, 3, mode), counted_images(2, 3)) << name;
}

TEST(Augmentation, DrawsForEachImageAndStep) {
  for (const auto& [name, layer] : all()) {
    SCOPED_TRACE(name);
    const Numbers y = augmented(layer, 2, 3);
    std::set<Numbers> images;
    for (size_t i = 0; i < y.size(); i += 6) images.insert(Numbers(y.begin() + i, y.begin() + i + 6));
    EXPECT_GE(images.size(), name == "flip" ? 4u : 150u);
    EXPECT_EQ(augmented(layer, 2, 3), y);
    EXPECT_NE(augmented(layer, 2, 3, Mode::kTrain, 1), y);
  }
}

TEST(RandomFlip, FlipsHalfOfTheImagesAlongEachAxisApart) {
  const Numbers y = augmented([](Tensor x) { return random_flip(x); }, 2, 2);
  std::map<Numbers, int> seen;
  for (size_t i = 0; i < y.size(); i += 4) ++seen[Numbers(y.begin() + i, y.begin() + i + 4)];
  const std::set<Numbers> possible{{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  for (const auto& [image, count] : seen) {
    EXPECT_TRUE(possible.count(image));
    EXPECT_NEAR(count, kImages / 4, 4 * std::sqrt(kImages * 0.25 * 0.75));
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(RandomFlip, FlipsOnlyTheAxisThatIsAskedFor) {
  const auto first_rows = [](FlipMode mode) {
    std::set<double> out;
    const Numbers y = augmented([=](Tensor x) { return random_flip(x, {.mode = mode}); }, 2, 2);
    for (size_t i = 0; i < y.size(); i += 4) out.insert(y[i]);
    return out;
  };
  EXPECT_EQ(first_rows(FlipMode::kHorizontal), (std::set<double>{0, 1}));
  EXPECT_EQ(first_rows(FlipMode::kVertical), (std::set<double>{0, 2}));
}

// The least and the greatest of what images of one pixel or more become.
std::pair<double, double> ends(const Numbers& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

TEST(RandomBrightness, AddsItsShareOfTheRange) {
  const auto [low, high] = ends(augmented(
      [](Tensor x) {
        return random_brightness(x + 100.0, {.factor = {-0.1, 0.2}, .value_range = {0, 200}});
      },
      1, 1));
  EXPECT_GE(low, 80);
  EXPECT_LE(high, 140);
  EXPECT_LT(low, 82);
  EXPECT_GT(high, 138);
}

TEST(RandomBrightness, StaysWithinTheRange) {
  const auto [low, high] = ends(augmented(
      [](Tensor x) {
        return random_brightness(x, {.factor = 0.5, .value_range = {0, 3}});
      },
      2, 2));
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, 3);
}

TEST(RandomContrast, MovesAwayFromTheMeanOrTowardsIt) {
  // Pixels 0 and 1 with mean 0.5: their distance is u.
  const auto distances = [](Factor factor) {
    const Numbers y = augmented([=](Tensor x) { return random_contrast(x + 100.0, {.factor = factor}); }, 1, 2);
    Numbers out;
    for (size_t i = 0; i < y.size(); i += 2) {
      EXPECT_NEAR(y[i] + y[i + 1], 201, 1e-4);
      out.push_back(y[i + 1] - y[i]);
    }
    return ends(out);
  };
  const auto [low, high] = distances(0.5);
  EXPECT_GE(low, 0.5 - 1e-4);
  EXPECT_LE(high, 1.5 + 1e-4);
  EXPECT_LT(low, 0.52);
  EXPECT_GT(high, 1.48);
  const auto [lower, upper] = distances({0.2, 0.4});
  EXPECT_GE(lower, 0.8 - 1e-4);
  EXPECT_LE(upper, 1.4 + 1e-4);
}

// The rows, columns and number of pixels that are `mark`, in each image of h x w.
struct Erased {
  std::set<size_t> rows, columns;
  size_t pixels = 0;
};
std::vector<Erased> erased(const Numbers& y, size_t h, size_t w, double mark) {
  std::vector<Erased> out(y.size() / (h * w));
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] != mark) continue;
    Erased& e = out[i / (h * w)];
    e.rows.insert(i % (h * w) / w), e.columns.insert(i % w), ++e.pixels;
  }
  return out;
}

Augment erasing(const RandomErasingOptions& o) {
  return [=](Tensor x) { return random_erasing(x, o); };
}

TEST(RandomErasing, FillsOneRectangleOfTheSizeThatIsAskedFor) {
  // The square root of a quarter: half of 6 rows and half of 8 columns.
  const Numbers y = augmented(erasing({.factor = {1, 1}, .scale = {0.25, 0.25}, .fill_value = {200}}), 6, 8);
  std::set<std::pair<size_t, size_t>> corners;
  for (const Erased& e : erased(y, 6, 8, 200)) {
    EXPECT_EQ(e.pixels, 12u);
    EXPECT_EQ(e.rows.size(), 3u);
    EXPECT_EQ(e.columns.size(), 4u);
    EXPECT_EQ(*e.rows.rbegin() - *e.rows.begin(), 2u);
    EXPECT_EQ(*e.columns.rbegin() - *e.columns.begin(), 3u);
    corners.insert({*e.rows.begin(), *e.columns.begin()});
  }
  EXPECT_EQ(corners.size(), 20u);  // 4 x 5: all places
}

TEST(RandomErasing, LeavesWhatIsOutsideAndHasItsProbability) {
  const auto count = [](Factor factor) {
    const Numbers y = augmented(erasing({.factor = factor, .scale = {0.25, 0.25}, .fill_value = {200}}), 6, 8);
    const Numbers x = counted_images(6, 8);
    int64_t images = 0;
    for (const Erased& e : erased(y, 6, 8, 200)) images += e.pixels > 0;
    for (size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(y[i] == x[i] || y[i] == 200);
    return images;
  };
  EXPECT_EQ(count({0, 0}), 0);
  EXPECT_NEAR(static_cast<double>(count({0.3, 0.3})), 0.3 * kImages, 4 * std::sqrt(kImages * 0.3 * 0.7));
  EXPECT_NEAR(static_cast<double>(count(1)), 0.5 * kImages, 4 * std::sqrt(kImages * 0.25));  // p of [0, 1]
}

TEST(RandomErasing, FillsWithANumberAChannelWithinTheRangeOrWithNoise) {
  const auto filled = [](std::vector<double> fill) {
    return augmented(
        [=](Tensor x) {
          const Tensor two = concat({x, x}, 3);
          return random_erasing(two, {.factor = {1, 1}, .scale = {1, 1}, .fill_value = fill, .value_range = {0, 10}});
        },
        2, 2);
  };
  Numbers expected;
  for (int64_t i = 0; i < kImages * 4; ++i) expected.insert(expected.end(), {3, 10});
  EXPECT_EQ(filled({3, 12}), expected);
  const Numbers noise = filled({});  // normal with deviation 10, kept to [0, 10]: half of it is 0, 16 % are 10
  const auto share = [&](double v) {
    return static_cast<double>(std::count(noise.begin(), noise.end(), v)) / static_cast<double>(noise.size());
  };
  EXPECT_NEAR(share(0), 0.5, 0.04);
  EXPECT_NEAR(share(10), 0.159, 0.03);
}

TEST(RandomCrop, CutsOnePlaceOfABatch) {
  std::set<double> corners;
  for (int step = 0; step < 40; ++step) {
    const Numbers y =
        augmented([](Tensor x) { return random_crop(x, {.height = 2, .width = 3}); }, 4, 5, Mode::kTrain, step);
    const double at = y[0];
    corners.insert(at);
    for (size_t i = 0; i < y.size(); i += 6)
      EXPECT_EQ(Numbers(y.begin() + i, y.begin() + i + 6), (Numbers{at, at + 1, at + 2, at + 5, at + 6, at + 7}));
  }
  EXPECT_EQ(corners, (std::set<double>{0, 1, 2, 5, 6, 7, 10, 11, 12}));
}

TEST(RandomCrop, CutsTheMiddleUnlessTraining) {
  const Numbers y = augmented([](Tensor x) { return random_crop(x, {.height = 2, .width = 3}); }, 4, 5, Mode::kEval);
  EXPECT_EQ(Numbers(y.begin(), y.begin() + 6), (Numbers{6, 7, 8, 11, 12, 13}));
}

TEST(RandomRotation, FillsWithWhatIsAskedFor) {
  const Numbers y = augmented(
      [](Tensor x) {
        return random_rotation(x, {.factor = {0.125, 0.125}, .fill_mode = FillMode::kConstant, .fill_value = 7});
      },
      2, 9);
  EXPECT_EQ(y[0], 7);
}

TEST(Augmentation, SaysWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 4, 3}), flat = feed(graph, "flat", {2, 4});
  EXPECT_EQ(error_of([&] { random_flip(flat); }),
            "random_flip 'random_flip': input is f32[2,4], expected images of rank 4");
  EXPECT_EQ(error_of([&] {
              random_zoom(x, {.height_factor = {0.5, 0.2}, .name = "z"});
            }),
            "random_zoom 'z': height_factor is 0.5 to 0.2, expected two numbers from -1 to 1");
  EXPECT_EQ(error_of([&] { random_shear(x, {.x_factor = 2}); }),
            "random_shear 'random_shear': x_factor is -2 to 2, expected two numbers from -1 to 1");
  EXPECT_EQ(error_of([&] {
              random_erasing(x, {.scale = {-0.5, 0.2}});
            }),
            "random_erasing 'random_erasing': scale is -0.5 to 0.2, expected two numbers from 0 to 1");
  EXPECT_EQ(error_of([&] {
              random_erasing(x, {.fill_value = {1, 2}, .name = "e"});
            }),
            "random_erasing 'e': fill_value has 2 numbers, expected one, or one for each of 3 channels");
  EXPECT_EQ(error_of([&] { random_crop(x, {.height = 0, .width = 2, .name = "c"}); }),
            "random_crop 'c': size is 0x2, expected 1 or more");
}

// As a TPU says it of sizes that are bounded and not fixed.
TEST(Augmentation, ThatChangesSizesIsRefusedWhileTraining) {
  Graph graph;
  const Tensor x = feed(graph, "x", {8, 20, 30, 3});
  EXPECT_EQ(error_of([&] { random_height(x, {.factor = 0.25}); }),
            "random_height 'random_height': Dynamic Spatial Convolution is not supported: lhs shape is f32[8,<=25,30,3], as "
            "its images are of another size in each step; RandomZoom({.height_factor = .., .width_factor = 0}) keeps their "
            "size");
  EXPECT_EQ(error_of([&] { RandomWidth({.factor = {-0.5, 0.1}, .name = "w"})(x); }).find(
                "Dynamic Spatial Convolution is not supported: lhs shape is f32[8,20,<=33,3]") != std::string::npos,
            true);
  EXPECT_EQ(error_of([&] { random_height(x, {.factor = -2}); }).find("Dynamic"), std::string::npos);
  graph.mode = Mode::kEval;
  EXPECT_TRUE(random_height(x, {.factor = 0.25}) == x);
}

}  // namespace
}  // namespace tenon
