// The defaults of layers that prepare and change images.
#include "tenon/augmentation.h"
#include "tenon/preprocessing.h"
#include "unit/train/signatures/signatures_testing.h"

namespace tenon::signatures {
namespace {

Default own(Interpolation i) { return text(i == Interpolation::kBilinear ? "bilinear" : "other"); }
Default own(FlipMode m) {
  return text(m == FlipMode::kHorizontalAndVertical ? "horizontal_and_vertical" : "one of them");
}
Default own(OutputMode m) { return text(m == OutputMode::kMultiHot ? "multi_hot" : "other"); }
Default own(const ValueRange& r) {
  const std::string ours = "(" + std::to_string(std::lround(r.low)) + ", " + std::to_string(std::lround(r.high)) + ")";
  return {ours, [ours](const std::string& golden) { return golden == ours; }};
}
// A number f is [-f, f].
Default own(const Factor& f) {
  return {std::to_string(f.low) + " to " + std::to_string(f.high), [f](std::string golden) {
            if (golden.starts_with('(')) golden = golden.substr(1, golden.size() - 2);
            const std::vector<double> both = golden::listed(golden);
            const Factor theirs = both.size() == 2 ? Factor(both[0], both[1]) : Factor(both.at(0));
            return f.low == theirs.low && f.high == theirs.high;
          }};
}
Default own(const std::optional<Factor>& f) { return none(!f); }
using signatures::own;

template <class Options>
Ours places(const Options& o) {
  return {TENON_FIELD(o, fill_mode), TENON_FIELD(o, interpolation), TENON_FIELD(o, fill_value)};
}

}  // namespace

Table image_layers() {
  const NormalizationOptions norm;
  const ResizingOptions size;
  const RandomRotationOptions turn;
  const RandomTranslationOptions move;
  const RandomZoomOptions zoom;
  const RandomContrastOptions contrast;
  const RandomBrightnessOptions brightness;
  const RandomShearOptions shear;
  const RandomHueOptions hue;
  const RandomSaturationOptions saturation;
  const RandomErasingOptions erasing;
  const RandAugmentOptions augment;
  const CategoryEncodingOptions tokens;
  const auto measures = [](const auto& o) { return Ours{TENON_NEEDED(o, height), TENON_NEEDED(o, width)}; };
  return {
      {"Normalization",
       {TENON_FIELD(norm, axis), TENON_FIELD(norm, mean), TENON_FIELD(norm, variance), TENON_FIELD(norm, invert)}},
      {"CategoryEncoding", {TENON_OR_NONE(tokens, num_tokens), TENON_FIELD(tokens, output_mode)}},
      {"Resizing", measures(size) + Ours{TENON_FIELD(size, interpolation), TENON_FIELD(size, crop_to_aspect_ratio),
                                         TENON_FIELD(size, pad_to_aspect_ratio), TENON_FIELD(size, fill_value),
                                         TENON_FIELD(size, antialias)}},
      {"CenterCrop", measures(CenterCropOptions())},
      {"RandomCrop", measures(RandomCropOptions())},
      {"RandomFlip", {TENON_FIELD(RandomFlipOptions(), mode)}},
      {"RandomRotation", places(turn) + Ours{TENON_NEEDED(turn, factor)}},
      {"RandomTranslation", places(move) + Ours{TENON_NEEDED(move, height_factor), TENON_NEEDED(move, width_factor)}},
      {"RandomZoom", places(zoom) + Ours{TENON_NEEDED(zoom, height_factor), TENON_FIELD(zoom, width_factor)}},
      {"RandomContrast", {TENON_NEEDED(contrast, factor), TENON_FIELD(contrast, value_range)}},
      {"RandomShear", places(shear) + Ours{TENON_FIELD(shear, x_factor), TENON_FIELD(shear, y_factor)}},
      {"RandomHue", {TENON_NEEDED(hue, factor), TENON_FIELD(hue, value_range)}},
      {"RandomSaturation", {TENON_NEEDED(saturation, factor), TENON_FIELD(saturation, value_range)}},
      {"RandAugment",
       {TENON_FIELD(augment, value_range), TENON_FIELD(augment, num_ops), TENON_FIELD(augment, factor),
        TENON_FIELD(augment, interpolation)}},
      {"MixUp", {TENON_FIELD(MixUpOptions(), alpha)}},
      {"CutMix", {TENON_FIELD(CutMixOptions(), factor)}},
      {"RandomErasing",
       {TENON_FIELD(erasing, factor), TENON_FIELD(erasing, scale), TENON_FIELD(erasing, fill_value),
        TENON_FIELD(erasing, value_range)}},
      {"RandomBrightness", {TENON_NEEDED(brightness, factor), TENON_FIELD(brightness, value_range)}},
  };
}

}  // namespace tenon::signatures
