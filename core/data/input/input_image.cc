#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/image/decoded_images.h"
#include "data/image/image_pass.h"
#include "data/input/input_dataset.h"
#include "tenon/example.h"

namespace tenon {
namespace {

constexpr int kMaxSide = 16384;
constexpr int64_t kMostLabels = int64_t{1} << 31;

bool is_raw(std::string_view format) {
  return format.size() == 3 && std::toupper(format[0]) == 'R' && std::toupper(format[1]) == 'A' &&
         std::toupper(format[2]) == 'W';
}

// Pixels as they stand in the record.
Result<PixelView> raw_pixels(const Example& example, std::string_view bytes, int channels) {
  TENON_ASSIGN(const int64_t height, example.int64("image/height"));
  TENON_ASSIGN(const int64_t width, example.int64("image/width"));
  if (height < 1 || width < 1 || height > kMaxSide || width > kMaxSide)
    return invalid("a RAW image of ", height, " x ", width, " pixels");
  if (static_cast<int64_t>(bytes.size()) != height * width * channels)
    return invalid("RAW image: expected ", height, " x ", width, " x ", channels, " bytes, found ", bytes.size());
  return PixelView{.data = reinterpret_cast<const uint8_t*>(bytes.data()),
                   .height = static_cast<int>(height),
                   .width = static_cast<int>(width),
                   .stored = static_cast<int>(width),
                   .channels = channels};
}

class ImageMap {
 public:
  // `kept` may be null.
  explicit ImageMap(InputOptions options, std::shared_ptr<DecodedImages> kept = nullptr)
      : o_(std::move(options)), kept_(std::move(kept)) {
    const Augmentation& a = o_.augmentation;
    grid_height_ = o_.height + (o_.training ? a.crop_pad : 0);
    grid_width_ = o_.width + (o_.training ? a.crop_pad : 0);
    source_ = {.channels = o_.channels,
               .alpha = o_.alpha,
               .background = o_.background,
               .deep = o_.deep_pixels,
               // What augmentation changes at random need not be exact before.
               .accurate = !o_.training,
               .scale_decode = o_.scale_decode};
  }

  Status operator()(std::string_view record, const Sample& sample, Slots& out) const {
    thread_local Example example;
    TENON_TRY(example.parse(record));
    TENON_TRY(set_label(example, out.get<int32_t>(1)[0]));
    KeptImage owner;
    ImagePass pass;
    TENON_TRY(begin(example, pass, &owner));
    return o_.training ? write_changed(pass, sample.random(), out) : write(pass, out);
  }

  // The bytes of an image file, into the only feature.
  Status file(std::string_view bytes, Slots& out) const {
    ImagePass pass;
    TENON_TRY(pass.begin(bytes, source_));
    return write(pass, out);
  }

 private:
  Status set_label(const Example& example, int32_t& out) const {
    TENON_ASSIGN(const int64_t stored, example.int64(o_.label_feature));
    const int64_t first = o_.label_offset, last = first + o_.num_classes - 1;
    // Not damage: the model expects another number of classes.
    if (stored < first || stored > last)
      return Status(Code::kUnsupported,
                    first == 1 ? cat(o_.label_feature, ": expected 1 to ", last,
                                     ", the number of classes (--num_classes), found ", stored)
                               : cat(o_.label_feature, ": expected ", first, " to ", last, " for ", o_.num_classes,
                                     " classes (--num_classes, --label_offset), found ", stored));
    out = static_cast<int32_t>(stored - first);
    return {};
  }

  Status begin(const Example& example, ImagePass& pass, KeptImage* owner) const {
    TENON_ASSIGN(const std::string_view bytes, example.bytes(o_.image_feature));
    const Feature* format = example.find(o_.format_feature);
    if (format && format->kind() == Feature::Kind::kBytes && format->size() == 1 && is_raw(format->bytes())) {
      TENON_ASSIGN(const PixelView pixels, raw_pixels(example, bytes, o_.channels));
      pass.begin(pixels);
      if (kept_) kept_->pass_by();
      return {};
    }
    if (!kept_) return pass.begin(bytes, source_);
    TENON_ASSIGN(*owner, kept_->get(bytes));
    pass.begin(owner->view);
    return {};
  }

  Status write(ImagePass& pass, Slots& out) const {
    TENON_TRY(pass.resize(grid_height_, grid_width_, o_.resize));
    pass.colour(in_range({}));
    return pass.write(out.get<float>(0).data());
  }

