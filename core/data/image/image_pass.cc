#include "data/image/image_pass.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/room.h"
#include "base/strings.h"
#include "data/image/image_internal.h"
#include "data/work_span.h"

namespace tenon {
namespace {

struct PassBuffers {
  Image decoded;
  std::vector<float> floats[2];
  std::vector<float> rest;  // of images that become u8
  bool taken = false;
};
PassBuffers& pass_buffers() {
  thread_local PassBuffers buffers;
  return buffers;
}

void free_large_floats(std::vector<float>& floats) {
  if (!room_to_keep(floats.size() * sizeof(float))) std::vector<float>().swap(floats);
}

// Writes the window of an image that is not resized.
template <class T>
void copy_pixels(const PixelView& image, const ResizeWindow& w, T* out) {
  const size_t pixel = static_cast<size_t>(image.channels), stride = static_cast<size_t>(image.stored) * pixel;
  const T* const first = static_cast<const T*>(image.data) + static_cast<size_t>(w.left - image.x) * pixel;
  const auto width = static_cast<size_t>(w.width);
  for (int y = 0; y < w.height; ++y, out += width * pixel) {
    const T* row = first + static_cast<size_t>(w.top + (w.flip_rows ? w.height - 1 - y : y) - image.y) * stride;
    if (!w.flip) {
      std::memcpy(out, row, width * pixel * sizeof(T));
      continue;
    }
    for (size_t x = 0; x < width; ++x)
      for (size_t c = 0; c < pixel; ++c) out[x * pixel + c] = row[(width - 1 - x) * pixel + c];
  }
}

int divided_up(int a, int b) { return a / b + (a % b != 0); }

}  // namespace

bool ImagePass::Values::is_uniform() const {
  return std::all_of(scale, scale + 4, [&](float s) { return s == scale[0]; }) &&
         std::all_of(offset, offset + 4, [&](float o) { return o == offset[0]; });
}

ValueChange ImagePass::Values::about(const float* means) const {
  ValueChange out = *this;
  for (int c = 0; contrast != 1 && c < 4; ++c) {
    out.scale[c] *= contrast;
    out.offset[c] += (means[c] - means[c] * contrast) * scale[c];
  }
  return out;
}

ImagePass::ImagePass() = default;

ImagePass::~ImagePass() {
  PassBuffers& buffers = pass_buffers();
  buffers.decoded.free_large();
  for (std::vector<float>& floats : buffers.floats) free_large_floats(floats);
  free_large_floats(buffers.rest);
}

void ImagePass::begin_whole(int height, int width, int channels, PixelType type) {
  part_ = {0, 0, width, height};
  source_height_ = height, source_width_ = width;
  window_ = {height, width, 0, 0, height, width, false, false, ResizeKind::kHalfPixel};
  channels_ = channels;
  source_type_ = type;
  floats_ = whole_ = false;
  value_count_ = 0;
  has_colour_ = false;
}

Status ImagePass::begin(std::string_view bytes, const PassSource& source) {
  TENON_ASSIGN(const ImageInfo info, read_image_info(bytes));
  bytes_ = bytes;
  source_ = source;
  const bool deep = source.deep && info.bits == 16;
  begin_whole(info.height, info.width, source.channels, deep ? PixelType::kU16 : PixelType::kU8);
  return {};
}

void ImagePass::begin(const PixelView& pixels) {
  bytes_ = {};
  given_ = pixels;
  begin_whole(pixels.height, pixels.width, pixels.channels, pixels.type);
}

PixelType ImagePass::type() const {
  if (value_count_ > 0 && values_[value_count_ - 1].rounds) return PixelType::kU8;
  const bool same = !floats_ && !is_resized() && value_count_ == 0 && !has_colour_;
  return same && (source_type_ == PixelType::kU8 || whole_) ? PixelType::kU8 : PixelType::kF32;
}

bool ImagePass::is_resized() const { return window_.grid_height != part_.height || window_.grid_width != part_.width; }

Status ImagePass::crop(int top, int left, int height, int width) {
  for (int i = 0; i < value_count_; ++i)
    if (values_[i].contrast != 1) {  // about the mean of all that was there
      TENON_TRY(settle());
      break;
    }
  window_.top += window_.flip_rows ? window_.height - top - height : top;
  window_.left += window_.flip ? window_.width - left - width : left;
  window_.height = height, window_.width = width;
  return {};
}

Status ImagePass::resize(int height, int width, ResizeKind kind) {
  if (height == window_.height && width == window_.width) return {};
  if (is_resized() || window_.flip || window_.flip_rows || value_count_ > 0 || has_colour_) TENON_TRY(settle());
  part_ = {part_.x + window_.left, part_.y + window_.top, window_.width, window_.height};
  window_ = {height, width, 0, 0, height, width, false, false, kind};
  return {};
}

void ImagePass::flip_columns() { window_.flip = !window_.flip; }
void ImagePass::flip_rows() { window_.flip_rows = !window_.flip_rows; }

Status ImagePass::move(const Places& places, FillMode fill, ResizeMethod method, float value) {
  floats_ = true;
  TENON_TRY(settle());
  const WorkSpan span(WorkPart::kChange);
  std::vector<float>& out = pass_buffers().floats[buffer_];
  out.resize(static_cast<size_t>(height()) * width() * channels_);
  move_pixels(static_cast<const float*>(given_.data), height(), width(), channels_, places, fill, method, value,
              out.data());
  buffer_ = 1 - buffer_;
  given_.data = out.data();
  return {};
}

Result<ImagePass::Values*> ImagePass::open_values() {
  const bool open = value_count_ > 0 && !values_[value_count_ - 1].clips;
  if (open) return &values_[value_count_ - 1];
  if (value_count_ == kMostValues) TENON_TRY(settle());
  values_[value_count_] = {};
  return &values_[value_count_++];
}

Status ImagePass::scale(float scale, float offset) {
  const float scales[4] = {scale, scale, scale, scale}, offsets[4] = {offset, offset, offset, offset};
  return this->scale(scales, offsets);
}

Status ImagePass::scale(const float* scale, const float* offset) {
  TENON_ASSIGN(Values * values, open_values());
  for (int c = 0; c < 4; ++c) {
    values->scale[c] *= scale[c];
    values->offset[c] = values->offset[c] * scale[c] + offset[c];
  }
  return {};
}

// Contrast about the mean of a channel and what else is linear may change places.
Status ImagePass::contrast(float contrast) {
  TENON_ASSIGN(Values * values, open_values());
  values->contrast *= contrast;
  return {};
}

Status ImagePass::clip(float low, float high) {
  TENON_ASSIGN(Values * values, open_values());
  values->clips = true;
  values->low = low, values->high = high;
  return {};
}

Status ImagePass::round() {
  TENON_TRY(clip(0, 255));
  values_[value_count_ - 1].rounds = true;
  return {};
}

void ImagePass::floats() { floats_ = true; }

void ImagePass::colour(const ColourChange& change) {
  colour_ = change;
  has_colour_ = true;
}

// Which part has to be decoded, with a margin for what rounding may move at a smaller scale.
DecodeOptions ImagePass::decode_options() const {
  DecodeOptions options;
  options.channels = source_.channels;
  options.alpha = source_.alpha;
  options.background = source_.background;
  options.deep = source_.deep;
  options.accurate = source_.accurate;
  const bool scales = source_.scale_decode && is_resized();
  if (scales) {
    options.min_width = static_cast<int>(int64_t{window_.grid_width} * source_width_ / part_.width);
    options.min_height = static_cast<int>(int64_t{window_.grid_height} * source_height_ / part_.height);
  }
  const int margin = scales ? 8 : 0;
  const AxisRange rows = touched(part_.height, window_.grid_height, window_.top, window_.height, window_.kind);
  const AxisRange columns = touched(part_.width, window_.grid_width, window_.left, window_.width, window_.kind);
  const int y = std::max(part_.y + rows.begin - margin, 0);
  const int y_end = std::min(part_.y + rows.end + margin, source_height_);
  const int x = std::max(part_.x + columns.begin - margin, 0);
  const int x_end = std::min(part_.x + columns.end + margin, source_width_);
  // Whole rows are decoded in place; parts of them are copied, which pays only when much is left out.
  if (x_end - x > source_width_ * 3 / 4)
    options.window = {0, y, source_width_, y_end - y};
  else
    options.window = {x, y, x_end - x, y_end - y};
  return options;
}

Result<PixelView> ImagePass::pixels() {
  if (bytes_.empty()) {
    PixelView view = given_;
    view.y -= part_.y, view.x -= part_.x;
    view.height = part_.height, view.width = part_.width;
    return view;
  }
  Image& decoded = pass_buffers().decoded;
  const DecodeOptions options = decode_options();
  TENON_TRY(decode_image(bytes_, options, &decoded));
  const int s = decoded.scale;
  const int part_y = part_.y / s, part_x = part_.x / s;
  return PixelView{.data = decoded.pixels.data(),
                   .height = divided_up(part_.y + part_.height, s) - part_y,
                   .width = divided_up(part_.x + part_.width, s) - part_x,
                   .y = options.window.y / s - part_y,
                   .x = options.window.x / s - part_x,
                   .stored = decoded.width,
                   .channels = channels_,
                   .type = decoded.deep ? PixelType::kU16 : PixelType::kU8};
}

Status ImagePass::write_floats(float* out) {
  const WorkSpan span(WorkPart::kChange);
  TENON_ASSIGN(const PixelView view, pixels());
  const float unit = view.type == PixelType::kU16 ? 1.0f / 257 : 1.0f;
  if (has_colour_) {
    ColourChange change = colour_;
    change.unit = view.type == PixelType::kU16 ? 1.0f / 65535 : 1.0f / 255;
    resize_and_colour(view, window_, change, out);
    return {};
  }
  const int64_t count = int64_t{height()} * width();
  const bool in_resize = value_count_ > 0 && values_[0].contrast == 1 && values_[0].is_uniform();
  float means[4] = {};
  resize_window(view, window_, in_resize ? unit * values_[0].scale[0] : unit, in_resize ? values_[0].offset[0] : 0, out,
                value_count_ > 0 && values_[0].contrast != 1 ? means : nullptr);
  // What needs no means waits, to be done together.
  std::array<ValueChange, kMostValues> waiting;
  size_t count_waiting = 0;
  for (int i = 0; i < value_count_; ++i) {
    if (i > 0 && values_[i].contrast != 1)
      change_values(out, count, channels_, {waiting.data(), std::exchange(count_waiting, 0)}, means);
    ValueChange& change = waiting[count_waiting++] = values_[i].about(means);
    if (i > 0 || !in_resize) continue;
    std::fill_n(change.scale, 4, 1.0f), std::fill_n(change.offset, 4, 0.0f);
  }
  change_values(out, count, channels_, {waiting.data(), count_waiting}, nullptr);
  return {};
}

Status ImagePass::write(float* out) { return write_floats(out); }

Status ImagePass::write(uint8_t* out) {
  const WorkSpan span(WorkPart::kChange);
  if (value_count_ == 0 && !whole_) {
    TENON_ASSIGN(const PixelView view, pixels());
    copy_pixels(view, window_, out);
    return {};
  }
  std::vector<float>& values = pass_buffers().rest;
  const size_t count = static_cast<size_t>(height()) * width() * channels_;
  values.resize(count);
  TENON_TRY(write_floats(values.data()));
  bytes_of_values(values.data(), static_cast<int64_t>(count), out);
  return {};
}

Status ImagePass::settle() {
  const int64_t count = int64_t{height()} * width() * channels_;
  TENON_TRY(take_image_room("image", width(), height(), count * int64_t{sizeof(float)}, int64_t{1} << 32));
  std::vector<float>& out = pass_buffers().floats[buffer_];
  out.resize(static_cast<size_t>(count));
  TENON_TRY(write_floats(out.data()));
  const bool whole = type() == PixelType::kU8;
  buffer_ = 1 - buffer_;
  const bool floats = floats_;
  begin(PixelView{.data = out.data(),
                  .height = window_.height,
                  .width = window_.width,
                  .stored = window_.width,
                  .channels = channels_,
                  .type = PixelType::kF32});
  floats_ = floats;
  whole_ = whole;
  return {};
}

}  // namespace tenon
