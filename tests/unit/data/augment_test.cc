#include "data/image/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon {
namespace {

std::vector<uint8_t> noise(int height, int width, int channels, uint32_t seed = 1) {
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  for (uint8_t& p : pixels) p = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  return pixels;
}

PixelView view(const std::vector<uint8_t>& pixels, int height, int width, int channels) {
  return {pixels.data(), height, width, 0, 0, width, channels};
}

// The definition in double: TensorFlow's resize_bilinear without align_corners and half_pixel_centers, then crop, then
// flip.
std::vector<double> plain(const std::vector<uint8_t>& pixels, int in_h, int in_w, int channels, const ResizeWindow& w) {
  const auto at = [&](int y, int x, int c) -> double {
    return pixels[(static_cast<size_t>(y) * in_w + x) * channels + c];
  };
  std::vector<double> out;
  for (int y = 0; y < w.height; ++y)
    for (int x = 0; x < w.width; ++x)
      for (int c = 0; c < channels; ++c) {
        const double sy = static_cast<double>(w.top + y) * in_h / w.grid_height;
        const double sx = static_cast<double>(w.left + (w.flip ? w.width - 1 - x : x)) * in_w / w.grid_width;
        const int y0 = static_cast<int>(sy), x0 = static_cast<int>(sx);
        const int y1 = std::min(y0 + 1, in_h - 1), x1 = std::min(x0 + 1, in_w - 1);
        const double fy = sy - y0, fx = sx - x0;
        const double top = at(y0, x0, c) * (1 - fx) + at(y0, x1, c) * fx;
        const double bottom = at(y1, x0, c) * (1 - fx) + at(y1, x1, c) * fx;
        out.push_back(top * (1 - fy) + bottom * fy);
      }
  return out;
}

TEST(Resize, DoublesAnImageAsComputedByHand) {
  // Legacy sampling reads 0, 0.5, 1, 1.5: the last place lies beyond the last pixel and repeats it.
  const std::vector<uint8_t> pixels{0, 100, 200, 40};
  std::vector<float> out(16);
  resize_window(view(pixels, 2, 2, 1), {4, 4, 0, 0, 4, 4, false}, 1, 0, out.data(), nullptr);
  EXPECT_EQ(out, (std::vector<float>{0, 50, 100, 100,   //
                                     100, 85, 70, 70,   //
                                     200, 120, 40, 40,  //
                                     200, 120, 40, 40}));
}

TEST(Resize, ThinsOutAnImageWithoutAveraging) {
  // 6 -> 3: places 0, 2, 4 exactly; pixels 1, 3, 5 are not seen.
  const std::vector<uint8_t> pixels{10, 255, 20, 255, 30, 255};
  std::vector<float> out(3);
  resize_window(view(pixels, 1, 6, 1), {1, 3, 0, 0, 1, 3, false}, 1, 0, out.data(), nullptr);
  EXPECT_EQ(out, (std::vector<float>{10, 20, 30}));
  resize_window(view(pixels, 1, 6, 1), {1, 3, 0, 1, 1, 2, true}, 1, 0, out.data(), nullptr);
  EXPECT_EQ(out[0], 30);
  EXPECT_EQ(out[1], 20);
}

struct Case {
  int in_h, in_w, grid_h, grid_w, top, left, height, width;
};

class ResizeCases : public testing::TestWithParam<Case> {};

TEST_P(ResizeCases, AgreesWithTheDefinitionInDouble) {
  const Case& c = GetParam();
  for (int channels : {1, 3})
    for (bool flip : {false, true}) {
      const std::vector<uint8_t> pixels = noise(c.in_h, c.in_w, channels);
      const ResizeWindow window{c.grid_h, c.grid_w, c.top, c.left, c.height, c.width, flip};
      const std::vector<double> expected = plain(pixels, c.in_h, c.in_w, channels, window);
      std::vector<float> out(expected.size() + 1, -77);
      float means[3];
      resize_window(view(pixels, c.in_h, c.in_w, channels), window, 1.0f / 255, 0.25f, out.data(), means);
      EXPECT_EQ(out.back(), -77) << "wrote beyond its end";
      // A place is rounded to f32: 500 * 2^-23 of a pixel's difference at most.
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(out[i], expected[i] / 255 + 0.25, 1e-4) << i;
      for (int channel = 0; channel < channels; ++channel) {
        double sum = 0;
        for (size_t i = static_cast<size_t>(channel); i < expected.size(); i += static_cast<size_t>(channels))
          sum += expected[i] / 255 + 0.25;
        EXPECT_NEAR(means[channel], sum / (c.height * c.width), 2e-5);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ResizeCases,
                         testing::Values(Case{375, 500, 234, 234, 3, 7, 224, 224},
                                         Case{375, 500, 309, 309, 10, 10, 299, 299}, Case{28, 28, 28, 28, 0, 0, 28, 28},
                                         Case{28, 28, 38, 38, 5, 9, 28, 28}, Case{40, 30, 40, 30, 4, 2, 31, 17},
                                         Case{1, 1, 9, 9, 2, 3, 5, 4}, Case{7, 5, 3, 11, 0, 0, 3, 11},
                                         Case{2, 1000, 5, 3, 4, 2, 1, 1}, Case{333, 17, 8, 8, 0, 0, 8, 8}));

TEST(Resize, NeedsOnlyThePixelsThatTheWindowTouches) {
  const std::vector<uint8_t> pixels = noise(50, 60, 3);
  for (const ResizeWindow& w : {ResizeWindow{34, 34, 3, 9, 24, 24, true}, ResizeWindow{50, 60, 6, 5, 20, 30, false}}) {
    const AxisRange rows = touched(50, w.grid_height, w.top, w.height),
                    columns = touched(60, w.grid_width, w.left, w.width);
    std::vector<uint8_t> part;
    for (int y = rows.begin; y < rows.end; ++y)
      part.insert(part.end(), &pixels[static_cast<size_t>(y * 60 + columns.begin) * 3],
                  &pixels[0] + static_cast<size_t>(y * 60 + columns.end) * 3);
    std::vector<float> whole_out(static_cast<size_t>(w.height * w.width * 3)), part_out(whole_out.size());
    resize_window(view(pixels, 50, 60, 3), w, 1, 0, whole_out.data(), nullptr);
    resize_window({part.data(), 50, 60, rows.begin, columns.begin, columns.end - columns.begin, 3}, w, 1, 0,
                  part_out.data(), nullptr);
    EXPECT_EQ(whole_out, part_out);
  }
}

TEST(Colour, ContrastMovesAwayFromTheMeanOfEachChannel) {
  // Two pixels of three channels; (x - mean) * 2 + mean by hand, brightness 0.1 on top, then (x - 0.5) * 2.
  const std::vector<uint8_t> pixels{0, 51, 255, 102, 51, 153};  // 0 .2 1 / .4 .2 .6: means .2 .2 .8
  std::vector<float> out(6);
  resize_and_colour(view(pixels, 1, 2, 3), {1, 2, 0, 0, 1, 2, false}, {0.1f, 2.0f, 2.0f, -1.0f}, out.data());
  const double expected[6] = {-0.2, 0.2, 1.2, 0.6, 0.2, 0.4};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(out[static_cast<size_t>(i)], (expected[i] + 0.1 - 0.5) * 2, 1e-6) << i;
}

TEST(Colour, BrightnessAloneIsAdded) {
  const std::vector<uint8_t> pixels{0, 51, 255};
  std::vector<float> out(3);
  resize_and_colour(view(pixels, 1, 3, 1), {1, 3, 0, 0, 1, 3, false}, {-0.25f, 1.0f, 1.0f, 0.0f}, out.data());
  EXPECT_NEAR(out[0], -0.25, 1e-6) << "nothing is clipped";
  EXPECT_NEAR(out[1], -0.05, 1e-6);
  EXPECT_NEAR(out[2], 0.75, 1e-6);
}

TEST(Colour, AgreesWithTheFormulasOfTfImageOnAResizedCrop) {
  const std::vector<uint8_t> pixels = noise(90, 120, 3);
  const ResizeWindow window{58, 58, 4, 10, 48, 48, true};
  const double brightness = 0.17, contrast = 0.35;
  std::vector<double> x = plain(pixels, 90, 120, 3, window);
  double means[3] = {0, 0, 0};
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] / 255 + brightness, means[i % 3] += x[i] / (48 * 48);
  std::vector<float> out(x.size());
  resize_and_colour(view(pixels, 90, 120, 3), window,
                    {static_cast<float>(brightness), static_cast<float>(contrast), 2, -1}, out.data());
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(out[i], ((x[i] - means[i % 3]) * contrast + means[i % 3] - 0.5) * 2, 1e-4);
}

}  // namespace
}  // namespace tenon
