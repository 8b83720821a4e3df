// What tests of images have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/image_maps.h"

namespace tenon {

// Value i of an image: fixtures of tests/fixtures/images.csv have the same.
inline Array mixed_image(int height, int width, int channels = 3) {
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>((37 * i + 11 * (i / 5)) % 256);
  return Array(pixels, Shape{height, width, channels});
}

// Pixel (y, x) is of(y, x, channel).
inline Array image_of(int height, int width, int channels, const std::function<int(int, int, int)>& of) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) pixels.push_back(static_cast<uint8_t>(of(y, x, c)));
  return Array(pixels, Shape{height, width, channels});
}

inline Sample sample_of(uint64_t index) { return {.index = index, .epoch = 0, .seed = 5, .training = true}; }

inline Array changed(const ElementMap& map, const Array& image, uint64_t index = 0) {
  return map.op()->apply({{"image", image}}, sample_of(index)).at("image");
}

// One after the other, each for itself, with the draws that they have as one.
inline Element one_by_one(const std::vector<ElementMap>& maps, Element element, uint64_t index) {
  Sample sample = sample_of(index);
  for (const ElementMap& map : maps) {
    element = map.op()->apply(std::move(element), sample);
    sample = sample.further();
  }
  return element;
}

// As one pass. Null: some are not made to be.
inline std::shared_ptr<const ElementOp> joined_op(const std::vector<ElementMap>& maps) {
  std::shared_ptr<const ElementOp> op = maps.front().op();
  for (size_t i = 1; op && i < maps.size(); ++i) op = op->then(maps[i].op());
  return op;
}

}  // namespace tenon
