// What maps do to images: shapes, values by hand, what is drawn, and that a chain of them as one pass gives what each by itself gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "data/image/image.h"
#include "tenon/dataset.h"
#include "tenon/element_maps.h"
#include "unit/data/chain_testing.h"
#include "unit/data/image_testing.h"
#include "unit/data/jpeg_writer.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::vector<float> values(const Array& image) { return image.to<float>(); }

Element file_element(const std::string& bytes) { return {{"data", text_array(bytes)}, {"path", text_array("a.jpg")}}; }

std::string jpeg(int width, int height) {
  return *encode_jpeg(smooth_pixels(width, height, 3).data(), width, height, 3, 95);
}

std::vector<uint8_t> decoded(const std::string& bytes) {
  Image image;
  check(tenon::decode_image(bytes, DecodeOptions(), &image));
  image.pixels.resize(image.bytes());
  return image.pixels;
}

TEST(ImageMaps, ReadingGivesThePixelsOfTheFileAndLeavesItsBytesOut) {
  const std::string bytes = jpeg(31, 17);
  Element element = file_element(bytes);
  element["label"] = Array(int32_t{3});
  const Element out = read_image().op()->apply(element, sample_of(0));
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(out.at("label").item(), 3);
  EXPECT_EQ(out.at("image").type().str(), "u8[17,31,3]");
  EXPECT_EQ(out.at("image").to<uint8_t>(), decoded(bytes));
  EXPECT_EQ(changed(rescale(1), out.at("image")).type().str(), "f32[17,31,3]");
}

TEST(ImageMaps, ReadingTakesTheFeatureOrTheFileThatIsNamed) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a.jpg", jpeg(20, 10));
  const auto type_of = [](const ReadImageOptions& o, const Element& element) {
    return read_image(o).op()->apply(element, sample_of(0)).at("image").type().str();
  };
  EXPECT_EQ(type_of({}, {{"path", text_array(path)}}), "u8[10,20,3]");
  EXPECT_EQ(type_of({.feature = "image/encoded"}, {{"image/encoded", text_array(jpeg(4, 4))}}), "u8[4,4,3]");
  EXPECT_EQ(type_of({.height = 8, .width = 9, .channels = 1}, {{"path", text_array(path)}}), "f32[8,9,1]");
  EXPECT_EQ(type_of({.height = 8, .width = 9, .dtype = DType::kU8}, {{"path", text_array(path)}}), "u8[8,9,3]");
  EXPECT_EQ(type_of({.dtype = DType::kF32}, {{"path", text_array(path)}}), "f32[10,20,3]");
  EXPECT_EQ(type_of({.channels = 4, .alpha = Alpha::kKeep}, {{"path", text_array(path)}}), "u8[10,20,4]");
  EXPECT_NE(error_of([&] {
              type_of({}, {{"path", text_array(directory / "none.jpg")}});
            }).find("none.jpg"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { type_of({}, {{"x", Array(1.f)}}); }), "read_image: the element has no 'data' and no 'path'");
}

// Half rows and columns up are those of a size that is rounded: 128 + 50 (x / w) becomes the nearest whole number.
TEST(ImageMaps, RoundedPixelsAreTheNearestWholeOnes) {
  const Element element = file_element(jpeg(40, 30));
  ReadImageOptions o{.height = 13, .width = 11};
  const std::vector<float> exact = values(read_image(o).op()->apply(element, sample_of(0)).at("image"));
  o.dtype = DType::kU8;
  const std::vector<float> rounded = values(read_image(o).op()->apply(element, sample_of(0)).at("image"));
  for (size_t i = 0; i < exact.size(); ++i) ASSERT_LE(std::fabs(exact[i] - rounded[i]), 0.5001f);
}

TEST(ImageMaps, LargestSquareInTheMiddleIsCutBeforeItIsResized) {
  // 30 x 50: columns 10 to 39.
  const std::string png = *encode_png(smooth_pixels(50, 30, 3).data(), 50, 30, 3);
  const Element element = file_element(png);
  const Array out = decode_and_crop(15).op()->apply(element, sample_of(0)).at("image");
  const Array whole = read_image().op()->apply(element, sample_of(0)).at("image");
  const Array middle = changed(center_crop({.height = 30, .width = 30}), whole);
  EXPECT_EQ(values(out), values(changed(resize_image({15, 15}), middle)));
}

