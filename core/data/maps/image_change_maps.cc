// Random changes of images, by the formulas of core/layer/image.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "base/strings.h"
#include "data/maps/image_op.h"

namespace tenon {
namespace {

void check_factor(const std::string& name, const char* what, const Factor& f, double least, double most) {
  if (!(least <= f.low && f.low <= f.high && f.high <= most))
    fail(name, ": ", what, " is ", f.low, " to ", f.high, ", expected two numbers from ", least, " to ", most);
}

void check_range(const std::string& name, const ValueRange& range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > range.high)
    fail(name, ": value_range is ", range.low, " to ", range.high,
         ", expected two finite numbers, the lower one first");
}

float drawn(SampleRandom& random, const Factor& f) {
  return random.uniform(0, 1) * static_cast<float>(f.high - f.low) + static_cast<float>(f.low);
}

class RandomStep : public ImageStep {
 public:
  using Note = std::function<void(ImagePass& pass, SampleRandom& random)>;
  RandomStep(std::string name, std::vector<double> options, Note note)
      : ImageStep(std::move(options)), name_(std::move(name)), note_(std::move(note)) {}
  std::string name() const override { return name_; }
  bool random() const override { return true; }
  void note(ImagePass& pass, SampleRandom random) const override { note_(pass, random); }

 private:
  std::string name_;
  Note note_;
};

ElementMap random_map(const std::string& name, std::vector<double> options, RandomStep::Note note) {
  return image_map_of(std::make_shared<RandomStep>(name, std::move(options), std::move(note)));
}

float middle(int size) { return static_cast<float>(size - 1) / 2; }

// Images moved to places(pass, random), which are of these factors.
template <class Options, class Find>
ElementMap moving_map(const Options& o, std::initializer_list<Factor> factors, Find places) {
  if (!std::isfinite(o.fill_value)) fail(o.name, ": fill_value is ", o.fill_value, ", expected a finite number");
  std::vector<double> options{static_cast<double>(o.fill_mode), static_cast<double>(o.interpolation), o.fill_value};
  for (const Factor& f : factors) options.insert(options.end(), {f.low, f.high});
  return random_map(o.name, std::move(options), [=](ImagePass& pass, SampleRandom& random) {
    check(pass.move(places(pass, random), o.fill_mode, o.interpolation, static_cast<float>(o.fill_value)));
  });
}

struct CropSize {
  int height, width;
};

void crop_anywhere(ImagePass& pass, SampleRandom& random, CropSize size) {
  const int rows = pass.height() - size.height, columns = pass.width() - size.width;
  const int top = random.below(rows + 1), left = random.below(columns + 1);
  check(pass.crop(top, left, size.height, size.width));
}

// As torchvision draws it: ten tries, then the largest in the middle whose proportions are allowed.
void crop_a_part(ImagePass& pass, SampleRandom& random, const RandomResizedCropOptions& o) {
  const double h = pass.height(), w = pass.width();
  const Factor log_ratio(std::log(o.ratio.low), std::log(o.ratio.high));
  for (int i = 0; i < 10; ++i) {
    const double area = h * w * static_cast<double>(drawn(random, o.scale));
    const double ratio = std::exp(static_cast<double>(drawn(random, log_ratio)));
    const CropSize size{static_cast<int>(std::nearbyint(std::sqrt(area / ratio))),
                        static_cast<int>(std::nearbyint(std::sqrt(area * ratio)))};
    if (size.height < 1 || size.width < 1 || size.height > pass.height() || size.width > pass.width()) continue;
    return crop_anywhere(pass, random, size);
  }
  const double ratio = std::clamp(w / h, o.ratio.low, o.ratio.high);
  const int height = std::clamp(static_cast<int>(std::nearbyint(w / ratio)), 1, pass.height());
  const int width = std::clamp(static_cast<int>(std::nearbyint(h * ratio)), 1, pass.width());
  check(pass.crop((pass.height() - height) / 2, (pass.width() - width) / 2, height, width));
}

}  // namespace

ElementMap random_crop(const RandomCropOptions& o) {
  const CropSize size{checked_side(o.name, "height", o.height), checked_side(o.name, "width", o.width)};
  const std::vector<double> options{static_cast<double>(size.height), static_cast<double>(size.width)};
  return random_map(o.name, options, [=](ImagePass& pass, SampleRandom& random) {
    if (pass.height() < size.height || pass.width() < size.width) return crop_centre(pass, size.height, size.width);
    crop_anywhere(pass, random, size);
  });
}

