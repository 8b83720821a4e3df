#include "data/maps/image_op.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/work_span.h"

namespace tenon {
namespace {

constexpr const char* kImage = "image";
constexpr int64_t kMostSide = 16384;

PixelView view_of(const std::string& name, const Array& image) {
  const bool fits = image.shape().rank() == 3 && (image.dtype() == DType::kU8 || image.dtype() == DType::kF32) &&
                    (image.dim(2) == 1 || image.dim(2) == 3 || image.dim(2) == 4) && image.elements() > 0 &&
                    image.dim(0) <= kMostSide * 64 && image.dim(1) <= kMostSide * 64;
  if (!fits)
    fail(name, ": '", kImage, "' is ", image.type().str(), ", expected u8 or f32 of [height,width,1, 3 or 4 channels]");
  return {.data = image.bytes().data(),
          .height = static_cast<int>(image.dim(0)),
          .width = static_cast<int>(image.dim(1)),
          .stored = static_cast<int>(image.dim(1)),
          .channels = static_cast<int>(image.dim(2)),
          .type = image.dtype() == DType::kU8 ? PixelType::kU8 : PixelType::kF32};
}

Type type_of(const ImagePass& pass) {
  return {pass.type() == PixelType::kU8 ? DType::kU8 : DType::kF32, {pass.height(), pass.width(), pass.channels()}};
}

void write_image(ImagePass& pass, void* out) {
  check(pass.type() == PixelType::kU8 ? pass.write(static_cast<uint8_t*>(out)) : pass.write(static_cast<float*>(out)));
}

}  // namespace

std::string step_text(const std::string& name, const std::vector<double>& options) {
  std::string out;
  char number[32];
  for (const double option : options) {
    std::snprintf(number, sizeof number, "%.17g", option);
    append_item(out, number);
  }
  return cat(name, "(", out, ")");
}

std::string ImageOp::name() const {
  std::string out = encoded_ ? encoded_->feature : "";
  for (const auto& step : steps_) append_item(out, step_text(step->name(), step->options()));
  return out;
}

bool ImageOp::random() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->random(); });
}

bool ImageOp::leaves_out(const std::string& feature) const {
  return feature == kImage || (encoded_ && (feature == encoded_->feature || feature == "path"));
}

void ImageOp::begin(const Element& element, ImagePass& pass, std::string* file) const {
  if (!encoded_) {
    const auto image = element.find(kImage);
    if (image == element.end()) fail(first(), ": the element has no '", kImage, "'; read_image() makes one");
    return pass.begin(view_of(first(), image->second));
  }
  if (const auto bytes = element.find(encoded_->feature); bytes != element.end())
    return check(pass.begin(text_of(bytes->second), encoded_->source));
  const auto path = element.find("path");
  if (path == element.end()) fail(first(), ": the element has no '", encoded_->feature, "' and no 'path'");
  {
    const WorkSpan span(WorkPart::kRead);
    *file = read_file(std::string(text_of(path->second))).take();
  }
  check(pass.begin(*file, encoded_->source));
}

void ImageOp::note(ImagePass& pass, const Sample& sample) const {
  Sample own = sample;
  for (const auto& step : steps_) {
    step->note(pass, own.random());
    own = own.further();
  }
}

Element ImageOp::apply(Element element, const Sample& sample) const {
  ImagePass pass;
  std::string file;
  begin(element, pass, &file);
  note(pass, sample);
  Array image(type_of(pass));
  write_image(pass, image.bytes().data());
  for (auto at = element.begin(); at != element.end();) at = leaves_out(at->first) ? element.erase(at) : std::next(at);
  element.insert_or_assign(kImage, std::move(image));
  return element;
}

bool ImageOp::fill(const Element& element, const Sample& sample, std::span<const FeatureSpec> specs, Slots& out) const {
  ImagePass pass;
  std::string file;
  begin(element, pass, &file);
  note(pass, sample);
  const Type type = type_of(pass);
  size_t others = 0;
  for (const auto& [feature, array] : element) others += !leaves_out(feature);
  if (others + 1 != specs.size()) return false;
  const auto found = [&](const FeatureSpec& spec) {
    const auto at = leaves_out(spec.name) ? element.end() : element.find(spec.name);
    return at == element.end() ? nullptr : &at->second;
  };
  for (const FeatureSpec& spec : specs) {
    const Array* const other = found(spec);
    if (!(spec.name == kImage ? type == spec.type : other && other->type() == spec.type)) return false;
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto row = out.get<std::byte>(i);
    if (specs[i].name == kImage)
      write_image(pass, row.data());
    else
      std::memcpy(row.data(), found(specs[i])->bytes().data(), row.size());
  }
  return true;
}

std::shared_ptr<const ElementOp> ImageOp::then(const std::shared_ptr<const ElementOp>& next) const {
  const auto* const op = dynamic_cast<const ImageOp*>(next.get());
  if (!op || op->encoded_) return nullptr;
  Steps both = steps_;
  both.insert(both.end(), op->steps_.begin(), op->steps_.end());
  return std::make_shared<ImageOp>(encoded_, std::move(both));
}

ElementMap image_map_of(std::shared_ptr<const ImageStep> step) {
  return std::shared_ptr<const ElementOp>(std::make_shared<ImageOp>(nullptr, ImageOp::Steps{std::move(step)}));
}

void crop_to_proportions(ImagePass& pass, int height, int width) {
  const int64_t h = pass.height(), w = pass.width();
  const int64_t rows = std::clamp<int64_t>(w * height / width, 1, h),
                columns = std::clamp<int64_t>(h * width / height, 1, w);
  check(pass.crop(static_cast<int>((h - rows) / 2), static_cast<int>((w - columns) / 2), static_cast<int>(rows),
                  static_cast<int>(columns)));
}

void crop_centre(ImagePass& pass, int height, int width) {
  const int rows = pass.height() - height, columns = pass.width() - width;
  if (rows >= 0 && columns >= 0) return check(pass.crop(rows / 2, columns / 2, height, width));
  crop_to_proportions(pass, height, width);
  check(pass.resize(height, width, ResizeKind::kHalfPixel));
}

int checked_side(const std::string& name, const char* what, int64_t side) {
  if (side < 1 || side > kMostSide) fail(name, ": ", what, " is ", side, ", expected 1 to ", kMostSide);
  return static_cast<int>(side);
}

}  // namespace tenon