// Pixel (y, x) says where it is.
Array places(int height, int width) {
  return image_of(height, width, 3, [](int y, int x, int c) { return c == 0 ? y : c == 1 ? x : 0; });
}
struct Corner {
  int top, left;
  auto operator<=>(const Corner&) const = default;
};
// The place of a window of places(); fails where the pixels are of no window.
Corner corner_of(const Array& window) {
  const std::vector<float> v = values(window);
  const Corner corner{static_cast<int>(v[0]), static_cast<int>(v[1])};
  for (int64_t y = 0; y < window.dim(0); ++y)
    for (int64_t x = 0; x < window.dim(1); ++x) {
      const auto at = static_cast<size_t>((y * window.dim(1) + x) * 3);
      if (v[at] != static_cast<float>(corner.top + y) || v[at + 1] != static_cast<float>(corner.left + x))
        ADD_FAILURE() << "pixel " << y << ", " << x;
    }
  return corner;
}

TEST(ImageMaps, RandomCropTakesEveryPlaceAboutAsOften) {
  const ElementMap crop = random_crop({.height = 7, .width = 4});
  std::map<Corner, int> found;
  for (uint64_t i = 0; i < 2000; ++i) {
    const Array window = changed(crop, places(9, 6), i);
    ASSERT_EQ(window.type().str(), "u8[7,4,3]");
    ++found[corner_of(window)];
  }
  EXPECT_EQ(found.size(), 9u);  // 3 x 3
  for (const auto& [corner, count] : found) EXPECT_NEAR(count, 2000 / 9, 70) << corner.top << ", " << corner.left;
}

TEST(ImageMaps, RandomCropOfASmallerImageIsItsMiddleResized) {
  const Array image = mixed_image(5, 12);
  EXPECT_EQ(values(changed(random_crop({.height = 8, .width = 8}), image, 3)),
            values(changed(center_crop({.height = 8, .width = 8}), image)));
}

TEST(ImageMaps, CropsThatFitAreThePixelsThemselves) {
  EXPECT_EQ(corner_of(changed(center_crop({.height = 4, .width = 3}), places(9, 10))), (Corner{2, 3}));
  EXPECT_EQ(corner_of(changed(central_crop(0.5), places(8, 12))), (Corner{2, 3}));
  EXPECT_EQ(changed(central_crop(1), places(8, 12)).type().str(), "u8[8,12,3]");
}

// Linear images stay linear: the values of the middle tell what was cut.
TEST(ImageMaps, RandomResizedCropKeepsToAreaAndProportions) {
  const int height = 120, width = 200;
  const ElementMap crop = random_resized_crop({.height = 16, .width = 16, .scale = {0.2, 0.6}, .ratio = {0.8, 1.5}});
  double least = 1, most = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const Array out = changed(crop, places(height, width), i);
    ASSERT_EQ(out.type().str(), "f32[16,16,3]");
    const std::vector<float> v = values(out);
    const auto at = [&](size_t y, size_t x, size_t c) { return static_cast<double>(v[(y * 16 + x) * 3 + c]); };
    const double h = (at(12, 8, 0) - at(4, 8, 0)) * 2, w = (at(8, 12, 1) - at(8, 4, 1)) * 2;
    const double area = h * w / (height * width);
    least = std::min(least, area), most = std::max(most, area);
    ASSERT_GT(area, 0.2 * 0.97);
    ASSERT_LT(area, 0.6 * 1.03);
    ASSERT_GT(w / h, 0.8 * 0.97);
    ASSERT_LT(w / h, 1.5 * 1.03);
  }
  EXPECT_LT(least, 0.25);
  EXPECT_GT(most, 0.5);
}

