// Layers that prepare data, with Keras's names, defaults and formulas, as functions and as objects. They have nothing
// to learn. Images are [B,H,W,C]; integers (pixels) become f32. All functions throw tenon::Error.
//
//   Normalization scale;
//   scale.adapt(Array(values, {1000, 13}));      // mean and variance of each of 13 columns
//   Tensor x = scale(in["x"]), image = center_crop(resizing(in["image"], {.height = 256, .width = 256}), {224, 224});
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/image_changes.h"
#include "tenon/input.h"
#include "tenon/layer_classes.h"

namespace tenon {

class DataMoments;  // core/layer

// ---- numbers ----
struct NormalizationOptions {
  Ints axis = {-1};  // that have a mean and a variance for each place; none: one of both for all
  // Row-major over those axes; with them the layer has no variables. Otherwise mean, variance and count, not trained.
  std::vector<float> mean = {}, variance = {};
  bool invert = false;  // x max(sqrt(variance), 1e-7) + mean
  std::string name = "normalization";
  // What the variables start at: moments of that many examples. Set by adapt().
  std::vector<float> adapted_mean = {}, adapted_variance = {};
  int64_t adapted_count = 0;
};
// (x - mean) / max(sqrt(variance), 1e-7).
Tensor normalization(Tensor x, const NormalizationOptions& options = {});

class Normalization : public LayerOf<Normalization> {
 public:
  explicit Normalization(const NormalizationOptions& options = {})
      : LayerOf(options.name == NormalizationOptions{}.name ? std::string() : options.name),
        options_(std::make_shared<NormalizationOptions>(options)) {}
  // Takes mean and variance (the population's) of data[N,..], as they are for all copies of the layer from then on: in
  // the next call of a model that has it, whether it was built, trained or loaded. What an earlier adapt() took is
  // forgotten. Throws Error where the layer was given its mean, and where it was built for other shapes.
  void adapt(const Array& data) { adapt(data.to<double>(), data.shape()); }
  // Row-major values of that shape.
  void adapt(std::vector<double> values, const Shape& shape);
  // The same of an epoch of a Dataset, read once, batch by batch: of the feature of that name, or where none is named
  // of the only one that is no "y", "label", "labels" or "sample_weight".
  void adapt(const Dataset& data, std::string_view feature = {});
  const NormalizationOptions& options() const { return *options_; }
  Tensor call(Tensor x) override { return normalization(x, *options_); }

 protected:
  bool is_function() const override { return true; }

 private:
  void take(const DataMoments& moments);
  std::shared_ptr<NormalizationOptions> options_;  // of all copies
};

enum class OutputMode : uint8_t { kOneHot, kMultiHot, kCount };
struct CategoryEncodingOptions {
  int64_t num_tokens = 0;
  OutputMode output_mode = OutputMode::kMultiHot;
  std::string name = "category_encoding";
};
// indices [B,..,n] of 0 to num_tokens - 1 -> [B,..,num_tokens] of f32: 1 where a token is among the n, or with kCount
// how often; kOneHot: [..] -> [..,num_tokens], [..,1] too. Indices out of range count for nothing.
Tensor category_encoding(Tensor indices, const CategoryEncodingOptions& options);
class CategoryEncoding : public FunctionLayer<CategoryEncoding, CategoryEncodingOptions, category_encoding> {
 public:
  using FunctionLayer::FunctionLayer;
};

// ---- images ----
enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic };
struct ResizingOptions {
  int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false;  // cuts what is too wide or too high, in the middle, before
  bool pad_to_aspect_ratio = false;   // or adds to what is too narrow or too low
  double fill_value = 0;              // of what is added
  bool antialias = false;             // takes all pixels into account where an image gets smaller
  std::string name = "resizing";
};
// Pixel i of n lies at (i + 0.5) N/n - 0.5; bicubic is Keys's with a = -0.5, without antialias at places rounded to
// 1/1024, as TensorFlow has it. What would lie outside does not count.
Tensor resizing(Tensor x, const ResizingOptions& options);
class Resizing : public FunctionLayer<Resizing, ResizingOptions, resizing> {
 public:
  using FunctionLayer::FunctionLayer;
};

// The middle of each image, (n - size) / 2 from the top and left, rounded down; of smaller images the middle with the
// result's proportions, resized.
Tensor center_crop(Tensor x, const CenterCropOptions& options);
class CenterCrop : public FunctionLayer<CenterCrop, CenterCropOptions, center_crop> {
 public:
  using FunctionLayer::FunctionLayer;
};

}  // namespace tenon
