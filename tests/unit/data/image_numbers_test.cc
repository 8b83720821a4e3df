// Images of another size, cut and changed: what TensorFlow, Pillow and Keras give (tests/fixtures/images.csv).
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "data/image/image_pass.h"
#include "unit/data/image_testing.h"
#include "unit/layer/golden.h"

namespace tenon {
namespace {

using golden::Numbers;

Factor exactly(double f) { return {f, f}; }

const std::map<std::string, ResizeKind> kKinds = {
    {"legacy", ResizeKind::kLegacy}, {"half_pixel", ResizeKind::kHalfPixel}, {"antialias", ResizeKind::kAntialias}};

FillMode fill_mode(const std::string& word) {
  return word == "reflect"   ? FillMode::kReflect
         : word == "nearest" ? FillMode::kNearest
         : word == "wrap"    ? FillMode::kWrap
                             : FillMode::kConstant;
}

template <class Options>
Options moved(Options o, const std::vector<std::string>& words) {
  o.fill_mode = fill_mode(words.at(1));
  o.interpolation = words.at(2) == "nearest" ? ResizeMethod::kNearest : ResizeMethod::kBilinear;
  o.fill_value = 7;
  return o;
}

ElementMap map_of(const std::string& name, const Numbers& n) {
  const std::vector<std::string> words = [&] {
    std::istringstream in(name);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
  }();
  const std::string& kind = words.at(0);
  if (const auto resize = kKinds.find(kind); resize != kKinds.end())
    return resize_image({static_cast<int64_t>(n[0]), static_cast<int64_t>(n[1]), resize->second});
  if (kind == "central_crop") return central_crop(n[0]);
  if (kind == "center_crop")
    return center_crop({.height = static_cast<int64_t>(n[0]), .width = static_cast<int64_t>(n[1])});
  if (kind == "rotation") return random_rotation(moved(RandomRotationOptions{.factor = exactly(n[0])}, words));
  if (kind == "zoom")
    return random_zoom(moved(RandomZoomOptions{.height_factor = exactly(n[0]), .width_factor = exactly(n[1])}, words));
  if (kind == "translation")
    return random_translation(
        moved(RandomTranslationOptions{.height_factor = exactly(n[0]), .width_factor = exactly(n[1])}, words));
  if (kind == "brightness") return random_brightness({.factor = exactly(n[0])});
  if (kind == "rescale") return rescale(n[0], n[1]);
  if (kind == "normalize") return normalize({n[0], n[1], n[2]}, {n[3], n[4], n[5]});
  throw Error(Status(Code::kInvalid, "no map for " + name));
}

Array given_image(const golden::Row& row) {
  const std::vector<int64_t> sides = golden::integers(row.at("given"));
  return mixed_image(static_cast<int>(sides[0]), static_cast<int>(sides[1]), static_cast<int>(sides[2]));
}

// Places are computed in f32 here and there: 1e-4 of a pixel's difference of 255 is 0.03 at most; Keras's rotation computes sines by
// itself.
double tolerance_of(const std::string& name) { return name.starts_with("rotation") ? 0.05 : 0.002; }

TEST(ImageNumbers, AreThoseOfTensorFlowPillowAndKeras) {
  std::set<std::string> tried;
  for (const golden::Row& row : golden::rows("../fixtures/images.csv")) {
    const std::string& name = row.at("case");
    SCOPED_TRACE(row.at("maker") + " " + name + " of " + row.at("given") + ": " + row.at("arguments"));
    tried.insert(row.at("maker") + " " + name.substr(0, name.find(' ')));
    const Array out = changed(map_of(name, golden::numbers(row.at("arguments"))), given_image(row));
    const std::vector<int64_t> shape = golden::integers(row.at("shape"));
    EXPECT_EQ(out.shape(), Shape(shape));
    const Numbers expected = golden::numbers(row.at("values"));
    const std::vector<float> values = out.to<float>();
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance_of(name)) << "value " << i;
  }
  EXPECT_EQ(tried.size(), 12u);
}

// Pixels of f32, u16 and u8, and a part of the result, are resized alike.
TEST(ImageNumbers, EveryTypeOfPixelAndEveryPartIsResizedAlike) {
  for (const golden::Row& row : golden::rows("../fixtures/images.csv")) {
    const auto kind = kKinds.find(row.at("case"));
    if (kind == kKinds.end()) continue;
    SCOPED_TRACE(row.at("maker") + " " + kind->first + " of " + row.at("given"));
    const Array u8 = given_image(row);
    const Array f32(u8.to<float>(), u8.shape());
    const std::vector<int64_t> shape = golden::integers(row.at("shape"));
    const ElementMap map = resize_image({shape[0], shape[1], kind->second});
    const std::vector<float> whole = changed(map, u8).to<float>(), floats = changed(map, f32).to<float>();
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], floats[i], 1e-3);
    // Its lower right part.
    const int64_t h = (shape[0] + 1) / 2, w = (shape[1] + 1) / 2, top = shape[0] - h, left = shape[1] - w;
    ImagePass pass;
    pass.begin({.data = u8.bytes().data(),
                .height = static_cast<int>(u8.dim(0)),
                .width = static_cast<int>(u8.dim(1)),
                .stored = static_cast<int>(u8.dim(1)),
                .channels = static_cast<int>(u8.dim(2))});
    check(pass.resize(static_cast<int>(shape[0]), static_cast<int>(shape[1]), kind->second));
    check(pass.crop(static_cast<int>(top), static_cast<int>(left), static_cast<int>(h), static_cast<int>(w)));
    pass.floats();
    std::vector<float> part(static_cast<size_t>(h * w * shape[2]));
    check(pass.write(part.data()));
    for (int64_t y = 0; y < h; ++y)
      for (int64_t i = 0; i < w * shape[2]; ++i)
        ASSERT_NEAR(part[static_cast<size_t>(y * w * shape[2] + i)],
                    whole[static_cast<size_t>(((top + y) * shape[1] + left) * shape[2] + i)], 1e-3);
  }
}

}  // namespace
}  // namespace tenon