TEST(ImageMaps, RandomFlipMirrorsHalfOfTheImagesOnEachAxisApart) {
  const Array image = mixed_image(5, 8);
  const std::vector<float> plain = values(image);
  const auto mirrored = [&](bool columns, bool rows) {
    std::vector<float> out;
    for (size_t y = 0; y < 5; ++y)
      for (size_t x = 0; x < 8; ++x)
        for (size_t c = 0; c < 3; ++c) out.push_back(plain[((rows ? 4 - y : y) * 8 + (columns ? 7 - x : x)) * 3 + c]);
    return out;
  };
  for (const FlipMode mode : {FlipMode::kHorizontal, FlipMode::kVertical, FlipMode::kHorizontalAndVertical}) {
    int counts[2][2] = {};
    for (uint64_t i = 0; i < 400; ++i) {
      const std::vector<float> out = values(changed(random_flip({.mode = mode}), image, i));
      bool found = false;
      for (const bool columns : {false, true})
        for (const bool rows : {false, true})
          if (out == mirrored(columns, rows)) ++counts[columns][rows], found = true;
      ASSERT_TRUE(found);
    }
    const bool columns = mode != FlipMode::kVertical, rows = mode != FlipMode::kHorizontal;
    for (const int c : {0, 1})
      for (const int r : {0, 1}) {
        const bool may = (columns || !c) && (rows || !r);
        EXPECT_NEAR(counts[c][r], !may ? 0 : columns && rows ? 100 : 200, may ? 40 : 0);
      }
  }
}

// out = (x - m) u + m with one u of each image.
TEST(ImageMaps, RandomContrastMovesValuesFromTheMeanOfTheirChannel) {
  const Array image = image_of(6, 6, 3, [](int y, int x, int c) { return 100 + 3 * y + 2 * x + 10 * c; });
  const std::vector<float> x = values(image);
  double means[3] = {};
  for (size_t i = 0; i < x.size(); ++i) means[i % 3] += static_cast<double>(x[i]) / 36;
  std::set<int> drawn;
  for (uint64_t i = 0; i < 200; ++i) {
    const std::vector<float> out = values(changed(random_contrast({.factor = 0.5}), image, i));
    const double u = (static_cast<double>(out[0]) - means[0]) / (static_cast<double>(x[0]) - means[0]);
    ASSERT_GE(u, 0.499);
    ASSERT_LE(u, 1.501);
    for (size_t k = 0; k < x.size(); ++k)
      ASSERT_NEAR(out[k], (static_cast<double>(x[k]) - means[k % 3]) * u + means[k % 3], 1e-3);
    drawn.insert(static_cast<int>(u * 10));
  }
  EXPECT_GE(drawn.size(), 9u) << "all over the range";
}

TEST(ImageMaps, ContrastAndBrightnessStayInTheirRange) {
  const Array image = image_of(4, 4, 1, [](int y, int x, int) { return y < 2 ? 0 : x < 2 ? 255 : 128; });
  for (uint64_t i = 0; i < 50; ++i)
    for (const ElementMap& map : {random_contrast({.factor = 1.0}), random_brightness({.factor = 1.0})})
      for (const float v : values(changed(map, image, i))) {
        ASSERT_GE(v, 0);
        ASSERT_LE(v, 255);
      }
}

TEST(ImageMaps, RandomBrightnessAddsOneNumberOfTheRange) {
  const Array image = image_of(3, 3, 1, [](int y, int x, int) { return 120 + y + x; });
  double least = 99, most = -99;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::vector<float> out = values(changed(random_brightness({.factor = {-0.1, 0.2}}), image, i));
    const double added = static_cast<double>(out[0]) - 120;
    for (size_t k = 0; k < 9; ++k) ASSERT_NEAR(out[k], 120 + static_cast<double>(k / 3 + k % 3) + added, 1e-3);
    least = std::min(least, added), most = std::max(most, added);
  }
  EXPECT_GE(least, -25.5 - 1e-3);
  EXPECT_LT(least, -24);
  EXPECT_LE(most, 51 + 1e-3);
  EXPECT_GT(most, 49);
}

TEST(ImageMaps, MovesOfNothingLeaveTheImage) {
  const Array image = mixed_image(7, 9);
  for (const ElementMap& map : {random_rotation({}), random_zoom({}), random_translation({}), random_shear({})}) {
    const std::vector<float> out = values(changed(map, image)), x = values(image);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(out[i], x[i], 1e-3);
  }
}