  // Everything is drawn whether or not it is used, so that switching one thing off leaves the others as they were.
  Status write_changed(ImagePass& pass, SampleRandom random, Slots& out) const {
    const Augmentation& a = o_.augmentation;
    const int top = random.below(a.crop_pad + 1), left = random.below(a.crop_pad + 1);
    const bool flip = random.uniform(0, 1) < 0.5f && a.flip;
    ColourChange change;
    change.brightness = random.uniform(-a.brightness, a.brightness);
    change.contrast = random.uniform(a.contrast_lower, a.contrast_upper);
    TENON_TRY(pass.resize(grid_height_, grid_width_, o_.resize));
    TENON_TRY(pass.crop(top, left, o_.height, o_.width));
    if (flip) pass.flip_columns();
    pass.colour(in_range(change));
    return pass.write(out.get<float>(0).data());
  }

  ColourChange in_range(ColourChange change) const {
    if (o_.range == PixelRange::kMinusOneToOne) change.scale = 2, change.offset = -1;
    return change;
  }

  InputOptions o_;
  std::shared_ptr<DecodedImages> kept_;
  int grid_height_, grid_width_;
  PassSource source_;
};

}  // namespace

Result<std::vector<FeatureSpec>> image_specs(const InputOptions& o) {
  const Augmentation& a = o.augmentation;
  if (o.height < 1 || o.width < 1 || o.height > kMaxSide || o.width > kMaxSide)
    return invalid("image size: expected 1 to ", kMaxSide, " pixels a side, found ", o.height, " x ", o.width);
  if (o.label_offset < -kMostLabels || o.label_offset > kMostLabels)
    return invalid("label_offset: expected ", -kMostLabels, " to ", kMostLabels, ", found ", o.label_offset);
  if (o.alpha == Alpha::kKeep && o.channels != 4)
    return invalid("image channels: expected 4 where alpha is kept, found ", o.channels);
  if (o.alpha != Alpha::kKeep && o.channels != 1 && o.channels != 3)
    return invalid("image channels: expected 1 or 3, found ", o.channels);
  if (o.num_classes < 1) return invalid("num_classes: expected at least 1, found ", o.num_classes);
  if (a.crop_pad < 0 || a.crop_pad > kMaxSide)
    return invalid("crop_pad: expected 0 to ", kMaxSide, ", found ", a.crop_pad);
  if (!(a.brightness >= 0 && std::isfinite(a.brightness)))
    return invalid("brightness: expected a finite number of at least 0, found ", a.brightness);
  if (!(a.contrast_lower >= 0 && a.contrast_upper >= a.contrast_lower && std::isfinite(a.contrast_upper)))
    return invalid("contrast: expected 0 <= lower <= upper, both finite, found ", a.contrast_lower, " and ",
                   a.contrast_upper);
  return std::vector<FeatureSpec>{{"image", {DType::kF32, {o.height, o.width, o.channels}}, o.transpose},
                                  {"label", {DType::kI32, {}}}};
}

MapFn image_map(const InputOptions& options, std::shared_ptr<DecodedImages> kept) {
  return ImageMap(options, std::move(kept));
}

std::shared_ptr<DecodedImages> images_to_keep(const InputOptions& o) {
  if (!o.cache.on) return nullptr;
  DecodeOptions decode;
  decode.channels = o.channels;
  decode.alpha = o.alpha;
  decode.background = o.background;
  decode.deep = o.deep_pixels;
  decode.accurate = !o.training;
  if (o.scale_decode) {  // as ImagePass has it of a whole image
    const int pad = o.training ? o.augmentation.crop_pad : 0;
    decode.min_width = o.width + pad, decode.min_height = o.height + pad;
  }
  return std::make_shared<DecodedImages>(o.cache, decode);
}

Result<Dataset> Dataset::image_files(std::vector<std::string> paths, InputOptions options) {
  options.training = false;
  options.num_classes = std::max(options.num_classes, 1);  // there are no labels
  TENON_ASSIGN(std::vector<FeatureSpec> specs, image_specs(options));
  specs.pop_back();
  const auto count = static_cast<int64_t>(paths.size());
  const ExampleFn example = [map = ImageMap(options), paths = std::move(paths)](int64_t i, const Sample&,
                                                                                Slots& out) -> Status {
    const std::string& path = paths[static_cast<size_t>(i)];
    TENON_ASSIGN(const std::string bytes, read_file(path));
    const Status status = map.file(bytes, out);
    return status.ok() ? status : Status(status.code(), cat(path, ": ", status.message()));
  };
  return from_function(count, std::move(specs), example, options);
}

}  // namespace tenon
