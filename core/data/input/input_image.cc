#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/file/file.h"
#include "base/text.h"
#include "data/image/augment.h"
#include "data/image/image.h"
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

// The part of an image that a window reads, with a margin for what rounding may move at a smaller scale.
ImageWindow decode_window(const ImageInfo& info, const ResizeWindow& w, int margin) {
  const AxisRange rows = touched(info.height, w.grid_height, w.top, w.height);
  const AxisRange columns = touched(info.width, w.grid_width, w.left, w.width);
  const int y = std::max(rows.begin - margin, 0), y_end = std::min(rows.end + margin, info.height);
  const int x = std::max(columns.begin - margin, 0), x_end = std::min(columns.end + margin, info.width);
  // Whole rows are decoded in place; parts of them are copied, which pays only when much is left out.
  if (x_end - x > info.width * 3 / 4) return {0, y, info.width, y_end - y};
  return {x, y, x_end - x, y_end - y};
}

class ImageMap {
 public:
  explicit ImageMap(InputOptions options) : o_(std::move(options)) {
    const Augmentation& a = o_.augmentation;
    grid_height_ = o_.height + (o_.training ? a.crop_pad : 0);
    grid_width_ = o_.width + (o_.training ? a.crop_pad : 0);
  }

  Status operator()(std::string_view record, const Sample& sample, Slots& out) const {
    thread_local Image decoded;
    const Status status = map(record, sample, out, &decoded);
    decoded.free_large();
    return status;
  }

  // The bytes of a JPEG or PNG file, into the only feature.
  Status file(std::string_view bytes, Slots& out) const {
    thread_local Image decoded;
    const Status status = show(bytes, {grid_height_, grid_width_, 0, 0, o_.height, o_.width, false}, {}, out, &decoded);
    decoded.free_large();
    return status;
  }

 private:
  Status show(std::string_view bytes, const ResizeWindow& window, ColourChange change, Slots& out,
              Image* decoded) const {
    if (o_.range == PixelRange::kMinusOneToOne) change.scale = 2, change.offset = -1;
    TENON_ASSIGN(const PixelView pixels, pixels_in(bytes, window, decoded));
    resize_and_colour(pixels, window, change, out.get<float>(0).data());
    return {};
  }

  Status map(std::string_view record, const Sample& sample, Slots& out, Image* decoded) const {
    thread_local Example example;
    TENON_TRY(example.parse(record));
    TENON_TRY(set_label(example, out.get<int32_t>(1)[0]));
    ResizeWindow window{grid_height_, grid_width_, 0, 0, o_.height, o_.width, false};
    ColourChange change;
    if (o_.range == PixelRange::kMinusOneToOne) change.scale = 2, change.offset = -1;
    if (o_.training) draw(sample, window, change);
    TENON_ASSIGN(const PixelView pixels, pixels_of(example, window, decoded));
    resize_and_colour(pixels, window, change, out.get<float>(0).data());
    return {};
  }

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

  Result<PixelView> pixels_of(const Example& example, const ResizeWindow& window, Image* decoded) const {
    TENON_ASSIGN(const std::string_view bytes, example.bytes(o_.image_feature));
    const Feature* format = example.find(o_.format_feature);
    if (format && format->kind() == Feature::Kind::kBytes && format->size() == 1 && is_raw(format->bytes()))
      return raw_pixels(example, bytes, o_.channels);
    return pixels_in(bytes, window, decoded);
  }

  Result<PixelView> pixels_in(std::string_view bytes, const ResizeWindow& window, Image* decoded) const {
    TENON_ASSIGN(const ImageInfo info, read_image_info(bytes));
    DecodeOptions options{.channels = o_.channels};
    // What augmentation changes at random need not be exact before.
    options.accurate = !o_.training;
    if (o_.scale_decode) options.min_width = grid_width_, options.min_height = grid_height_;
    options.window = decode_window(info, window, o_.scale_decode ? 8 : 0);
    TENON_TRY(decode_image(bytes, options, decoded));
    const int s = decoded->scale;
    return PixelView{.data = decoded->pixels.data(),
                     .height = (info.height + s - 1) / s,
                     .width = (info.width + s - 1) / s,
                     .y = options.window.y / s,
                     .x = options.window.x / s,
                     .stored = decoded->width,
                     .channels = o_.channels};
  }

  // Everything is drawn whether or not it is used, so that switching one thing off leaves the others as they were.
  void draw(const Sample& sample, ResizeWindow& window, ColourChange& change) const {
    const Augmentation& a = o_.augmentation;
    SampleRandom random = sample.random();
    window.top = random.below(a.crop_pad + 1);
    window.left = random.below(a.crop_pad + 1);
    window.flip = random.uniform(0, 1) < 0.5f && a.flip;
    change.brightness = random.uniform(-a.brightness, a.brightness);
    change.contrast = random.uniform(a.contrast_lower, a.contrast_upper);
  }

  InputOptions o_;
  int grid_height_, grid_width_;
};

}  // namespace

Result<std::vector<FeatureSpec>> image_specs(const InputOptions& o) {
  const Augmentation& a = o.augmentation;
  if (o.height < 1 || o.width < 1 || o.height > kMaxSide || o.width > kMaxSide)
    return invalid("image size: expected 1 to ", kMaxSide, " pixels a side, found ", o.height, " x ", o.width);
  if (o.channels != 1 && o.channels != 3) return invalid("image channels: expected 1 or 3, found ", o.channels);
  if (o.label_offset < -kMostLabels || o.label_offset > kMostLabels)
    return invalid("label_offset: expected ", -kMostLabels, " to ", kMostLabels, ", found ", o.label_offset);
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

MapFn image_map(const InputOptions& options) { return ImageMap(options); }

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