// By whole pixels: the image moved, with what is outside as the fill mode says.
TEST(ImageMaps, TranslationAndShearByHand) {
  const Array image = image_of(1, 4, 1, [](int, int x, int) { return 10 * (x + 1); });
  const auto moved = [&](FillMode fill) {
    return values(changed(random_translation({.width_factor = {0.5, 0.5}, .fill_mode = fill, .fill_value = 7}), image));
  };
  EXPECT_EQ(moved(FillMode::kConstant), (std::vector<float>{7, 7, 10, 20}));
  EXPECT_EQ(moved(FillMode::kNearest), (std::vector<float>{10, 10, 10, 20}));
  EXPECT_EQ(moved(FillMode::kReflect), (std::vector<float>{20, 10, 10, 20}));
  // Row y is the image's from column y on, or from -y on.
  const Array square = image_of(3, 3, 1, [](int y, int x, int) { return 10 * y + x + 1; });
  const std::vector<float> right{1, 2, 3, 12, 13, 0, 23, 0, 0}, left{1, 2, 3, 0, 11, 12, 0, 0, 21};
  int rights = 0, lefts = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const std::vector<float> out =
        values(changed(random_shear({.x_factor = {1, 1}, .fill_mode = FillMode::kConstant}), square, i));
    rights += out == right, lefts += out == left;
  }
  EXPECT_EQ(rights + lefts, 100);
  EXPECT_NEAR(rights, 50, 25);
}

TEST(ImageMaps, ValuesAreScaledAsTheirFormulasSay) {
  const Array image = image_of(1, 1, 3, [](int, int, int c) { return 51 * (c + 1); });
  const auto expect = [&](const ElementMap& map, const std::vector<double>& expected) {
    const std::vector<float> out = values(changed(map, image));
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(out[c], expected[c], 1e-6) << c;
  };
  expect(rescale(1 / 127.5, -1), {-0.6, -0.2, 0.2});
  expect(normalize({51}, {51}), {0, 1, 2});
  expect(normalize({51, 2, 0}, {1, 10, 3}), {0, 10, 51});
}

// ---- batches ----
// Example i has a 1 at place i alone, as an image and as a label.
Element one_hot_batch(int64_t count) {
  std::vector<float> ones(static_cast<size_t>(count * count));
  for (int64_t i = 0; i < count; ++i) ones[static_cast<size_t>(i * count + i)] = 1;
  return {{"image", Array(ones, Shape{count, 1, count, 1})}, {"label", Array(ones, Shape{count, count})}};
}

TEST(ImageMaps, MixUpMixesEachExampleWithAnotherAndItsLabelAlike) {
  const int64_t n = 16;
  std::vector<double> weights;
  for (uint64_t i = 0; i < 40; ++i) {
    const Element out = mix_up({.alpha = 0.4}).op()->apply(one_hot_batch(n), sample_of(i));
    const std::vector<float> images = values(out.at("image")), labels = values(out.at("label"));
    EXPECT_EQ(images, labels);
    std::vector<int> taken(n);
    for (size_t e = 0; e < n; ++e) {
      double sum = 0;
      int others = 0;
      for (size_t k = 0; k < n; ++k) {
        const double w = static_cast<double>(labels[e * n + k]);
        ASSERT_GE(w, 0);
        sum += w;
        if (k != e && w > 0) ++others, ++taken[k];
      }
      ASSERT_NEAR(sum, 1, 1e-6);
      ASSERT_LE(others, 1);
      if (others == 1) weights.push_back(static_cast<double>(labels[e * n + e]));
    }
    EXPECT_LE(*std::max_element(taken.begin(), taken.end()), 1);
  }
  // Beta(0.4, 0.4) has mean 1/2 and variance 1 / (4 (2 * 0.4 + 1)) = 0.139.
  double mean = 0, variance = 0;
  for (const double w : weights) mean += w / static_cast<double>(weights.size());
  for (const double w : weights) variance += (w - mean) * (w - mean) / static_cast<double>(weights.size());
  EXPECT_NEAR(mean, 0.5, 0.05);
  EXPECT_NEAR(variance, 0.1389, 0.02);
}

