// read_image, decode_image, decode_and_crop, resize_image, center_crop, central_crop, rescale, normalize.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "data/maps/image_op.h"

namespace tenon {
namespace {

std::vector<double> numbers_of(const ReadImageOptions& o) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {number(o.height),        number(o.width),       number(o.resize),        number(o.crop_to_aspect_ratio),
          number(o.channels),      number(o.alpha),       number(o.background[0]), number(o.background[1]),
          number(o.background[2]), number(o.deep_pixels), number(o.fast),          number(o.scale_decode),
          number(o.dtype)};
}

class ReadStep : public ImageStep {
 public:
  ReadStep(std::string name, const ReadImageOptions& o) : ImageStep(numbers_of(o)), name_(std::move(name)), o_(o) {
    if (o.height != 0 || o.width != 0) {
      height_ = checked_side(name_, "height", o.height);
      width_ = checked_side(name_, "width", o.width);
    }
    const int channels = o.alpha == Alpha::kKeep ? 4 : 0;
    if (channels ? o.channels != channels : o.channels != 1 && o.channels != 3)
      fail(name_, ": channels is ", o.channels, channels ? ", expected 4 where alpha is kept" : ", expected 1 or 3");
    if (o.dtype != DType::kNone && o.dtype != DType::kU8 && o.dtype != DType::kF32)
      fail(name_, ": dtype is ", dtype_name(o.dtype), ", expected u8 or f32");
    if (o.dtype == DType::kU8 && o.deep_pixels) fail(name_, ": dtype is u8, which has no room for deep_pixels");
  }
  std::string name() const override { return name_; }
  void note(ImagePass& pass, SampleRandom) const override {
    if (height_ > 0 && o_.crop_to_aspect_ratio) crop_to_proportions(pass, height_, width_);
    if (height_ > 0) check(pass.resize(height_, width_, o_.resize));
    if (o_.dtype == DType::kU8 && pass.type() != PixelType::kU8) check(pass.round());
    if (o_.dtype == DType::kF32 || (o_.dtype == DType::kNone && (height_ > 0 || o_.deep_pixels))) pass.floats();
  }

 private:
  std::string name_;
  ReadImageOptions o_;
  int height_ = 0, width_ = 0;
};

ElementMap reading(std::string name, const ReadImageOptions& o) {
  auto encoded = std::make_shared<EncodedImage>(EncodedImage{o.feature,
                                                             {.channels = o.channels,
                                                              .alpha = o.alpha,
                                                              .background = o.background,
                                                              .deep = o.deep_pixels,
                                                              .accurate = !o.fast,
                                                              .scale_decode = o.scale_decode}});
  ImageOp::Steps steps{std::make_shared<ReadStep>(std::move(name), o)};
  return std::shared_ptr<const ElementOp>(std::make_shared<ImageOp>(std::move(encoded), std::move(steps)));
}

class ResizeStep : public ImageStep {
 public:
  explicit ResizeStep(const ResizeOptions& o)
      : ImageStep({static_cast<double>(o.height), static_cast<double>(o.width), static_cast<double>(o.resize)}),
        height_(checked_side("resize_image", "height", o.height)),
        width_(checked_side("resize_image", "width", o.width)),
        kind_(o.resize) {}
  std::string name() const override { return "resize_image"; }
  void note(ImagePass& pass, SampleRandom) const override {
    check(pass.resize(height_, width_, kind_));
    pass.floats();
  }

 private:
  int height_, width_;
  ResizeKind kind_;
};

class CenterCropStep : public ImageStep {
 public:
  explicit CenterCropStep(const CenterCropOptions& o)
      : ImageStep({static_cast<double>(o.height), static_cast<double>(o.width)}),
        name_(o.name),
        height_(checked_side(name_, "height", o.height)),
        width_(checked_side(name_, "width", o.width)) {}
  std::string name() const override { return name_; }
  void note(ImagePass& pass, SampleRandom) const override { crop_centre(pass, height_, width_); }

 private:
  std::string name_;
  int height_, width_;
};

// As tf.image.central_crop rounds.
class CentralCropStep : public ImageStep {
 public:
  explicit CentralCropStep(double fraction) : ImageStep({fraction}), fraction_(fraction) {
    if (!(fraction > 0 && fraction <= 1))
      fail("central_crop: fraction is ", fraction, ", expected more than 0, at most 1");
  }
  std::string name() const override { return "central_crop"; }
  void note(ImagePass& pass, SampleRandom) const override {
    const int top = border(pass.height()), left = border(pass.width());
    check(pass.crop(top, left, pass.height() - 2 * top, pass.width() - 2 * left));
  }

 private:
  int border(int size) const { return static_cast<int>((size - size * fraction_) / 2); }
  double fraction_;
};

class ScaleStep : public ImageStep {
 public:
  ScaleStep(std::string name, std::vector<double> scale, std::vector<double> offset)
      : ImageStep(joined(scale, offset)),
        name_(std::move(name)),
        scale_(std::move(scale)),
        offset_(std::move(offset)) {}
  std::string name() const override { return name_; }
  void note(ImagePass& pass, SampleRandom) const override {
    float scale[4], offset[4];
    for (size_t c = 0; c < 4; ++c) scale[c] = of(pass, scale_, c), offset[c] = of(pass, offset_, c);
    check(pass.scale(scale, offset));
  }

 private:
  static std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  float of(const ImagePass& pass, const std::vector<double>& numbers, size_t channel) const {
    if (numbers.size() != 1 && numbers.size() != static_cast<size_t>(pass.channels()))
      fail(name_, ": ", numbers.size(), " numbers, expected one, or one for each of ", pass.channels(), " channels");
    return static_cast<float>(numbers[std::min(channel, numbers.size() - 1)]);
  }
  std::string name_;
  std::vector<double> scale_, offset_;
};

}  // namespace

ElementMap read_image(const ReadImageOptions& options) { return reading("read_image", options); }
ElementMap decode_image(const ReadImageOptions& options) { return reading("decode_image", options); }

ElementMap decode_and_crop(int64_t size, ReadImageOptions options) {
  options.height = options.width = size;
  options.crop_to_aspect_ratio = true;
  return reading("decode_and_crop", options);
}

ElementMap resize_image(const ResizeOptions& options) { return image_map_of(std::make_shared<ResizeStep>(options)); }
ElementMap center_crop(const CenterCropOptions& options) {
  return image_map_of(std::make_shared<CenterCropStep>(options));
}
ElementMap central_crop(double fraction) { return image_map_of(std::make_shared<CentralCropStep>(fraction)); }

ElementMap rescale(double scale, double offset) {
  if (!std::isfinite(scale) || !std::isfinite(offset))
    fail("rescale: scale is ", scale, ", offset ", offset, ", expected finite numbers");
  return image_map_of(std::make_shared<ScaleStep>("rescale", std::vector{scale}, std::vector{offset}));
}

ElementMap normalize(std::vector<double> mean, std::vector<double> deviation) {
  if (mean.size() != deviation.size() || mean.empty())
    fail("normalize: ", mean.size(), " means and ", deviation.size(), " deviations, expected as many, one at least");
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !(deviation[c] > 0) || !std::isfinite(deviation[c]))
      fail("normalize: mean is ", mean[c], ", deviation ", deviation[c],
           ", expected finite numbers, deviations above 0");
    mean[c] = -mean[c] / deviation[c];
    deviation[c] = 1 / deviation[c];
  }
  return image_map_of(std::make_shared<ScaleStep>("normalize", std::move(deviation), std::move(mean)));
}

}  // namespace tenon