ElementMap random_resized_crop(const RandomResizedCropOptions& o) {
  const std::string name = "random_resized_crop";
  const CropSize size{checked_side(name, "height", o.height), checked_side(name, "width", o.width)};
  check_factor(name, "scale", o.scale, 1e-6, 1);
  check_factor(name, "ratio", o.ratio, 1e-3, 1e3);
  const std::vector<double> options{static_cast<double>(size.height),
                                    static_cast<double>(size.width),
                                    o.scale.low,
                                    o.scale.high,
                                    o.ratio.low,
                                    o.ratio.high,
                                    static_cast<double>(o.resize)};
  return random_map(name, options, [=](ImagePass& pass, SampleRandom& random) {
    crop_a_part(pass, random, o);
    check(pass.resize(size.height, size.width, o.resize));
    pass.floats();
  });
}

ElementMap random_flip(const RandomFlipOptions& o) {
  return random_map(o.name, {static_cast<double>(o.mode)}, [=](ImagePass& pass, SampleRandom& random) {
    const bool left_right = random.uniform(0, 1) < 0.5f, upside_down = random.uniform(0, 1) < 0.5f;
    if (o.mode != FlipMode::kVertical && left_right) pass.flip_columns();
    if (o.mode != FlipMode::kHorizontal && upside_down) pass.flip_rows();
  });
}

ElementMap random_rotation(const RandomRotationOptions& o) {
  check_factor(o.name, "factor", o.factor, -1, 1);
  return moving_map(o, {o.factor}, [=](const ImagePass& pass, SampleRandom& random) -> Places {
    const float angle = drawn(random, o.factor) * static_cast<float>(2 * std::numbers::pi);
    const float c = std::cos(angle), s = std::sin(angle), cx = middle(pass.width()), cy = middle(pass.height());
    return {{c, -s, cx - c * cx + s * cy, s, c, cy - s * cx - c * cy}};
  });
}

ElementMap random_zoom(const RandomZoomOptions& o) {
  check_factor(o.name, "height_factor", o.height_factor, -1, 1);
  if (o.width_factor) check_factor(o.name, "width_factor", *o.width_factor, -1, 1);
  // Both ends are out of range where the width is as the height.
  const Factor width = o.width_factor.value_or(Factor(2, 2));
  return moving_map(o, {o.height_factor, width}, [=](const ImagePass& pass, SampleRandom& random) -> Places {
    const float h = drawn(random, o.height_factor) + 1;
    const float w = o.width_factor ? drawn(random, *o.width_factor) + 1 : h;
    return {{w, 0, (1 - w) * middle(pass.width()), 0, h, (1 - h) * middle(pass.height())}};
  });
}

ElementMap random_translation(const RandomTranslationOptions& o) {
  check_factor(o.name, "height_factor", o.height_factor, -1, 1);
  check_factor(o.name, "width_factor", o.width_factor, -1, 1);
  return moving_map(o, {o.height_factor, o.width_factor}, [=](const ImagePass& pass, SampleRandom& random) -> Places {
    const float down = drawn(random, o.height_factor) * static_cast<float>(pass.height());
    const float right = drawn(random, o.width_factor) * static_cast<float>(pass.width());
    return {{1, 0, -right, 0, 1, -down}};
  });
}

ElementMap random_shear(const RandomShearOptions& o) {
  check_factor(o.name, "x_factor", o.x_factor, -1, 1);
  check_factor(o.name, "y_factor", o.y_factor, -1, 1);
  return moving_map(o, {o.x_factor, o.y_factor}, [=](const ImagePass&, SampleRandom& random) -> Places {
    const float sign = random.uniform(0, 1) < 0.5f ? -1.0f : 1.0f;
    const float u = drawn(random, o.x_factor) * sign, v = drawn(random, o.y_factor) * sign;
    return {{1, u, 0, v, 1, 0}};
  });
}

ElementMap random_contrast(const RandomContrastOptions& o) {
  const Factor apart(o.factor.low < 0 ? o.factor.low : -o.factor.low, o.factor.high);
  if (!(o.factor.high >= 0)) fail(o.name, ": factor is ", o.factor.high, ", expected 0 to 1");
  check_factor(o.name, "factor", apart, -1, 1);
  check_range(o.name, o.value_range);
  const std::vector<double> options{apart.low, apart.high, o.value_range.low, o.value_range.high};
  return random_map(o.name, options, [=](ImagePass& pass, SampleRandom& random) {
    check(pass.contrast(drawn(random, apart) + 1));
    check(pass.clip(static_cast<float>(o.value_range.low), static_cast<float>(o.value_range.high)));
  });
}

ElementMap random_brightness(const RandomBrightnessOptions& o) {
  check_factor(o.name, "factor", o.factor, -1, 1);
  check_range(o.name, o.value_range);
  const std::vector<double> options{o.factor.low, o.factor.high, o.value_range.low, o.value_range.high};
  return random_map(o.name, options, [=](ImagePass& pass, SampleRandom& random) {
    check(pass.scale(1, drawn(random, o.factor) * static_cast<float>(o.value_range.high - o.value_range.low)));
    check(pass.clip(static_cast<float>(o.value_range.low), static_cast<float>(o.value_range.high)));
  });
}

}  // namespace tenon