TEST(ImageMaps, CutMixPutsARectangleOfAnotherExampleAndItsShareOfTheLabel) {
  const int64_t n = 6, side = 10;
  std::vector<uint8_t> pixels;
  for (int64_t e = 0; e < n; ++e)
    pixels.insert(pixels.end(), static_cast<size_t>(side * side), static_cast<uint8_t>(e));
  int mixed = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    Element batch = one_hot_batch(n);
    batch["image"] = Array(pixels, Shape{n, side, side, 1});
    const Element out = cut_mix().op()->apply(batch, sample_of(i));
    const std::vector<float> images = values(out.at("image")), labels = values(out.at("label"));
    for (int64_t e = 0; e < n; ++e) {
      int64_t other = e, top = side, bottom = -1, left = side, right = -1, count = 0;
      for (int64_t y = 0; y < side; ++y)
        for (int64_t x = 0; x < side; ++x) {
          const auto value = static_cast<int64_t>(images[static_cast<size_t>((e * side + y) * side + x)]);
          if (value == e) continue;
          EXPECT_TRUE(other == e || other == value);
          other = value, ++count;
          top = std::min(top, y), bottom = std::max(bottom, y), left = std::min(left, x), right = std::max(right, x);
        }
      if (count > 0) EXPECT_EQ(count, (bottom - top + 1) * (right - left + 1)) << "a rectangle";
      const double share = static_cast<double>(count) / static_cast<double>(side * side);
      if (other != e) {
        ++mixed;
        EXPECT_NEAR(labels[static_cast<size_t>(e * n + other)], share, 1e-6);
        EXPECT_NEAR(labels[static_cast<size_t>(e * n + e)], 1 - share, 1e-6);
      } else {
        EXPECT_NEAR(labels[static_cast<size_t>(e * n + e)], 1, 1e-6);
      }
    }
  }
  EXPECT_GT(mixed, 150);
}

TEST(ImageMaps, MixingRefusesClassesAsIntegersAndSingleImages) {
  Element batch = one_hot_batch(4);
  batch["label"] = Array(std::vector<int32_t>{0, 1, 2, 3});
  const auto error = [](const ElementMap& map, const Element& e) {
    return error_of([&] { (void)map.op()->apply(e, sample_of(0)); });
  };
  EXPECT_EQ(error(mix_up(), batch), "mix_up: 'label' is i32[4], expected f32, 4 examples; classes as one_hot has them");
  EXPECT_EQ(error(cut_mix({}, "class"), batch), "cut_mix: the batch has no 'class'");
  batch["image"] = mixed_image(4, 4);
  EXPECT_EQ(error(cut_mix(), batch),
            "cut_mix: 'image' is u8[4,4,3], expected a batch of images: cut_mix() comes after batch()");
}

TEST(ImageMaps, WrongOptionsAreRefusedWhereTheyAreGiven) {
  const auto expect = [](const std::string& message, const std::function<ElementMap()>& make) {
    EXPECT_EQ(error_of([&] { (void)make(); }), message);
  };
  expect("random_crop: height is 0, expected 1 to 16384", [] { return random_crop({.width = 4}); });
  expect("read_image: width is 0, expected 1 to 16384", [] { return read_image({.height = 4}); });
  expect("read_image: channels is 2, expected 1 or 3", [] { return read_image({.channels = 2}); });
  expect("read_image: channels is 3, expected 4 where alpha is kept",
         [] { return read_image({.alpha = Alpha::kKeep}); });
  expect("read_image: dtype is u8, which has no room for deep_pixels",
         [] { return read_image({.deep_pixels = true, .dtype = DType::kU8}); });
  expect("central_crop: fraction is 0, expected more than 0, at most 1", [] { return central_crop(0); });
  expect("random_rotation: factor is -2 to 2, expected two numbers from -1 to 1",
         [] { return random_rotation({.factor = 2}); });
  expect("mix_up: alpha is 0, expected more than 0", [] { return mix_up({.alpha = 0}); });
  expect("normalize: 2 means and 1 deviations, expected as many, one at least", [] { return normalize({1, 2}, {1}); });
  EXPECT_EQ(error_of([] { changed(rescale(1), Array(1.f)); }),
            "rescale: 'image' is f32[], expected u8 or f32 of [height,width,1, 3 or 4 channels]");
}

