// How images come from files and get another size: what ops, Dataset::images and the maps of image_maps.h share.
#pragma once

#include <array>
#include <cstdint>

namespace tenon {

// The numbers of these two are those of the C ABI.
enum class ResizeMethod : int { kNearest, kBilinear };
enum class FillMode : int { kConstant, kNearest, kReflect, kWrap };

// What becomes of an image's transparency.
enum class Alpha : uint8_t {
  kDrop,   // the colours are taken as they are
  kBlend,  // the image lies on a background of one colour
  kKeep,   // it is the fourth of four channels; opaque where the file has none
};

// How an image gets another size. All are bilinear; of n pixels, from N:
enum class ResizeKind : uint8_t {
  kLegacy,     // pixel i reads those beside i N/n: TensorFlow 1, align_corners=False
  kHalfPixel,  // those beside (i + 0.5) N/n - 0.5: tf.image.resize, Keras
  // as kHalfPixel, but all pixels count where it gets smaller: tf.image.resize(antialias=True), Pillow, torchvision
  kAntialias,
};

using Colour = std::array<uint8_t, 3>;  // red, green, blue

}  // namespace tenon
