#include "public_functions.h"
#include "tenon/adaptive_pooling.h"
#include "tenon/augmentation.h"
#include "tenon/preprocessing.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

constexpr double kMuch = 1e300;

Tensor images(A& a) { return a.ranked({2, 8, 8, 3}, true); }
Factor factor(A& a, double good, const std::vector<double>& bad) {
  const double low = a.within(-good, bad);
  return {low, a.within(good, {-2 * good})};
}
ValueRange value_range(A& a) {
  ValueRange r;
  r.low = a.finite(0);
  r.high = a.within(255, {-1});
  return r;
}
template <class Options>
void of_pixels(A& a, Options& o) {
  o.factor = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
  o.value_range = value_range(a);
}
template <class Options>
void transform(A& a, Options& o) {
  o.fill_mode = a.one_of(FillMode::kReflect);
  o.interpolation = a.one_of(ResizeMethod::kBilinear);
  o.fill_value = a.finite(0);
}

const std::vector<Function> kImages = {
    {"normalization",
     [](A& a) {
       auto x = a.any({2, 3});
       NormalizationOptions o;
       o.axis = a.list({-1}, {{9}, {-9}, {0}, {1, 1}, {kMost}});
       o.mean = std::vector<float>(static_cast<size_t>(a.number(3, {0, 2, 4})), static_cast<float>(a.finite(1)));
       o.variance = std::vector<float>(static_cast<size_t>(a.number(3, {0, 2})), static_cast<float>(a.within(1, {-1})));
       normalization(x, o);
     }},
    {"Normalization::adapt",
     [](A& a) {
       Normalization layer;
       const int64_t rows = a.number(4, {0, 3, -1, kMost});
       layer.adapt(std::vector<double>(12, a.finite(1)), {rows, 3});
     }},
    {"category_encoding",
     [](A& a) {
       auto i = a.classes({2, 4});
       CategoryEncodingOptions o;
       o.num_tokens = a.size(5);
       o.output_mode = a.one_of(OutputMode::kCount);
       category_encoding(i, o);
     }},
    {"resizing",
     [](A& a) {
       auto x = images(a);
       ResizingOptions o;
       o.height = a.size(4);
       o.width = a.size(4);
       o.interpolation = a.one_of(Interpolation::kBilinear);
       o.fill_value = a.finite(0);
       o.crop_to_aspect_ratio = true;
       o.pad_to_aspect_ratio = a.number(0, {1}) == 1;
       resizing(x, o);
     }},
    {"center_crop",
     [](A& a) {
       auto x = images(a);
       CenterCropOptions o;
       o.height = a.size(4);
       o.width = a.size(4);
       center_crop(x, o);
     }},
    {"random_crop",
     [](A& a) {
       auto x = images(a);
       RandomCropOptions o;
       o.height = a.size(4);
       o.width = a.size(4);
       random_crop(x, o);
     }},
    {"random_flip",
     [](A& a) {
       auto x = images(a);
       random_flip(x, {.mode = a.one_of(FlipMode::kVertical)});
     }},
    {"random_rotation",
     [](A& a) {
       auto x = images(a);
       RandomRotationOptions o;
       o.factor = factor(a, 0.1, {kMuch});
       transform(a, o);
       random_rotation(x, o);
     }},
    {"random_zoom",
     [](A& a) {
       auto x = images(a);
       RandomZoomOptions o;
       o.height_factor = factor(a, 0.1, {kMuch, -1.5});
       o.width_factor = factor(a, 0.1, {kMuch, -1.5});
       transform(a, o);
       random_zoom(x, o);
     }},
    {"random_translation",
     [](A& a) {
       auto x = images(a);
       RandomTranslationOptions o;
       o.height_factor = factor(a, 0.1, {kMuch});
       o.width_factor = factor(a, 0.1, {kMuch});
       transform(a, o);
       random_translation(x, o);
     }},
    {"random_shear",
     [](A& a) {
       auto x = images(a);
       RandomShearOptions o;
       o.x_factor = factor(a, 0.1, {kMuch});
       o.y_factor = factor(a, 0.1, {kMuch});
       transform(a, o);
       random_shear(x, o);
     }},
    {"random_hue",
     [](A& a) {
       auto x = images(a);
       RandomHueOptions o;
       of_pixels(a, o);
       random_hue(x, o);
     }},
    {"random_saturation",
     [](A& a) {
       auto x = images(a);
       RandomSaturationOptions o;
       of_pixels(a, o);
       random_saturation(x, o);
     }},
    {"random_color_degeneration",
     [](A& a) {
       auto x = images(a);
       RandomColorDegenerationOptions o;
       of_pixels(a, o);
       random_color_degeneration(x, o);
     }},
    {"random_grayscale",
     [](A& a) {
       auto x = images(a);
       random_grayscale(x, {.factor = a.within(0.1, {-2, 2})});
     }},
    {"random_invert",
     [](A& a) {
       auto x = images(a);
       RandomInvertOptions o;
       of_pixels(a, o);
       random_invert(x, o);
     }},
    {"random_sharpness",
     [](A& a) {
       auto x = images(a);
       RandomSharpnessOptions o;
       of_pixels(a, o);
       random_sharpness(x, o);
     }},
    {"random_posterization",
     [](A& a) {
       auto x = images(a);
       RandomPosterizationOptions o;
       o.factor = {a.within(2, {-2, 0.5}), a.within(5, {1.5, 9})};
       o.value_range = value_range(a);
       random_posterization(x, o);
     }},
    {"solarization",
     [](A& a) {
       auto x = images(a);
       SolarizationOptions o;
       o.addition_factor = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
       o.threshold_factor = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
       o.value_range = value_range(a);
       solarization(x, o);
     }},
    {"auto_contrast",
     [](A& a) {
       auto x = images(a);
       auto_contrast(x, {.value_range = value_range(a)});
     }},
    {"equalization",
     [](A& a) {
       auto x = images(a);
       EqualizationOptions o;
       o.value_range = value_range(a);
       o.bins = a.number(16, {-1, 1, 100000});
       equalization(x, o);
     }},
    {"rand_augment",
     [](A& a) {
       auto x = images(a);
       RandAugmentOptions o;
       of_pixels(a, o);
       o.num_ops = a.number(1, {-1, 0, 1000});
       rand_augment(x, o);
     }},
    {"random_erasing",
     [](A& a) {
       auto x = images(a);
       RandomErasingOptions o;
       o.factor = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
       o.scale = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
       o.fill_value = std::vector<double>(static_cast<size_t>(a.number(3, {2, 4})), a.finite(1));
       o.value_range = value_range(a);
       random_erasing(x, o);
     }},
    {"mix_up",
     [](A& a) {
       auto x = images(a);
       auto y = a.floats({2, 3});
       mix_up({x, y}, {.alpha = a.positive(0.2)});
     }},
    {"cut_mix",
     [](A& a) {
       auto x = images(a);
       auto y = a.floats({2, 3});
       CutMixOptions o;
       o.factor = {a.within(0.1, {-2, 2}), a.within(0.5, {-1, 2})};
       cut_mix({x, y}, o);
     }},
    {"random_contrast",
     [](A& a) {
       auto x = images(a);
       RandomContrastOptions o;
       o.factor = {a.within(0.5, {-2, 2}), a.within(0.5, {-1, 2})};
       o.value_range = value_range(a);
       random_contrast(x, o);
     }},
    {"random_brightness",
     [](A& a) {
       auto x = images(a);
       RandomBrightnessOptions o;
       o.factor = factor(a, 0.1, {-2, 2});
       o.value_range = value_range(a);
       random_brightness(x, o);
     }},
    {"adaptive_average_pool2d",
     [](A& a) {
       auto x = a.ranked({2, 8, 8, 3});
       adaptive_average_pool2d(x, Extent(a.list({3}, {{0}, {-1}, {kMost}, {kLeast}, {2, 0}, {1, 2, 3}, {}})));
     }},
    {"adaptive_max_pool2d",
     [](A& a) {
       auto x = a.ranked({2, 8, 8, 3});
       adaptive_max_pool2d(x, Extent(a.list({3}, {{0}, {-1}, {kMost}, {kLeast}, {2, 0}, {1, 2, 3}, {}})));
     }},
};

}  // namespace

const std::vector<Function>& image_functions() { return kImages; }

}  // namespace tenon::public_arguments