// A cache file knows a chain by the names of its maps.
TEST(ImageMaps, MapsOfOtherOptionsHaveOtherNames) {
  std::set<std::string> names;
  const std::vector<ElementMap> maps = {read_image(),
                                        read_image({.height = 8, .width = 8}),
                                        read_image({.height = 8, .width = 9}),
                                        decode_image({}),
                                        read_image({.background = {1, 2, 3}}),
                                        read_image({.fast = true}),
                                        read_image({.feature = "bytes"}),
                                        resize_image({8, 8}),
                                        resize_image({8, 8, ResizeKind::kLegacy}),
                                        center_crop({8, 8}),
                                        central_crop(0.5),
                                        central_crop(0.25),
                                        random_crop({8, 8}),
                                        random_crop({8, 9}),
                                        random_resized_crop({8, 8}),
                                        random_resized_crop({8, 8, {0.1, 1}}),
                                        random_flip(),
                                        random_flip({FlipMode::kVertical}),
                                        random_rotation({0.1}),
                                        random_rotation({0.2}),
                                        random_zoom({0.1}),
                                        random_zoom({0.1, 0.1}),
                                        random_translation({0.1}),
                                        random_translation({0.1, 0.1}),
                                        random_shear({0.1}),
                                        random_contrast({0.1}),
                                        random_contrast({0.2}),
                                        random_brightness({0.1}),
                                        random_brightness({0.1, {0, 1}}),
                                        rescale(2),
                                        rescale(2, 1),
                                        normalize({1}, {1}),
                                        normalize({1}, {2}),
                                        mix_up(),
                                        mix_up({0.3}),
                                        mix_up({}, "class"),
                                        cut_mix(),
                                        cut_mix({0.5})};
  for (const ElementMap& map : maps) EXPECT_TRUE(names.insert(map.op()->name()).second) << map.op()->name();
  const auto joined = [](const ElementMap& a, const ElementMap& b) { return joined_op({a, b})->name(); };
  EXPECT_NE(joined(read_image(), central_crop(0.5)), joined(read_image(), central_crop(0.25)));
}

// ---- as one pass ----
// Every map that may be in such a pass.
std::vector<ElementMap> all_changes() {
  return {resize_image({20, 27}),
          resize_image({14, 11, ResizeKind::kAntialias}),
          resize_image({17, 17, ResizeKind::kLegacy}),
          center_crop({13, 15}),
          central_crop(0.8),
          random_crop({12, 14}),
          random_resized_crop({18, 16}),
          random_flip(),
          random_rotation({0.2}),
          random_zoom({0.3}),
          random_translation({0.2, 0.3}),
          random_shear({0.3}),
          random_contrast({0.5}),
          random_brightness({0.3}),
          rescale(1 / 127.5, -1),
          normalize({100, 110, 120}, {50, 60, 70})};
}

// How far apart one pass and single maps may be: f32 arithmetic in another order, in units of what the values are scaled by.
void expect_alike(const std::vector<ElementMap>& maps, const Element& element, uint64_t index, double tolerance) {
  const auto op = joined_op(maps);
  ASSERT_TRUE(op) << "all image maps run as one";
  const Array one = op->apply(element, sample_of(index)).at("image"),
              many = one_by_one(maps, element, index).at("image");
  ASSERT_EQ(one.type().str(), many.type().str());
  const std::vector<float> a = values(one), b = values(many);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "value " << i;
}

TEST(ImageMaps, EveryPairOfMapsIsAsOnePassWhatItIsOneAfterTheOther) {
  const Element element = file_element(jpeg(45, 34));
  const std::vector<ElementMap> changes = all_changes();
  for (size_t a = 0; a < changes.size(); ++a)
    for (size_t b = 0; b < changes.size(); ++b)
      for (uint64_t index = 0; index < 4; ++index) {
        SCOPED_TRACE(changes[a].op()->name() + " " + changes[b].op()->name());
        expect_alike({read_image(), changes[a], changes[b]}, element, index, 2e-3);
      }
}

TEST(ImageMaps, LongChainsAreAsOnePassWhatTheyAreOneAfterTheOther) {
  std::mt19937 random(11);
  const std::vector<ElementMap> changes = all_changes();
  const Element element = file_element(jpeg(61, 48));
  for (uint64_t index = 0; index < 400; ++index) {
    const DType dtype = index % 5 == 1 ? DType::kU8 : index % 5 == 2 ? DType::kF32 : DType::kNone;
    std::vector<ElementMap> maps = {read_image({.crop_to_aspect_ratio = index % 3 == 0, .dtype = dtype})};
    std::string names;
    for (unsigned left = 2 + random() % 9; left > 0; --left) {
      maps.push_back(changes[random() % changes.size()]);
      names += " " + maps.back().op()->name();
    }
    SCOPED_TRACE(names);
    // Values of 255 whose contrast is doubled nine times are far from where they were, with what was rounded.
    expect_alike(maps, element, index, 2e-2);
    if (HasFatalFailure()) return;
  }
}

