// Random changes of images, with Keras's names, defaults and formulas, as functions and as objects. Only while
// training: otherwise images pass as they are (random_crop: cut in the middle). Images are [B,H,W,C] and integers
// (pixels) become f32; each image has draws of its own. Draws depend on the seed, the step and the layer's name alone,
// not on the device. All functions throw tenon::Error.
//
//   Sequential augment({RandomFlip({.mode = FlipMode::kHorizontal}), RandomRotation({.factor = 0.1})});
//
// Unlike Keras 3, the two axes of a flip are drawn apart, the contrast may get lower too, a crop is one at inference, a
// saturation ends at that of pure colours, where Keras lets it grow up to the end of value_range, and a rectangle has
// the pixels whose centres lie in it, where Keras's all but never has those of the first row or column.
#pragma once

#include <string>
#include <vector>

#include "tenon/image_changes.h"
#include "tenon/layer_classes.h"
#include "tenon/preprocessing.h"

namespace tenon {

// Half of the images mirrored left to right, half of them, drawn apart, upside down.
Tensor random_flip(Tensor x, const RandomFlipOptions& options = {});

// About the middle.
Tensor random_rotation(Tensor x, const RandomRotationOptions& options);

Tensor random_zoom(Tensor x, const RandomZoomOptions& options);
Tensor random_translation(Tensor x, const RandomTranslationOptions& options);

// Pixel (x, y), counted from the upper left corner, is the image's at (x + u y, y + v x), u of x_factor and v of
// y_factor, in half of the images both with the other sign.
Tensor random_shear(Tensor x, const RandomShearOptions& options);

// (x - m) u + m, m the mean of each channel of the image, within value_range.
Tensor random_contrast(Tensor x, const RandomContrastOptions& options);

// x + u (high - low), within value_range.
Tensor random_brightness(Tensor x, const RandomBrightnessOptions& options);

struct RandomHueOptions {
  Factor factor = 0;  // f: [0, f]; 0 to 1: colours are turned by half of it, a whole turn being 1, in either direction
  ValueRange value_range = {};
  std::string name = "random_hue";
};
// Another hue, the same saturation and value (HSV), of images with three channels: red, green, blue.
Tensor random_hue(Tensor x, const RandomHueOptions& options);

struct RandomSaturationOptions {
  Factor factor = 0;  // f: [0, f]; 0 to 1: 0 makes images grey, 0.5 leaves them, 1 makes all of their colours pure
  ValueRange value_range = {};
  std::string name = "random_saturation";
};
// The saturation times u / (1 - u), the same hue and value (HSV), of images with three channels: red, green, blue.
Tensor random_saturation(Tensor x, const RandomSaturationOptions& options);

struct RandomColorDegenerationOptions {
  Factor factor = 0;  // f: [0, f]; 0 to 1: 1 makes images grey
  ValueRange value_range = {};
  std::string name = "random_color_degeneration";
};
// x + u (grey - x), within value_range, of images with three channels: red, green, blue.
Tensor random_color_degeneration(Tensor x, const RandomColorDegenerationOptions& options);

struct RandomGrayscaleOptions {
  double factor = 0.5;  // the probability
  std::string name = "random_grayscale";
};
// Images with three channels, red, green, blue, or the same brightness without colour.
Tensor random_grayscale(Tensor x, const RandomGrayscaleOptions& options = {});

struct RandomInvertOptions {
  Factor factor = 1;  // the probability, drawn for each image; f: of [0, f]
  ValueRange value_range = {};
  std::string name = "random_invert";
};
// value_range.high - x.
Tensor random_invert(Tensor x, const RandomInvertOptions& options = {});

struct RandomSharpnessOptions {
  Factor factor = 0;  // f: [0, f]; 0 to 1: 0 blurs, 0.5 leaves images as they are, 1 sharpens
  ValueRange value_range = {};
  std::string name = "random_sharpness";
};
// b + 2 u (x - b), within value_range, b the image blurred by a kernel of 3 x 3.
Tensor random_sharpness(Tensor x, const RandomSharpnessOptions& options);

struct RandomPosterizationOptions {
  Factor factor =
      8;  // f: [1, f]; whole numbers from 1 to 8, of which the upper end is drawn where it is the lower one too
  ValueRange value_range = {};
  std::string name = "random_posterization";
};
// What the upper bits of a pixel of eight bits hold.
Tensor random_posterization(Tensor x, const RandomPosterizationOptions& options);

struct SolarizationOptions {
  Factor addition_factor = 0, threshold_factor = 0;  // f: [0, f]; 0 to 1 of value_range
  ValueRange value_range = {};
  std::string name = "solarization";
};
// x with something added, inverted where it is not below a threshold. Keras takes a lower end for pixels of 0 to 255.
Tensor solarization(Tensor x, const SolarizationOptions& options = {});

struct AutoContrastOptions {
  ValueRange value_range = {};
  std::string name = "auto_contrast";
};
// Each channel of an image stretched over value_range, in all modes; one that has a single value is left.
Tensor auto_contrast(Tensor x, const AutoContrastOptions& options = {});

struct EqualizationOptions {
  ValueRange value_range = {};
  int64_t bins = 256;  // 2 to 65536
  std::string name = "equalization";
};
// Values changed so that each channel of an image has as many pixels of each. Keras counts those of the whole batch.
Tensor equalization(Tensor x, const EqualizationOptions& options = {});

struct RandAugmentOptions {
  ValueRange value_range = {};
  int64_t num_ops = 2;
  Factor factor = 0.5;  // f: [0, f]; 0 to 1
  ResizeMethod interpolation = ResizeMethod::kBilinear;
  std::string name = "rand_augment";
};
// num_ops changes one after the other, each drawn for each image (Keras: for the batch) of eleven: shear, translation,
// rotation, brightness, colour degeneration, contrast, sharpness, posterization, solarization, automatic contrast,
// equalization (Cubuk et al. 2020). All are made and one of them taken, as in Keras. Images have three channels: red,
// green, blue.
Tensor rand_augment(Tensor x, const RandAugmentOptions& options = {});

struct RandomErasingOptions {
  Factor factor = 1;            // the probability, drawn for each image; f: of [0, f], so f / 2 on the whole
  Factor scale = {0.02, 0.33};  // the square of the rectangle's share of the height, and of the width, drawn apart
  std::vector<double> fill_value = {};  // one number, or one a channel; none: normal with deviation value_range.high
  ValueRange value_range = {};          // what is filled in is within it
  std::string name = "random_erasing";
};
// A rectangle of the image filled with something else (Zhong et al. 2017).
Tensor random_erasing(Tensor x, const RandomErasingOptions& options = {});

// One place for all images of a batch. Smaller images, and all that is no training, as center_crop has them.
Tensor random_crop(Tensor x, const RandomCropOptions& options);

// Takes {images} or {images, labels, ..} and returns all of them, each example mixed with another one of the batch;
// each is taken once as the other. Labels are floats with the batch first: one_hot() of classes. On several units, each
// mixes its own examples.
// w of it and 1 - w of the other, w of Beta(alpha, alpha) for each example (Zhang et al. 2018).
Tensors mix_up(const Tensors& images_and_labels, const MixUpOptions& options = {});
Tensor mix_up(Tensor images, const MixUpOptions& options = {});

// A rectangle of the other one in it, and labels in proportion to the pixels (Yun et al. 2019; Keras takes the
// rectangle's size before it is cut to pixels). The rectangle has 1 - w of the area, w of Beta(a, a), a drawn from the
// factor for the whole batch.
Tensors cut_mix(const Tensors& images_and_labels, const CutMixOptions& options = {});
Tensor cut_mix(Tensor images, const CutMixOptions& options = {});

// Keras 2's, which give images of another height or width in each step: no program of fixed shapes has such, whatever
// the device. Training is refused, in the words in which a TPU does it; otherwise images pass as they are. RandomZoom
// does nearly the same within the images' size.
struct RandomHeightOptions {
  Factor factor = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  std::string name = "random_height";
};
Tensor random_height(Tensor x, const RandomHeightOptions& options);
struct RandomWidthOptions {
  Factor factor = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  std::string name = "random_width";
};
Tensor random_width(Tensor x, const RandomWidthOptions& options);

class RandomHeight : public FunctionLayer<RandomHeight, RandomHeightOptions, random_height> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomWidth : public FunctionLayer<RandomWidth, RandomWidthOptions, random_width> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomFlip : public FunctionLayer<RandomFlip, RandomFlipOptions, random_flip> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomRotation : public FunctionLayer<RandomRotation, RandomRotationOptions, random_rotation> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomZoom : public FunctionLayer<RandomZoom, RandomZoomOptions, random_zoom> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomTranslation : public FunctionLayer<RandomTranslation, RandomTranslationOptions, random_translation> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomShear : public FunctionLayer<RandomShear, RandomShearOptions, random_shear> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomContrast : public FunctionLayer<RandomContrast, RandomContrastOptions, random_contrast> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomBrightness : public FunctionLayer<RandomBrightness, RandomBrightnessOptions, random_brightness> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomHue : public FunctionLayer<RandomHue, RandomHueOptions, random_hue> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomSaturation : public FunctionLayer<RandomSaturation, RandomSaturationOptions, random_saturation> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomColorDegeneration
    : public FunctionLayer<RandomColorDegeneration, RandomColorDegenerationOptions, random_color_degeneration> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomGrayscale : public FunctionLayer<RandomGrayscale, RandomGrayscaleOptions, random_grayscale> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomInvert : public FunctionLayer<RandomInvert, RandomInvertOptions, random_invert> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomSharpness : public FunctionLayer<RandomSharpness, RandomSharpnessOptions, random_sharpness> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomPosterization
    : public FunctionLayer<RandomPosterization, RandomPosterizationOptions, random_posterization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class Solarization : public FunctionLayer<Solarization, SolarizationOptions, solarization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class AutoContrast : public FunctionLayer<AutoContrast, AutoContrastOptions, auto_contrast> {
 public:
  using FunctionLayer::FunctionLayer;
};
class Equalization : public FunctionLayer<Equalization, EqualizationOptions, equalization> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandAugment : public FunctionLayer<RandAugment, RandAugmentOptions, rand_augment> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomErasing : public FunctionLayer<RandomErasing, RandomErasingOptions, random_erasing> {
 public:
  using FunctionLayer::FunctionLayer;
};
class RandomCrop : public FunctionLayer<RandomCrop, RandomCropOptions, random_crop> {
 public:
  using FunctionLayer::FunctionLayer;
};
class MixUp : public FunctionLayer<MixUp, MixUpOptions, mix_up> {
 public:
  using FunctionLayer::FunctionLayer;
  Tensors call_all(const Tensors& xs) override { return mix_up(xs, options()); }
};
class CutMix : public FunctionLayer<CutMix, CutMixOptions, cut_mix> {
 public:
  using FunctionLayer::FunctionLayer;
  Tensors call_all(const Tensors& xs) override { return cut_mix(xs, options()); }
};

}  // namespace tenon
