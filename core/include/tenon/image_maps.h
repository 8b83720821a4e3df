// What Dataset::map does to images: reading, cutting, changing them at random, mixing them.
//
//   Dataset train = Dataset::from_files(paths, labels).map(read_image({.height = 256, .width = 256})).cache().shuffle(2048)
//                       .map(random_crop({224, 224})).map(random_flip({.mode = FlipMode::kHorizontal}))
//                       .map(random_brightness({.factor = 0.2})).map(rescale(1 / 127.5, -1)).batch(128, true);
//
// Images are the feature "image", [height, width, channels]: u8 as they are decoded, f32 once they are resized or their
// values change, of 0 to 255 until rescale() or normalize(). Maps that follow each other run as one pass from the file
// to the row of the batch, in which no more is decoded than is seen. Names, defaults and formulas are those of the
// layers in augmentation.h; each image has draws of its own. All throw Error, here for options, where an element is
// read for its image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/element.h"
#include "tenon/image_changes.h"
#include "tenon/image_options.h"

namespace tenon {

struct ReadImageOptions {
  int64_t height = 0, width = 0;  // 0: as the file has it
  ResizeKind resize = ResizeKind::kHalfPixel;
  bool crop_to_aspect_ratio = false;  // cuts what is too wide or too high, in the middle, before
  int channels = 3;                   // 1 or 3, or 4 with Alpha::kKeep
  Alpha alpha = Alpha::kDrop;
  Colour background = {255, 255, 255};  // of Alpha::kBlend
  bool deep_pixels = false;  // PNGs of 16 bits keep them: f32, 255/65535 of a step apart; else the upper 8 count
  // JPEGs by a faster DCT, and without smoothed chroma: a step or two of 255 off, more at edges of colour. For images
  // that are changed at random.
  bool fast = false;
  // JPEGs are decoded at 1/2 or 1/4 of their size where that covers the result: faster, smoother
  bool scale_decode = false;
  // kU8: values are rounded, so that a cache holds a quarter. kF32: floats although nothing asks for them. kNone: as it
  // comes.
  DType dtype = DType::kNone;
  std::string feature = "data";  // the bytes, u8[n]; where there is none, "path" names a file
};
// An encoded image (JPEG, PNG, WebP), as "image". The bytes and "path" are left out of the element.
ElementMap read_image(const ReadImageOptions& options = {});
// The same of a record's feature: decode_image({.feature = "image/encoded"}).
ElementMap decode_image(const ReadImageOptions& options);
// The largest square in the middle, of size x size pixels.
ElementMap decode_and_crop(int64_t size, ReadImageOptions options = {});

struct ResizeOptions {
  int64_t height = 0, width = 0;
  ResizeKind resize = ResizeKind::kHalfPixel;
};
ElementMap resize_image(const ResizeOptions& options);
// In the middle: height x width, of smaller images the middle with these proportions, resized; or a part of each side,
// 0 to 1.
ElementMap center_crop(const CenterCropOptions& options);
ElementMap central_crop(double fraction);

// ---- at random ----
// At any place; smaller images as center_crop has them.
ElementMap random_crop(const RandomCropOptions& options);
// A part of the image's area and of other proportions, resized: torchvision's RandomResizedCrop.
struct RandomResizedCropOptions {
  int64_t height = 0, width = 0;
  Factor scale = {0.08, 1};             // of the area
  Factor ratio = {3.0 / 4, 4.0 / 3};    // width to height
  ResizeKind resize = ResizeKind::kHalfPixel;
};
ElementMap random_resized_crop(const RandomResizedCropOptions& options);
ElementMap random_flip(const RandomFlipOptions& options = {});
ElementMap random_rotation(const RandomRotationOptions& options);
ElementMap random_zoom(const RandomZoomOptions& options);
ElementMap random_translation(const RandomTranslationOptions& options);
ElementMap random_shear(const RandomShearOptions& options);
ElementMap random_contrast(const RandomContrastOptions& options);
ElementMap random_brightness(const RandomBrightnessOptions& options);

// ---- values ----
// x scale + offset.
ElementMap rescale(double scale, double offset = 0);
// (x - mean) / deviation, each one number, or one a channel.
ElementMap normalize(std::vector<double> mean, std::vector<double> deviation);

// ---- batches: after batch() ----
// Each example mixed with another one of the batch, w and 1 - w, w of Beta(alpha, alpha): "image", and `label`, whose
// numbers are floats a class (one-hot). Integers are refused.
ElementMap mix_up(const MixUpOptions& options = {}, const std::string& label = "label");
// A rectangle of another one in it, and labels in proportion.
ElementMap cut_mix(const CutMixOptions& options = {}, const std::string& label = "label");

}  // namespace tenon