// What is decoded is only the window; the pixels are those of the whole image, cut.
TEST(ImageMaps, WindowsThatAreDecodedAloneAreThePixelsOfTheWholeImage) {
  const std::vector<uint8_t> pixels = smooth_pixels(150, 110, 3);
  std::vector<std::string> files = {*encode_png(pixels.data(), 150, 110, 3)};
  for (const auto& [h, v] : {std::pair(1, 1), {2, 2}, {2, 1}})
    files.push_back(write_jpeg(pixels, 150, 110, 3, JCS_RGB, [h, v](jpeg_compress_struct& jpeg) {
      jpeg.comp_info[0].h_samp_factor = h, jpeg.comp_info[0].v_samp_factor = v;
    }));
  for (const std::string& file : files)
    for (uint64_t i = 0; i < 60; ++i) {
      const std::vector<ElementMap> maps = {read_image(), random_crop({30 + static_cast<int64_t>(i), 40}),
                                            random_flip()};
      const Element element = file_element(file);
      const Array one = joined_op(maps)->apply(element, sample_of(i)).at("image");
      EXPECT_EQ(one.dtype(), DType::kU8);
      ASSERT_TRUE(one.to<uint8_t>() == one_by_one(maps, element, i).at("image").to<uint8_t>());
    }
}

TEST(ImageMaps, ScaledAndFastDecodingStayNear) {
  const Element element = file_element(jpeg(400, 300));
  const auto out = [&](bool fast, bool scaled) {
    return values(
        read_image({.height = 60, .width = 80, .resize = ResizeKind::kAntialias, .fast = fast, .scale_decode = scaled})
            .op()
            ->apply(element, sample_of(0))
            .at("image"));
  };
  const std::vector<float> exact = out(false, false);
  for (const auto& [fast, scaled] : {std::pair(true, false), {false, true}, {true, true}}) {
    const std::vector<float> other = out(fast, scaled);
    double sum = 0;
    for (size_t i = 0; i < exact.size(); ++i) sum += std::fabs(static_cast<double>(exact[i] - other[i]));
    EXPECT_LT(sum / static_cast<double>(exact.size()), 2) << fast << scaled;
  }
}

// ---- chains ----
struct Files {
  TemporaryDirectory directory;
  std::vector<std::string> paths;
  std::vector<int32_t> labels;
  explicit Files(int count) {
    for (int i = 0; i < count; ++i) {
      const int width = 40 + 7 * i, height = 70 - 3 * i;
      std::vector<uint8_t> pixels = smooth_pixels(width, height, 3);
      for (uint8_t& p : pixels) p = static_cast<uint8_t>(p + 9 * i);
      paths.push_back(directory.write("f" + std::to_string(i), i % 3 ? *encode_jpeg(pixels.data(), width, height, 3)
                                                                     : *encode_png(pixels.data(), width, height, 3)));
      labels.push_back(i);
    }
  }
  Dataset read(const ReadImageOptions& o = {}) const { return Dataset::from_files(paths, labels).map(read_image(o)); }
};

std::vector<std::vector<float>> batches(const Dataset& data, int threads, uint64_t epoch = 0) {
  std::vector<std::vector<float>> out;
  for (ElementIterator at = data.elements(threads, epoch); at != data.end(); ++at) {
    out.push_back(values((*at).at("image")));
    for (const float label : values((*at).at("label"))) out.back().push_back(label);
  }
  return out;
}

