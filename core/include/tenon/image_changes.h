// What random changes of images are told, with Keras's names and defaults: as layers on the device (augmentation.h) and
// as maps of a Dataset (image_maps.h), whose formulas are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/image_options.h"

namespace tenon {

// Where a number is drawn from: f means [-f, f].
struct Factor {
  Factor(double f) : low(-f), high(f) {}  // NOLINT: implicit by design
  Factor(double from, double to) : low(from), high(to) {}
  double low, high;
};
// Both ends of what pixels may be.
struct ValueRange {
  double low = 0, high = 255;
};

enum class FlipMode : uint8_t { kHorizontal, kVertical, kHorizontalAndVertical };
struct RandomFlipOptions {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
  std::string name = "random_flip";
};

// FillMode says what is outside of an image: fill_value (kConstant), the edge (kNearest), the mirrored image, whose
// edge is there twice (kReflect), or the repeated one (kWrap).
struct RandomRotationOptions {
  Factor factor = 0;  // turns, counter-clockwise
  FillMode fill_mode = FillMode::kReflect;
  ResizeMethod interpolation = ResizeMethod::kBilinear;
  double fill_value = 0;
  std::string name = "random_rotation";
};

struct RandomZoomOptions {
  Factor height_factor = 0;                 // 0.2: the image shows 1.2 times as much; -1 or less shows nothing
  std::optional<Factor> width_factor = {};  // none: the height's draw
  FillMode fill_mode = FillMode::kReflect;
  ResizeMethod interpolation = ResizeMethod::kBilinear;
  double fill_value = 0;
  std::string name = "random_zoom";
};

struct RandomTranslationOptions {
  Factor height_factor = 0, width_factor = 0;  // of the image's size, down and to the right
  FillMode fill_mode = FillMode::kReflect;
  ResizeMethod interpolation = ResizeMethod::kBilinear;
  double fill_value = 0;
  std::string name = "random_translation";
};

struct RandomShearOptions {
  Factor x_factor = 0, y_factor = 0;  // -1 to 1
  ResizeMethod interpolation = ResizeMethod::kBilinear;
  FillMode fill_mode = FillMode::kReflect;
  double fill_value = 0;
  std::string name = "random_shear";
};

struct RandomContrastOptions {
  Factor factor = 0;  // f: u in [1 - f, 1 + f]; {a, b}: in [1 - a, 1 + b], 0 to 1 each
  ValueRange value_range = {};
  std::string name = "random_contrast";
};

struct RandomBrightnessOptions {
  Factor factor = 0;  // -1 to 1
  ValueRange value_range = {};
  std::string name = "random_brightness";
};

struct RandomCropOptions {
  int64_t height = 0, width = 0;
  std::string name = "random_crop";
};

struct CenterCropOptions {
  int64_t height = 0, width = 0;
  std::string name = "center_crop";
};

struct MixUpOptions {
  double alpha = 0.2;
  std::string name = "mix_up";
};

struct CutMixOptions {
  Factor factor = 1;  // f: [0, f]; 0 to 1
  std::string name = "cut_mix";
};

}  // namespace tenon