TEST(ImageChains, GiveTheSameBatchesForAnyNumberOfThreadsAndOthersInAnotherEpoch) {
  const Files files(10);
  const Dataset data = files.read()
                           .shuffle(5)
                           .map(random_crop({32, 32}))
                           .map(random_flip())
                           .map(random_rotation({0.1}))
                           .map(random_contrast({0.4}))
                           .map(random_brightness({0.2}))
                           .map(rescale(1 / 127.5, -1))
                           .batch(4)
                           .map(one_hot("label", 10))
                           .map(mix_up());
  const auto one = batches(data, 1);
  ASSERT_EQ(one.size(), 3u);
  EXPECT_EQ(one[2].size(), 2u * (32 * 32 * 3 + 10));
  for (const int threads : {2, 3}) EXPECT_TRUE(batches(data, threads) == one) << threads;
  EXPECT_FALSE(batches(data, 2, 1) == one);
}

// A function of the user between two maps takes them apart.
TEST(ImageChains, MapsInOnePassGiveWhatTheyGiveApart) {
  const Files files(7);
  const auto chain = [&](bool apart) {
    Dataset data = files.read();
    for (const ElementMap& map :
         {central_crop(0.9), resize_image({33, 29}), center_crop({28, 28}), rescale(1 / 255.0)}) {
      if (apart) data = data.map([](Element e) { return e; });
      data = data.map(map);
    }
    return batches(data.batch(3), 2);
  };
  const auto one = chain(false), many = chain(true);
  ASSERT_EQ(one.size(), many.size());
  for (size_t b = 0; b < one.size(); ++b) {
    ASSERT_EQ(one[b].size(), many[b].size());
    for (size_t i = 0; i < one[b].size(); ++i) ASSERT_NEAR(one[b][i], many[b][i], 1e-5);
  }
}

TEST(ImageChains, ACacheBelowWhatIsRandomLeavesItRandom) {
  const Files files(6);
  const auto chain = [&](const Dataset& read) { return read.map(random_crop({24, 24})).map(random_flip()).batch(6); };
  testing::internal::CaptureStderr();
  const Dataset cached = chain(files.read().cache());
  const auto first = batches(cached, 2, 0);
  EXPECT_TRUE(first == batches(chain(files.read()), 2, 0)) << "the first epoch is as without a cache";
  EXPECT_TRUE(first == batches(cached, 1, 0));
  EXPECT_FALSE(first == batches(cached, 2, 1));
  EXPECT_TRUE(batches(cached, 1, 1) == batches(cached, 3, 1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ImageChains, ACacheAboveWhatIsRandomSaysThatItIsFrozen) {
  const Files files(4);
  testing::internal::CaptureStderr();
  const Dataset data = files.read().map(random_crop({24, 24})).cache().batch(4);
  EXPECT_TRUE(batches(data, 1, 0) == batches(data, 1, 1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cache: what is random below it is drawn once, and is the same in each epoch"), std::string::npos)
      << said;
}

TEST(ImageChains, ACacheFileOfOtherMapsIsRefused) {
  const Files files(4);
  const auto read = [&](int64_t side) {
    return batches(files.read({.height = side, .width = side}).cache(files.directory / "cache").batch(2), 1);
  };
  const auto first = read(16);
  EXPECT_TRUE(read(16) == first);
  EXPECT_NE(error_of([&] { read(20); }).find("other"), std::string::npos) << error_of([&] { read(20); });
}

TEST(ImageChains, AFileThatIsNoImageIsNamed) {
  Files files(3);
  files.paths.push_back(files.directory.write("doc.pdf", "%PDF-1.4 and more"));
  files.labels.push_back(0);
  const std::string error = error_of([&] { read_through(files.read({.height = 8, .width = 8}), 2); });
  EXPECT_NE(error.find("doc.pdf"), std::string::npos) << error;
  EXPECT_NE(error.find("expected JPEG, PNG or WebP"), std::string::npos) << error;
  EXPECT_EQ(batches(files.read({.height = 8, .width = 8}).ignore_errors().batch(8), 2)[0].size(), 3u * (8 * 8 * 3 + 1));
  files.paths = {files.paths.back(), files.directory / "gone.jpg"};
  files.labels = {0, 0};
  for (const Dataset& none : {files.read({.height = 8, .width = 8}).ignore_errors(),
                              files.read({.height = 8, .width = 8}).ignore_errors().repeat()})
    EXPECT_EQ(error_of([&] { none.batch(2).specs(); }),
              "the data have no elements; ignore_errors left out 2, the first because " + files.paths[0] +
                  ": image: expected JPEG, PNG or WebP, found bytes 255044462d312e34");
}

}  // namespace
}  // namespace tenon
